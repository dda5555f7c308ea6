"""Small constructors for SQL trees, and the few nodes that Spark and DuckDB spell differently.

Trees are built, never parsed or transpiled: transpiling drops the safety of safe operators.
No text of a user ever stands in a tree: terms are ids, constants of a text are parameters.
"""

# ruff: noqa: RUF012 -- `arg_types` is how sqlglot's nodes declare their arguments

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import TypeAlias

from sqlglot import exp

Sql: TypeAlias = exp.Expression


class FloorDivide(exp.Expression):
    """Integer division rounded down, exact for every BIGINT (S8); `x / b` in floating point is wrong past 2^53."""

    arg_types = {"this": True, "expression": True}


class DecimalQuotient(exp.Expression):
    """DECIMAL(38,18) by a BIGINT above zero, to 18 fraction digits, the rest cut off."""

    arg_types = {"this": True, "expression": True}


class TermId(exp.Expression):
    """The 64-bit id of a canonical text: xxhash64 with seed 42."""

    arg_types = {"this": True}


class RowHash(exp.Expression):
    """A 64-bit hash of several texts, NULL included, in their order."""

    arg_types = {"expressions": True}


class DecimalText(exp.Expression):
    """A DECIMAL(38,18) in plain digits without needless zeros, whatever the session's settings."""

    arg_types = {"this": True}


class DecimalDouble(exp.Expression):
    """The double nearest to a DECIMAL(38,18)."""

    arg_types = {"this": True}


class DoubleText(exp.Expression):
    """The canonical text of a double; a kernel, because Java's text of a double depends on its version."""

    arg_types = {"this": True}


class SingleText(exp.Expression):
    """The canonical text of a number of single precision, as few digits as tell it apart; a kernel."""

    arg_types = {"this": True}


class DoubleString(exp.Expression):
    """The xsd:string of a double, or of a number of single precision where `single` holds; a kernel."""

    arg_types = {"this": True, "single": True}


class DecimalSum(exp.Expression):
    """`this + expression` of two DECIMAL(38,18); NULL where an operand has more than 19 digits before the point."""

    arg_types = {"this": True, "expression": True}


class DecimalProduct(exp.Expression):
    """`this * expression` of two DECIMAL(38,18), cut off after 18 places; NULL beyond 19 digits before the point."""

    arg_types = {"this": True, "expression": True}


class DoubleQuotient(exp.Expression):
    """`this / expression` of two doubles as IEEE 754 has it: infinities and NaN, never an error."""

    arg_types = {"this": True, "expression": True}


class RoundDecimal(exp.Expression):
    """A DECIMAL(38,18) rounded by `function`: FLOOR or CEIL."""

    arg_types = {"this": True, "function": True}


class RoundDouble(exp.Expression):
    """A double rounded by `function`: FLOOR or CEIL; infinities, NaN and the sign of zero stay."""

    arg_types = {"this": True, "function": True}


class Single(exp.Expression):
    """A double rounded to single precision; infinite where that overflows."""

    arg_types = {"this": True}


class TermSuffix(exp.Expression):
    """What follows the last quote of a literal's canonical text: nothing, `@tag` or `^^<datatype>`."""

    arg_types = {"this": True}


class Matches(exp.Expression):
    """Whether a translated regular expression is found in a text; `flags` is `i` or empty.

    One that is not `safe` is a kernel for Spark, because Java could backtrack without end.
    """

    arg_types = {"this": True, "expression": True, "flags": False, "safe": False}


class ChangeCase(exp.Expression):
    """A text in upper or lower case by Unicode's full mapping; a kernel for DuckDB, which maps single characters."""

    arg_types = {"this": True, "to": True}


class Digest(exp.Expression):
    """The hexadecimal digest of a text; SHA384 and SHA512 are kernels for DuckDB."""

    arg_types = {"this": True, "function": True}


