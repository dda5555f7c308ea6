"""[Operators](https://www.w3.org/TR/sparql11-query/#OperatorMapping) = != < > <= >= compare values, not terms (S5)."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from hydrograph.algebra.expressions import Comparison
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.dates import TEMPORAL, TimeTest, durations_compared, times_compared
from hydrograph.compile.expressions.lexical import has_escape, lexical, quoted, unescaped
from hydrograph.compile.expressions.values import (
    EXACT,
    NUMBERS,
    RESOURCES,
    ConstantValue,
    IntegerValue,
    Kinds,
    NumberValue,
    StringValue,
    TermValue,
    Value,
    bind_large,
)
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.xsd import is_single

__all__ = ["compare", "lexical", "same_term"]

_BY_IDENTITY: Kinds = RESOURCES | {Kind.LANG}
_BOOLEAN: Kinds = frozenset({Kind.BOOLEAN})
_STRING: Kinds = frozenset({Kind.STRING})
_DURATION: Kinds = frozenset({Kind.DURATION})
_OTHER: Kinds = frozenset({Kind.OTHER})
_BY_VALUE: Kinds = NUMBERS | TEMPORAL | _BOOLEAN | _DURATION


def compare(operator: Comparison, left: Value, right: Value) -> Sql:
    """Return the comparison; NULL where it is a type error."""
    match operator:
        case "=":
            return bind_large(left, right, _equal)
        case "!=":
            return sql.negate(bind_large(left, right, _equal))
        case "<":
            return bind_large(left, right, lambda one, other: _less(one, other, exp.LT))
        case "<=":
            return bind_large(left, right, lambda one, other: _less(one, other, exp.LTE))
        case ">":
            return compare("<", right, left)
        case ">=":
            return compare("<=", right, left)


def same_term(left: Value, right: Value) -> Sql:
    """Return whether two terms are the same: by ids where both have one, else by texts."""
    if isinstance(left, StringValue) and isinstance(right, StringValue) and left.tag is None and right.tag is None:
        return sql.equal(left.lexical(), right.lexical())
    part = Part.ID if _has_id(left) and _has_id(right) else Part.TEXT
    return sql.equal(left.part(part), right.part(part))


def _has_id(value: Value) -> bool:
    return isinstance(value, ConstantValue) or (isinstance(value, TermValue) and value.stored)


def _equal(left: Value, right: Value) -> Sql:
    """Values where both are known; the same term is equal; two literals that differ are an error if one is unknown."""
    if left.kinds <= _BY_IDENTITY or right.kinds <= _BY_IDENTITY:
        return same_term(left, right)  # exact by identity, whatever the other side is
    if left.kinds == right.kinds == _STRING:
        return sql.equal(left.lexical(), right.lexical()) if _computed(left, right) else same_term(left, right)
    return _cases(
        (_both(left, right, NUMBERS), lambda: equal_numbers(left, right)),
        (_both(left, right, _BOOLEAN), lambda: sql.equal(_bit(left), _bit(right))),
        (_same_time(left, right), lambda: times_compared(left, right, exp.EQ)),
        (_both(left, right, _DURATION), lambda: durations_compared(left, right, exp.EQ)),
        (_same_possible(left, right), sql.TRUE.copy),
        (_either(left, right, _BY_IDENTITY), lambda: _where_bound(left, right)),
        (_either(left, right, _OTHER), lambda: sql.cast(sql.NULL.copy(), "BOOLEAN")),
        otherwise=lambda: _where_bound(left, right),
    )


def _computed(*values: Value) -> bool:
    return any(not _has_id(value) for value in values)


def _same_possible(left: Value, right: Value) -> Sql | bool:
    """Return whether two terms are the same, for kinds that are not compared by value."""
    return same_term(left, right) if left.kinds & right.kinds - _BY_VALUE else False


def _where_bound(left: Value, right: Value) -> Sql:
    """Return FALSE, or an error where one side is unbound."""
    unknown = [value for value in (left, right) if not isinstance(value, ConstantValue)]
    return sql.when((sql.all_of([value.bound() for value in unknown]), sql.FALSE.copy()))


def _less(left: Value, right: Value, test: type[exp.LT] | type[exp.LTE]) -> Sql:
    """Numbers, strings, booleans, dates and durations have an order; everything else is an error."""
    return _cases(
        (_both(left, right, NUMBERS), lambda: _numbers_less(left, right, test)),
        (_both(left, right, _STRING), lambda: compare_strings(left, right, test)),
        (_both(left, right, _BOOLEAN), lambda: test(this=_bit(left), expression=_bit(right))),
        (_same_time(left, right), lambda: times_compared(left, right, test)),
        (_both(left, right, _DURATION), lambda: durations_compared(left, right, test)),
    )


def compare_strings(left: Value, right: Value, test: TimeTest) -> Sql:
    """Return the comparison of simple strings; few have escapes, so what resolves these is written only once."""
    if not (isinstance(left, TermValue) and isinstance(right, TermValue)):
        return test(this=_string(left), expression=_string(right))
    ours, theirs = left.part(Part.TEXT), right.part(Part.TEXT)
    inner = quoted(ours), quoted(theirs)
    plain = test(this=inner[0], expression=inner[1])
    written = sql.pair(inner[0].copy(), inner[1].copy(), unescaped, lambda one, other: test(this=one, expression=other))
    return sql.when((has_escape(sql.concat(ours.copy(), theirs.copy())), written), otherwise=plain)


def _string(value: Value) -> Sql:
    """Return the lexical form of what is known to be a simple string here."""
    return lexical(value.part(Part.TEXT)) if isinstance(value, TermValue) else value.lexical()


def _bit(value: Value) -> Sql:
    """Return 1 or 0 for what is known to be a boolean here."""
    if isinstance(value, TermValue):
        start = sql.call("left", value.part(Part.TEXT), sql.num(2))
        return sql.cast(sql.paren(sql.one_of_texts(start, ['"t', '"1'])), "INT")
    return sql.cast(sql.paren(value.truth()), "INT")


def _cases(*cases: tuple[Sql | bool, Callable[[], Sql]], otherwise: Callable[[], Sql] | None = None) -> Sql:
    """Return CASE without the branches that can't be taken; these are never built, so they ask for no column."""
    possible: list[tuple[Sql, Sql]] = []
    for condition, value in cases:
        if condition is True:
            otherwise = value
            break
        if condition is not False:
            possible.append((condition, value()))
    default = sql.NULL.copy() if otherwise is None else otherwise()
    return sql.when(*possible, otherwise=default) if possible else sql.cast(default, "BOOLEAN")


