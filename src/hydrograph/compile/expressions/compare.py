"""[Operator mapping](https://www.w3.org/TR/sparql11-query/#OperatorMapping) of = != < > <= >=: values, not terms (S5)."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from hydrograph.algebra.expressions import Comparison
from hydrograph.compile import sql
from hydrograph.compile.expressions.values import Value
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import NUMERIC, Kind

_RESOURCES = (Kind.IRI, Kind.BLANK)


def compare(operator: Comparison, left: Value, right: Value) -> Sql:
    """Return the comparison; NULL where it is a type error."""
    match operator:
        case "=":
            return _equal(left, right)
        case "!=":
            return sql.negate(_equal(left, right))
        case "<":
            return _less(left, right, or_equal=False)
        case "<=":
            return _less(left, right, or_equal=True)
        case ">":
            return _less(right, left, or_equal=False)
        case ">=":
            return _less(right, left, or_equal=True)


def _equal(left: Value, right: Value) -> Sql:
    """Numbers by value; the same term is equal; two literals that differ are an error if one has no known value."""
    ids = left.part(Part.ID), right.part(Part.ID)
    if _known(left, *_RESOURCES, Kind.LANG) or _known(right, *_RESOURCES, Kind.LANG):
        return sql.equal(*ids)  # exact by identity, whatever the other side is
    unknown = _both_or_either(left, right, Kind.OTHER)
    return _cases(
        (_numbers(left, right), lambda: _numbers_equal(left, right)),
        (sql.equal(*ids), sql.TRUE.copy),
        (_resources(left, right), sql.FALSE.copy),
        (unknown, sql.NULL.copy),
        (sql.any_of([sql.is_null(identity.copy()) for identity in ids]), sql.NULL.copy),
        otherwise=sql.FALSE.copy(),
    )


def _less(left: Value, right: Value, *, or_equal: bool) -> Sql:
    """Numbers, strings and booleans have an order; everything else is an error."""
    test = exp.LTE if or_equal else exp.LT
    return _cases(
        (_numbers(left, right), lambda: _numbers_less(left, right, or_equal=or_equal)),
        (
            _strings(left, right),
            lambda: test(this=lexical(left.part(Part.TEXT)), expression=lexical(right.part(Part.TEXT))),
        ),
        (_booleans(left, right), lambda: test(this=_truth(left), expression=_truth(right))),
    )


def _known(value: Value, *kinds: Kind) -> bool:
    return value.kind is not None and value.kind in kinds


def _cases(*cases: tuple[Sql | bool, Callable[[], Sql]], otherwise: Sql | None = None) -> Sql:
    """Return CASE without the branches that can't be taken; these are never built, so they ask for no column."""
    possible: list[tuple[Sql, Sql]] = []
    for condition, value in cases:
        if condition is True:
            otherwise = value()
            break
        if condition is not False:
            possible.append((condition, value()))
    default = sql.NULL.copy() if otherwise is None else otherwise
    return sql.when(*possible, otherwise=default) if possible else sql.cast(default, "BOOLEAN")


def _and(left: Sql | bool, right: Sql | bool) -> Sql | bool:
    if left is False or right is False:
        return False
    if left is True:
        return right
    return left if right is True else sql.all_of([left, right])


def _or(left: Sql | bool, right: Sql | bool) -> Sql | bool:
    if left is True or right is True:
        return True
    if left is False:
        return right
    return left if right is False else exp.paren(sql.any_of([left, right]))


def _is_number(value: Value) -> Sql | bool:
    """A term is a number where it has a numeric value; cheaper than its kind."""
    return value.kind in NUMERIC if value.kind is not None else sql.not_null(value.part(Part.NUMBER))


def _numbers(left: Value, right: Value) -> Sql | bool:
    return _and(_is_number(left), _is_number(right))


def _strings(left: Value, right: Value) -> Sql | bool:
    return _both(left, right, Kind.STRING)