class Strip(exp.Expression):
    """A text without the `characters` at both ends."""

    arg_types = {"this": True, "characters": True}


class ParseDouble(exp.Expression):
    """The double, or with `single` the single-precision number, of a text that is a well-formed number."""

    arg_types = {"this": True, "single": True}


class HexNumber(exp.Expression):
    """The BIGINT of up to 15 hexadecimal digits."""

    arg_types = {"this": True}


class KernelCall(exp.Expression):
    """A call of one of the runtime's kernels, by its name."""

    arg_types = {"this": True, "expressions": True}


class LetIn(exp.Expression):
    """`expression`, in which `LetName` nodes with the same key stand for `this`."""

    arg_types = {"this": True, "expression": True, "key": True}


class LetName(exp.Expression):
    """A name bound by the `LetIn` around it."""

    arg_types = {"key": True}


class Each(exp.Expression):
    """An array: `expression` for each of `expressions`, for which `LetName` nodes with the same key stand."""

    arg_types = {"expressions": True, "expression": True, "key": True}


class Item(exp.Expression):
    """An element of an array, by its index from 0."""

    arg_types = {"this": True, "index": True}


class WholeQuotient(exp.Expression):
    """The quotient of two BIGINT that are not negative, rounded down."""

    arg_types = {"this": True, "expression": True}


class FoldDoubles(exp.Expression):
    """The sum of an array of doubles, smallest first, so that it does not depend on the order of arrival."""

    arg_types = {"this": True}


class CollectList(exp.Expression):
    """All values of the group that are not NULL, as an array; empty where there is none."""

    arg_types = {"this": True}


class JoinTexts(exp.Expression):
    """The field `joined` of an array of structs, sorted by all fields, joined by a separator."""

    arg_types = {"this": True, "expression": True}


class IsNan(exp.Expression):
    """Whether a double is not a number; NULL for NULL."""

    arg_types = {"this": True}


class Points(exp.Expression):
    """The `expressions`, each once, one row each; all whole numbers from `this` to `to` where `every` holds."""

    arg_types = {"this": True, "to": True, "every": True, "expressions": True}


class RankRange(exp.Expression):
    """The ranks `this <= k < expression`, one row each (a generator in a select list)."""

    arg_types = {"this": True, "expression": True}


class SafeSum(exp.Expression):
    """A sum of decimals that is NULL where it overflows."""

    arg_types = {"this": True}


class SafeCast(exp.Expression):
    """A cast that gives NULL where the value does not fit."""

    arg_types = {"this": True, "to": True}


NULL = exp.Null()
TRUE = exp.Boolean(this=True)
FALSE = exp.Boolean(this=False)
DECIMAL = "DECIMAL(38, 18)"


def col(name: str, table: str | None = None) -> Sql:
    """Return a column, of `table` if one is named."""
    return exp.column(name, table=table)


def num(value: int) -> Sql:
    """Return a whole number: INT where it fits, else BIGINT."""
    literal: Sql = exp.Literal.number(abs(value))
    signed = exp.Neg(this=literal) if value < 0 else literal
    return signed if abs(value) < 2**31 else cast(signed, "BIGINT")


def text(value: str) -> Sql:
    """Return a string of our own making; never text of a user."""
    return exp.Literal.string(value)


def character(code: int) -> Sql:
    """Return one ASCII character that should not stand in a SQL text."""
    return call("chr", exp.Literal.number(code))


def parameter(name: str) -> Sql:
    """Return a named parameter, filled in by the runtime."""
    return exp.Placeholder(this=name)


def cast(value: Sql, to: str) -> Sql:
    """Return a plain cast, for expressions whose values are known to fit."""
    return exp.Cast(this=value, to=exp.DataType.build(to))


def safe_cast(value: Sql, to: str) -> Sql:
    """Return a cast that gives NULL where the value does not fit."""
    return SafeCast(this=value, to=exp.DataType.build(to))


