"""Constructors of SQL trees.

Trees are built, never parsed or transpiled: transpiling loses the NULL-on-error behaviour of safe operators.
No text of a user gets into a tree: terms are ids, and constant texts are parameters.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import count
from typing import TypeAlias

from sqlglot import exp

from hydrograph.compile import sql_nodes as nodes

Sql: TypeAlias = exp.Expression


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
    return nodes.SafeCast(this=value, to=_type(to).copy())


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
    loose = isinstance(
        value, exp.Binary | exp.Unary | exp.Predicate | nodes.FloorDivide | nodes.WholeQuotient
    ) and not isinstance(value, exp.Paren)
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
    return nodes.FloorDivide(this=value, expression=num(by))


def whole_quotient(value: Sql, by: int) -> Sql:
    """Return `value / by` rounded down, for a BIGINT that is not negative: shorter than `floor_divide`."""
    return nodes.WholeQuotient(this=_wrap(value), expression=num(by))


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
    return nodes.KernelCall(this=name, expressions=list(arguments))


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


_KEYS = count()
_SMALL = 8
_LARGE = nodes.DecimalProduct | nodes.DecimalQuotient | nodes.DecimalText | nodes.DoubleQuotient | nodes.RoundDouble
_WRITTEN_LARGE = 30


def let(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """Return `body(value)` for a body that mentions its argument several times, without repeating a large value.

    A kernel can't stand in a lambda of Spark: around one, the value is repeated.
    """
    return body(value) if size(value) <= _SMALL else bind(value, body)


def size(tree: Sql) -> int:
    """Return about how many nodes a target sees; some of ours are written as many."""
    return sum(_WRITTEN_LARGE if isinstance(node, _LARGE) else 1 for node in tree.walk())


def bind(value: Sql, body: Callable[[Sql], Sql]) -> Sql:
    """Return `body(value)` as `let` does, for a value that takes long to compute although it is short to write."""
    key = next(_KEYS)
    inner = body(nodes.LetName(key=key))
    if any(_is_kernel(node) for node in inner.walk()):
        return body(value)
    return nodes.LetIn(this=value, expression=inner, key=key)


def pair(left: Sql, right: Sql, read: Callable[[Sql], Sql], body: Callable[[Sql, Sql], Sql]) -> Sql:
    """Return `body(read(left), read(right))` with `read` written only once; it must not call a kernel."""
    key = next(_KEYS)
    both = nodes.MapItems(expressions=[left, right], expression=read(nodes.LetName(key=key)), key=key)
    return bind(both, lambda items: body(*(nodes.ArrayItem(this=items.copy(), index=index) for index in (0, 1))))


def _is_kernel(node: exp.Expr) -> bool:
    if isinstance(node, nodes.Matches):
        return node.args.get("safe") is False
    return isinstance(
        node,
        nodes.KernelCall
        | nodes.DoubleText
        | nodes.SingleText
        | nodes.DoubleString
        | nodes.TextDigest
        | nodes.ChangeCase
        | nodes.TermId,
    )


def flag(condition: Sql) -> Sql:
    """Return 1 where the condition holds, else 0."""
    return when((condition, num(1)), otherwise=num(0))