def _booleans(left: Value, right: Value) -> Sql | bool:
    return _both(left, right, Kind.BOOLEAN)


def _both(left: Value, right: Value, kind: Kind) -> Sql | bool:
    # A side whose kind is known to be another one settles it before the other side is asked for anything.
    if any(value.kind not in (None, kind) for value in (left, right)):
        return False
    return _and(left.is_kind(kind), right.is_kind(kind))


def _resources(left: Value, right: Value) -> Sql | bool:
    return _both_or_either(left, right, *_RESOURCES, Kind.LANG)


def _both_or_either(left: Value, right: Value, *kinds: Kind) -> Sql | bool:
    return _or(left.is_kind(*kinds), right.is_kind(*kinds))


def _no_nan(*values: Value) -> list[Sql]:
    """Return the guards that both targets need: they hold NaN equal to itself and above all numbers."""
    return [
        sql.negate(sql.IsNan(this=value.part(Part.NUMBER)))
        for value in values
        if value.kind not in (Kind.INTEGER, Kind.DECIMAL)
    ]


def _numbers_equal(left: Value, right: Value) -> Sql:
    """Doubles first; where they agree, the exact decimals decide, if both sides have one."""
    doubles = sql.equal(left.part(Part.NUMBER), right.part(Part.NUMBER))
    exact = sql.coalesce(sql.equal(left.part(Part.DECIMAL), right.part(Part.DECIMAL)), sql.TRUE.copy())
    return sql.all_of([doubles, exact, *_no_nan(left, right)])


def _numbers_less(left: Value, right: Value, *, or_equal: bool) -> Sql:
    """Rounding keeps the order, so only equal doubles need the exact decimals."""
    numbers = left.part(Part.NUMBER), right.part(Part.NUMBER)
    test = exp.LTE if or_equal else exp.LT
    exact = sql.coalesce(
        test(this=left.part(Part.DECIMAL), expression=right.part(Part.DECIMAL)), exp.Boolean(this=or_equal)
    )
    tie = sql.all_of([sql.equal(*[number.copy() for number in numbers]), exact])
    return sql.all_of([exp.paren(sql.any_of([sql.less(*numbers), exp.paren(tie)])), *_no_nan(left, right)])


def _truth(value: Value) -> Sql:
    """Return the value of a boolean literal: its lexical forms are true, false, 1 and 0."""
    return sql.cast(truth(value), "INT")


def truth(value: Value) -> Sql:
    """Return whether a boolean literal is true."""
    start = sql.call("left", value.part(Part.TEXT), exp.Literal.number(2))
    return exp.In(this=start, expressions=[sql.text('"t'), sql.text('"1')])


def lexical(text: Sql) -> Sql:
    """Return the lexical form of a canonical string literal.

    Canonical text escapes only quote, backslash, line feed and carriage return. Backslashes are never written
    into SQL, because a session setting decides what they mean there.
    """
    inner = sql.call(
        "substring", text, exp.Literal.number(2), sql.subtract(sql.call("length", text.copy()), exp.Literal.number(2))
    )
    back = _character(92)
    plain = inner
    # First every pair of backslashes becomes backslash-slash: then each backslash begins exactly one escape.
    for escape, character in (
        (_join(back, back), _join(back, sql.text("/"))),
        (_join(back, _character(34)), _character(34)),
        (_join(back, sql.text("n")), _character(10)),
        (_join(back, sql.text("r")), _character(13)),
        (_join(back, sql.text("/")), back),
    ):
        plain = sql.call("replace", plain, escape.copy(), character.copy())
    has_escape = sql.more(sql.call("instr", text.copy(), back.copy()), exp.Literal.number(0))
    return sql.when((has_escape, plain), otherwise=inner.copy())


def _character(code: int) -> Sql:
    return sql.call("chr", exp.Literal.number(code))


def _join(left: Sql, right: Sql) -> Sql:
    return sql.concat(left.copy(), right.copy())