def _both(left: Value, right: Value, kinds: Kinds) -> Sql | bool:
    """Return the test that both sides are of these kinds."""
    if not left.kinds & kinds or not right.kinds & kinds:
        return False  # settled before either side is asked for anything
    tests = [_is(value, kinds) for value in (left, right)]
    written = [test for test in tests if not isinstance(test, bool)]
    return sql.all_of(written) if written else True


def _either(left: Value, right: Value, kinds: Kinds) -> Sql | bool:
    if left.kinds <= kinds or right.kinds <= kinds:
        return True
    tests = [_is(value, kinds) for value in (left, right)]
    written = [test for test in tests if not isinstance(test, bool)]
    return sql.any_of(written) if written else False


def _is(value: Value, kinds: Kinds) -> Sql | bool:
    if kinds == NUMBERS and isinstance(value, TermValue) and not value.kinds <= NUMBERS:
        return sql.not_null(value.part(Part.NUMBER)) if value.kinds & NUMBERS else False  # cheaper than the kind
    return value.is_kind(kinds)


def _same_time(left: Value, right: Value) -> Sql | bool:
    """Return the test that both sides are dateTimes, both dates or both times."""
    shared = left.kinds & right.kinds & TEMPORAL
    if not shared:
        return False
    if len(left.kinds) == len(right.kinds) == 1:
        return True
    if len(shared) == 1:
        return _both(left, right, shared)
    same = sql.equal(left.part(Part.KIND), right.part(Part.KIND))
    return sql.all_of([sql.one_of(left.part(Part.KIND), sorted(int(kind) for kind in shared)), same])


