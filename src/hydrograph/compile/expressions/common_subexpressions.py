"""Values that are large to write, bound to a name where an operator reads several parts of them.

Without this an expression would grow with every operator around it by the number of parts that the operator reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hydrograph.compile import binding, sql
from hydrograph.compile.expressions.computed import ChoiceValue, NumberValue, TruthValue
from hydrograph.compile.expressions.values import Value
from hydrograph.compile.sql import Sql

_LARGE = 50
"""Below so many nodes Spark compiles a repeated value to code that is faster than a bound name."""


def shared(left: Value, right: Value, body: Callable[[Value, Value], Sql]) -> Sql:
    """Return `body(left, right)`; a value that is large to write is computed once for all its parts."""
    return _shared(left, lambda one: _shared(right, lambda other: body(one, other)))


def _shared(value: Value, body: Callable[[Value], Sql]) -> Sql:
    match value:
        case TruthValue(truth) if binding.size(truth) > _LARGE:
            return binding.bind(truth.copy(), lambda name: body(TruthValue(name)))
        case NumberValue() if is_large(value):
            whole = _whole(value)
            return binding.bind(whole, lambda name: body(NumberValue.of(value.kinds, name)))
        case ChoiceValue(branches, switch):
            chosen = sql.when(*[(test.copy(), sql.num(index)) for index, (test, _) in enumerate(branches)])
            if switch is not None:
                chosen.set("this", switch.copy())
            if binding.size(chosen) <= _LARGE:
                return body(value)
            numbered = tuple((sql.num(index), branch) for index, (_, branch) in enumerate(branches))
            return binding.bind(chosen, lambda name: body(replace(value, branches=numbered, switch=name)))
        case _:
            return body(value)


def is_large(value: Value) -> bool:
    """Tell whether a number that may be a decimal or a double is large to write."""
    match value:
        case NumberValue(whole=sql.Sql()):
            return True
        case NumberValue(decimal=sql.Sql() as decimal, number=sql.Sql() as number):
            return binding.size(decimal) + binding.size(number) > _LARGE
        case _:
            return False


def _whole(value: NumberValue) -> Sql:
    if value.whole is not None:
        return value.whole.copy()
    assert value.decimal is not None
    assert value.number is not None
    return sql.record(kind=value.type.copy(), dec=value.decimal.copy(), num=value.number.copy())
