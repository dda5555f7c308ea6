"""Arithmetic with [numeric promotion](https://www.w3.org/TR/sparql11-query/#operandDataTypes).

Integers and decimals are exact: sums and products keep every digit up to 18 after the point, quotients are cut off
there. What does not fit is an error. Floats and doubles follow IEEE 754; floats are rounded to single precision.
"""

from __future__ import annotations

from collections.abc import Callable

from hydrograph.algebra.expressions import Arithmetic
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.values import (
    EXACT,
    INEXACT,
    NUMBERS,
    ConstantValue,
    Kinds,
    NumberValue,
    TermValue,
    Value,
    bind_large,
    double,
    is_large,
)
from hydrograph.compile.relation import null_part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

NOTHING = TermValue(null_part)
"""The value of what is always an error."""
_DIVISOR = 10**9
_ONE_HALF = "0.5"


def calculate(operator: Arithmetic, left: Value, right: Value) -> Value:
    """Return the sum, difference, product or quotient."""
    if not left.kinds & NUMBERS or not right.kinds & NUMBERS:
        return NOTHING
    kinds = frozenset(max(one, other) for one in left.kinds & NUMBERS for other in right.kinds & NUMBERS)
    if operator == "/":
        kinds = frozenset(max(kind, Kind.DECIMAL) for kind in kinds)
    # A quotient is a kernel, which can't stand where names are bound.
    if operator != "/" and kinds & EXACT and kinds & INEXACT and (is_large(left) or is_large(right)):
        whole = bind_large(left, right, lambda one, other: _record(_calculated(operator, one, other, kinds)))
        return NumberValue.of(kinds, whole)
    return _calculated(operator, left, right, kinds)


def _calculated(operator: Arithmetic, left: Value, right: Value, kinds: Kinds) -> NumberValue:
    type_ = promoted_kind(left, right, kinds, quotient=operator == "/")
    exact = _exact(operator, left, right)
    if not kinds & INEXACT:
        return NumberValue(kinds, type_, exact, None)
    inexact = bind_large(left, right, lambda one, other: _inexact(operator, one, other))
    return NumberValue(kinds, type_, exact, round_to_single(inexact, type_, kinds))


def _record(value: NumberValue) -> Sql:
    assert value.decimal is not None
    assert value.number is not None
    return sql.record(kind=value.type, dec=value.decimal, num=value.number)


def promoted_kind(left: Value, right: Value, kinds: Kinds, *, quotient: bool) -> Sql:
    """Return the kind of a result: the wider of both operands; a quotient of integers is a decimal."""
    if len(kinds) == 1:
        return sql.num(next(iter(kinds)))
    types = [left.number_kind(), right.number_kind(), *([sql.num(Kind.DECIMAL)] if quotient else [])]
    return sql.greatest(*types)


def _exact(operator: Arithmetic, left: Value, right: Value) -> Sql | None:
    ours, theirs = left.exact(), right.exact()
    if ours is None or theirs is None:
        return None
    match operator:
        case "+":
            return nodes.DecimalSum(this=ours, expression=theirs)
        case "-":
            return nodes.DecimalDifference(this=ours, expression=theirs)
        case "*":
            return sql.let(ours, lambda a: sql.let(theirs, lambda b: nodes.DecimalProduct(this=a, expression=b)))
        case "/":
            return decimal_quotient(ours, theirs, right)


def decimal_quotient(dividend: Sql, divisor: Sql, right: Value) -> Sql:
    """Return the quotient of decimals: in SQL by a small whole constant, else by the kernel."""
    known = right.encoded.dec if isinstance(right, ConstantValue) else None
    if known is not None and known == known.to_integral_value() and 0 < abs(known) < _DIVISOR:
        signed = sql.let(dividend, lambda x: nodes.MinusDecimal(this=x)) if known < 0 else dividend
        return sql.let(
            signed,
            lambda value: sql.cast(
                nodes.DecimalQuotient(this=value, expression=sql.cast(sql.num(abs(int(known))), "BIGINT")), sql.DECIMAL
            ),
        )
    return sql.kernel("hydrograph_quotient", dividend, divisor)