def call(name: str, *arguments: Sql) -> Sql:
    """Return a call of a function that both targets spell alike."""
    return exp.Anonymous(this=name, expressions=list(arguments))


def alias(value: Sql, name: str) -> Sql:
    """Return `value AS name`."""
    return exp.Alias(this=value, alias=exp.to_identifier(name))


def equal(left: Sql, right: Sql) -> Sql:
    """Return `left = right`."""
    return exp.EQ(this=left, expression=right)


def less(left: Sql, right: Sql) -> Sql:
    """Return `left < right`."""
    return exp.LT(this=left, expression=right)


def at_least(left: Sql, right: Sql) -> Sql:
    """Return `left >= right`."""
    return exp.GTE(this=left, expression=right)


def more(left: Sql, right: Sql) -> Sql:
    """Return `left > right`."""
    return exp.GT(this=left, expression=right)


def is_null(value: Sql) -> Sql:
    """Return `value IS NULL`."""
    return exp.Is(this=_wrap(value), expression=exp.Null())


def not_null(value: Sql) -> Sql:
    """Return `NOT value IS NULL`."""
    return exp.Not(this=is_null(value))


def negate(condition: Sql) -> Sql:
    """Return `NOT condition`."""
    return exp.Not(this=exp.paren(condition))


def all_of(conditions: Iterable[Sql]) -> Sql:
    """Return the conjunction; TRUE of nothing."""
    given = list(conditions)
    return typing.cast(Sql, exp.and_(*given, copy=False)) if given else exp.Boolean(this=True)


def any_of(conditions: Iterable[Sql]) -> Sql:
    """Return the disjunction; FALSE of nothing."""
    given = list(conditions)
    return typing.cast(Sql, exp.or_(*given, copy=False)) if given else exp.Boolean(this=False)


def one_of(value: Sql, choices: Iterable[int]) -> Sql:
    """Return `value IN (choices)`."""
    return exp.In(this=value, expressions=[exp.Literal.number(choice) for choice in choices])


def one_of_texts(value: Sql, choices: Iterable[str]) -> Sql:
    """Return `value IN (choices)` for texts of our own making."""
    return exp.In(this=value, expressions=[text(choice) for choice in choices])


def paren(value: Sql) -> Sql:
    """Return the value in parentheses."""
    return exp.paren(value)


def _wrap(value: Sql) -> Sql:
    """Return the value in parentheses where an operator beside it could bind more tightly."""
    loose = isinstance(value, exp.Binary | exp.Unary | exp.Predicate | FloorDivide | WholeQuotient) and not isinstance(
        value, exp.Paren
    )
    return exp.paren(value) if loose else value


def add(left: Sql, right: Sql) -> Sql:
    """Return `left + right`, for ranks and other numbers that can't overflow."""
    return exp.Add(this=_wrap(left), expression=_wrap(right))


def subtract(left: Sql, right: Sql) -> Sql:
    """Return `left - right`, for ranks and other numbers that can't overflow."""
    return exp.Sub(this=_wrap(left), expression=_wrap(right))


def multiply(left: Sql, right: Sql) -> Sql:
    """Return `left * right`, for numbers that can't overflow."""
    return exp.Mul(this=_wrap(left), expression=_wrap(right))


def minus(value: Sql) -> Sql:
    """Return the number with the other sign; no decimal or double overflows by it."""
    return exp.Neg(this=exp.paren(value))


def floor_divide(value: Sql, by: int) -> Sql:
    """Return `value / by` rounded down."""
    return FloorDivide(this=value, expression=num(by))


def whole_quotient(value: Sql, by: int) -> Sql:
    """Return `value / by` rounded down, for a BIGINT that is not negative: shorter than `floor_divide`."""
    return WholeQuotient(this=_wrap(value), expression=num(by))


def greatest(*values: Sql) -> Sql:
    """Return the greatest; none of them may be NULL, for which the targets differ."""
    return call("GREATEST", *values)


