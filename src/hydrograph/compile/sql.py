"""Small constructors for SQL trees, and the few nodes that Spark and DuckDB spell differently.

Trees are built, never parsed or transpiled: transpiling drops the safety of safe operators.
No text of a user ever stands in a tree: terms are ids, constants of a text are parameters.
"""

# ruff: noqa: RUF012 -- `arg_types` is how sqlglot's nodes declare their arguments

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from functools import cache
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


class KernelCall(exp.Expression):
    """A call of one of the runtime's kernels, by its name."""

    arg_types = {"this": True, "expressions": True}


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


class Points(exp.Expression):
    """The `expressions`, each once, one row each; all whole numbers from `this` to `to` where `every` holds."""

    arg_types = {"this": True, "to": True, "every": True, "expressions": True}


class RankRange(exp.Expression):
    """The ranks `this <= k < expression`, one row each (a generator in a select list)."""

    arg_types = {"this": True, "expression": True}


class SafeSum(exp.Expression):
    """A sum of decimals that is NULL where it overflows."""

    arg_types = {"this": True}


class DecimalHead(exp.Expression):
    """How many times 10^10 lies in a DECIMAL(38,18), toward zero, as BIGINT."""

    arg_types = {"this": True}


class DecimalTail(exp.Expression):
    """What `DecimalHead` leaves of a DECIMAL(38,18)."""

    arg_types = {"this": True}


class DecimalTotal(exp.Expression):
    """The DECIMAL(38,18) of which `this` is a sum of tails and `expression` one of heads; NULL from 10^20 on."""

    arg_types = {"this": True, "expression": True}


class SafeCast(exp.Expression):
    """A cast that gives NULL where the value does not fit."""

    arg_types = {"this": True, "to": True}


NULL = exp.Null()
TRUE = exp.Boolean(this=True)
FALSE = exp.Boolean(this=False)
DECIMAL = "DECIMAL(38, 18)"


def col(name: str, table: str | None = None) -> Sql:
    """Return a column, of `table` if one is named; sqlglot's own function asks for a database and a catalog too."""
    if table is None:
        return exp.Column(this=exp.to_identifier(name))
    return exp.Column(this=exp.to_identifier(name), table=exp.to_identifier(table))


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
    return exp.Cast(this=value, to=_type(to).copy())


def safe_cast(value: Sql, to: str) -> Sql:
    """Return a cast that gives NULL where the value does not fit."""
    return SafeCast(this=value, to=_type(to).copy())


@cache
def _type(name: str) -> exp.DataType:
    return exp.DataType.build(name)


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
    return exp.Not(this=paren(condition))


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
    """Return the value in parentheses; sqlglot's own function would copy it."""
    return exp.Paren(this=value)


def _wrap(value: Sql) -> Sql:
    """Return the value in parentheses where an operator beside it could bind more tightly."""
    loose = isinstance(value, exp.Binary | exp.Unary | exp.Predicate | FloorDivide | WholeQuotient) and not isinstance(
        value, exp.Paren
    )
    return paren(value) if loose else value


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
    return exp.Neg(this=paren(value))


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


def record(**fields: Sql) -> Sql:
    """Return a struct."""
    named = [exp.PropertyEQ(this=exp.to_identifier(name), expression=value) for name, value in fields.items()]
    return exp.Struct(expressions=named)


def member(value: Sql, name: str) -> Sql:
    """Return a field of a struct."""
    return exp.Dot(this=value, expression=exp.to_identifier(name))


def kernel(name: str, *arguments: Sql) -> Sql:
    """Return a call of a kernel."""
    return KernelCall(this=name, expressions=list(arguments))


def concat(*values: Sql) -> Sql:
    """Return the texts one after the other; NULL if one is NULL."""
    joined = values[0]
    for value in values[1:]:
        joined = exp.DPipe(this=joined, expression=value, safe=True)
    return paren(joined)


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
    return query.from_(table(source, name), copy=False)


def hint(query: exp.Select, name: str, *arguments: Sql) -> exp.Select:
    """Return `query` with a hint for Spark; built, because sqlglot's own function parses its text."""
    query.set("hint", exp.Hint(expressions=[call(name, *arguments)]))
    return query


def table(source: str, name: str | None = None) -> exp.Table:
    """Return `source [AS name]`; built, because sqlglot's own function parses the name."""
    alias = exp.TableAlias(this=exp.to_identifier(name)) if name else None
    return exp.Table(this=exp.to_identifier(source), alias=alias)
