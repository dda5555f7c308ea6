"""Values that are large to write, bound to a name where an operator reads several parts of them.

Without this an expression would grow with every operator around it by the number of parts that the operator reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hydrograph.compile import sql
from hydrograph.compile.expressions.values import ChoiceValue, NumberValue, TruthValue, Value
from hydrograph.compile.sql import Sql

_LARGE = 50
"""Below so many nodes Spark compiles a repeated value to code that is faster than a bound name."""


def shared(left: Value, right: Value, body: Callable[[Value, Value], Sql]) -> Sql:
    """Return `body(left, right)`; a value that is large to write is computed once for all its parts."""
    return _shared(left, lambda one: _shared(right, lambda other: body(one, other)))


def _shared(value: Value, body: Callable[[Value], Sql]) -> Sql:
    match value:
        case TruthValue(truth) if sql.size(truth) > _LARGE:
            return sql.bind(truth.copy(), lambda name: body(TruthValue(name)))
        case NumberValue(kinds, type_, decimal, number) if decimal is not None and number is not None:
            if sql.size(decimal) + sql.size(number) <= _LARGE:
                return body(value)
            return sql.bind(
                sql.record(dec=decimal.copy(), num=number.copy()),
                lambda name: body(NumberValue(kinds, type_, sql.member(name, "dec"), sql.member(name.copy(), "num"))),
            )
        case ChoiceValue(branches, switch):
            chosen = sql.when(*[(test.copy(), sql.num(index)) for index, (test, _) in enumerate(branches)])
            if switch is not None:
                chosen.set("this", switch.copy())
            if sql.size(chosen) <= _LARGE:
                return body(value)
            numbered = tuple((sql.num(index), branch) for index, (_, branch) in enumerate(branches))
            return sql.bind(chosen, lambda name: body(replace(value, branches=numbered, switch=name)))
        case _:
            return body(value)