def least(*values: Sql) -> Sql:
    """Return the least; none of them may be NULL, for which the targets differ."""
    return call("LEAST", *values)


def coalesce(*values: Sql) -> Sql:
    """Return the first that is not NULL."""
    return exp.Coalesce(this=values[0], expressions=list(values[1:]))


def when(*cases: tuple[Sql, Sql], otherwise: Sql | None = None) -> Sql:
    """Return `CASE WHEN … THEN … ELSE … END`."""
    branches = [exp.If(this=condition, true=value) for condition, value in cases]
    return exp.Case(ifs=branches, default=otherwise if otherwise is not None else exp.Null())


_KEYS = count()
_SMALL = 8
_LARGE = DecimalProduct | DecimalQuotient | DecimalText | DoubleQuotient | RoundDouble
_WRITTEN_LARGE = 30


def let(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """Return `body(value)` for a body that mentions its argument several times, without repeating a large value.

    SQL has no such construct, so both targets use a lambda over a list of one. A kernel can't stand in a lambda of
    Spark: around one, the value is repeated.
    """
    return body(value) if size(value) <= _SMALL else bind(value, body)


def size(tree: Sql) -> int:
    """Return about how many nodes a target sees; some of ours are written as many."""
    return sum(_WRITTEN_LARGE if isinstance(node, _LARGE) else 1 for node in tree.walk())


def bind(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """Return `body(value)` as `let` does, for a value that takes long to compute although it is short to write."""
    key = next(_KEYS)
    inner = body(LetName(key=key))
    if any(_is_kernel(node) for node in inner.walk()):
        return body(value)
    return LetIn(this=value, expression=inner, key=key)


def pair(left: Sql, right: Sql, read: Callable[[Sql], Sql], body: Callable[[Sql, Sql], Sql]) -> Sql:
    """Return `body(read(left), read(right))` with `read` written only once; it must not call a kernel."""
    key = next(_KEYS)
    both = Each(expressions=[left, right], expression=read(LetName(key=key)), key=key)
    return bind(both, lambda items: body(*(Item(this=items.copy(), index=index) for index in (0, 1))))


def record(**fields: Sql) -> Sql:
    """Return a struct."""
    named = [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in fields.items()]
    return exp.Struct(expressions=named)


def member(value: Sql, name: str) -> Sql:
    """Return a field of a struct."""
    return exp.Dot(this=value, expression=exp.to_identifier(name))


def _is_kernel(node: exp.Expr) -> bool:
    if isinstance(node, Matches):
        return node.args.get("safe") is False
    return isinstance(node, KernelCall | DoubleText | SingleText | DoubleString | Digest | ChangeCase | TermId)


def kernel(name: str, *arguments: Sql) -> Sql:
    """Return a call of a kernel."""
    return KernelCall(this=name, expressions=list(arguments))


def concat(*values: Sql) -> Sql:
    """Return the texts one after the other; NULL if one is NULL."""
    joined = values[0]
    for value in values[1:]:
        joined = exp.DPipe(this=joined, expression=value, safe=True)
    return exp.paren(joined)


def window(function: Sql, partition: Sequence[Sql], order: Sequence[Sql], *, running: bool = False) -> Sql:
    """Return a window function; `running` adds the frame from the first row to the current one."""
    spec = None
    if running:
        spec = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    return exp.Window(
        this=function,
        partition_by=list(partition),
        order=exp.Order(expressions=[exp.Ordered(this=key, nulls_first=True) for key in order]),
        spec=spec,
    )


def select(*columns: Sql) -> exp.Select:
    """Return `SELECT columns`."""
    return exp.Select(expressions=list(columns))


def from_(query: exp.Select, source: str, name: str | None = None) -> exp.Select:
    """Return `query` with `FROM source [AS name]`."""
    table = exp.to_table(source)
    return query.from_(exp.alias_(table, name, table=True) if name else table, copy=False)