def _never_nan(value: Value) -> bool:
    if isinstance(value, ConstantValue):
        return value.encoded.num == value.encoded.num
    return not value.kinds & {Kind.FLOAT, Kind.DOUBLE}


def no_nan_conditions(*values: Value) -> list[Sql]:
    """Return the guards that both targets need: they hold NaN equal to itself and above all numbers."""
    return [sql.negate(nodes.IsNan(this=value.double())) for value in values if not _never_nan(value)]


def equal_numbers(left: Value, right: Value) -> Sql:
    """Doubles first; where they agree, the exact decimals decide, if both sides have one."""
    if _exactly(left) and _exactly(right):
        return sql.equal(left.part(Part.DECIMAL), right.part(Part.DECIMAL))

    def test(one: Sql, other: Sql) -> Sql:
        same = sql.equal(one, other)
        if not (left.kinds & EXACT and right.kinds & EXACT):
            return same
        exact = sql.coalesce(sql.equal(left.part(Part.DECIMAL), right.part(Part.DECIMAL)), sql.TRUE.copy())
        return sql.all_of([same, exact])

    return sql.all_of([_doubles_compared(left, right, exp.EQ, test), *no_nan_conditions(left, right)])


def _numbers_less(left: Value, right: Value, order: TimeTest) -> Sql:
    """Rounding keeps the order, so only equal doubles need the exact decimals."""
    if _exactly(left) and _exactly(right):
        return order(this=left.part(Part.DECIMAL), expression=right.part(Part.DECIMAL))

    def test(one: Sql, other: Sql) -> Sql:
        if not (left.kinds & EXACT and right.kinds & EXACT):
            return order(this=one, expression=other)
        decimals = order(this=left.part(Part.DECIMAL), expression=right.part(Part.DECIMAL))
        exact = sql.coalesce(decimals, exp.Boolean(this=order is exp.LTE))
        tie = sql.all_of([sql.equal(one.copy(), other.copy()), exact])
        return sql.paren(sql.any_of([sql.less(one, other), sql.paren(tie)]))

    return sql.all_of([_doubles_compared(left, right, order, test), *no_nan_conditions(left, right)])


def _exactly(value: Value) -> bool:
    """Tell whether a number is always given by its decimal."""
    if isinstance(value, ConstantValue):
        return value.encoded.dec is not None
    return isinstance(value, IntegerValue) or (isinstance(value, NumberValue) and value.kinds <= EXACT)


def _doubles_compared(left: Value, right: Value, order: TimeTest, test: Callable[[Sql, Sql], Sql]) -> Sql:
    """Return what `test` makes of both numbers as doubles; beside a float, an integer or decimal is one too."""
    if not _may_mix(left, right):
        return test(_beside(left, right), _beside(right, left))
    kinds = left.number_kind(), right.number_kind()
    mixed = sql.all_of(
        [
            sql.equal(sql.greatest(*kinds), sql.num(Kind.FLOAT)),
            sql.one_of(sql.least(*(kind.copy() for kind in kinds)), sorted(int(kind) for kind in EXACT)),
        ]
    )
    singles = (nodes.SinglePrecision(this=value.double()) for value in (left, right))
    plain = test(left.double(), right.double())
    return sql.when((mixed, order(this=next(singles), expression=next(singles))), otherwise=plain)


def _may_mix(left: Value, right: Value) -> bool:
    """Tell whether each side may be a float and may be an integer or decimal."""
    return all(Kind.FLOAT in value.kinds and bool(value.kinds & EXACT) for value in (left, right))


def _beside(value: Value, other: Value) -> Sql:
    number = value.double()
    if not value.kinds & EXACT or Kind.FLOAT not in other.kinds:
        return number
    if isinstance(value, ConstantValue) and value.encoded.num is not None and is_single(value.encoded.num):
        return number
    tests = []
    if value.kinds - EXACT:
        tests.append(sql.one_of(value.number_kind(), sorted(int(kind) for kind in EXACT)))
    if other.kinds != {Kind.FLOAT}:
        tests.append(sql.equal(other.number_kind(), sql.num(Kind.FLOAT)))
    single = nodes.SinglePrecision(this=number.copy())
    return sql.when((sql.all_of(tests), single), otherwise=number) if tests else single