def _inexact(operator: Arithmetic, left: Value, right: Value) -> Sql:
    """Return the operation on doubles, NULL where both operands are exact; one of them may be inexact."""
    partly = [value.inexact() for value in (left, right) if value.kinds & INEXACT]
    given = [value for value in partly if value is not None]
    one, other = left.double(), right.double()
    result: Sql
    match operator:
        case "+":
            result = sql.add(one, other)
        case "-":
            result = sql.subtract(one, other)
        case "*":
            result = sql.multiply(one, other)
        case "/":
            result = sql.let(one, lambda a: sql.let(other, lambda b: nodes.DoubleQuotient(this=a, expression=b)))
    if any(not value.kinds & EXACT and value.kinds <= NUMBERS for value in (left, right)):
        return result
    return sql.when((sql.any_of([sql.not_null(value) for value in given]), result))


def round_to_single(value: Sql, type_: Sql, kinds: Kinds) -> Sql:
    """Return the value with floats rounded to single precision."""
    if Kind.FLOAT not in kinds:
        return value
    if Kind.DOUBLE not in kinds:
        return sql.let(value, lambda x: nodes.SinglePrecision(this=x))
    is_float = sql.equal(type_.copy(), sql.num(Kind.FLOAT))
    return sql.let(value, lambda x: sql.when((is_float, nodes.SinglePrecision(this=x)), otherwise=x.copy()))


def negated(value: Value) -> Value:
    """Return the unary minus."""
    return _each(value, lambda value: sql.let(value, lambda x: nodes.MinusDecimal(this=x)), sql.minus)


def absolute(value: Value) -> Value:
    """Return ABS."""
    return _each(value, lambda value: sql.let(value, lambda x: nodes.AbsDecimal(this=x)), lambda x: sql.call("ABS", x))


def floor(value: Value) -> Value:
    """Return FLOOR."""
    return _each(value, *_rounding("FLOOR"))


def ceiling(value: Value) -> Value:
    """Return CEIL."""
    return _each(value, *_rounding("CEIL"))


def _rounding(function: str) -> tuple[Callable[[Sql], Sql], Callable[[Sql], Sql]]:
    return (
        lambda x: nodes.RoundDecimal(this=x, function=function),
        lambda value: sql.let(value, lambda x: nodes.RoundDouble(this=x, function=function)),
    )


def rounded(value: Value) -> Value:
    """Return ROUND: to the nearest whole number, from the middle towards plus infinity."""

    def decimal(x: Sql) -> Sql:
        half = sql.cast(sql.text(_ONE_HALF), sql.DECIMAL)
        return nodes.RoundDecimal(this=nodes.DecimalSum(this=x, expression=half), function="FLOOR")

    def number(x: Sql) -> Sql:
        down = nodes.RoundDouble(this=x.copy(), function="FLOOR")
        up = nodes.RoundDouble(this=x.copy(), function="CEIL")
        # `x - floor(x)` is exact; ceil keeps the sign of a zero that comes from below.
        middle = sql.at_least(sql.subtract(x.copy(), down.copy()), double(float(_ONE_HALF)))
        # Infinities and NaN give NaN here, which is above all numbers in both targets.
        return sql.when((middle, up), otherwise=down)

    return _each(value, decimal, lambda value: sql.let(value, number))


def _each(value: Value, on_decimal: Callable[[Sql], Sql], on_double: Callable[[Sql], Sql]) -> Value:
    kinds = value.kinds & NUMBERS
    if not kinds:
        return NOTHING
    exact, inexact = value.exact(), value.inexact()
    return NumberValue(
        kinds,
        sql.num(next(iter(kinds))) if len(kinds) == 1 else value.number_kind(),
        None if exact is None else on_decimal(exact),
        None if inexact is None else on_double(inexact),
    )
