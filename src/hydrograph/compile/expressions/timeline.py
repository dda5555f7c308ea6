"""Dates, times and durations compared: both sides are read by the same expression, which is written only once."""

from __future__ import annotations

from typing import TypeAlias

from sqlglot import exp

from hydrograph.compile import binding, sql
from hydrograph.compile.expressions import nodes
from hydrograph.compile.expressions.dates import Fields, as_date_time, timeline, with_fields_of
from hydrograph.compile.expressions.lexical import lexical_of
from hydrograph.compile.expressions.values import TermValue, Value
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

Test: TypeAlias = type[exp.LT] | type[exp.LTE] | type[exp.EQ]

_FOURTEEN_HOURS = 14 * 3_600
_DAY = 86_400
_WITHOUT_ZONE = (len("2000-01-01"), len("2000-01-01T00:00:00"))
_PLACE = "DECIMAL(36, 18)"
"""Holds every place on the time line, and the difference of two is exact in both targets."""


def times_compared(left: Value, right: Value, test: Test) -> Sql:
    """Return a comparison of dateTimes, dates or times; NULL where a missing zone could decide it (14-hour rule)."""

    def read(text: Sql) -> Sql:
        def key(fields: Fields) -> Sql:
            return sql.record(place=sql.cast(timeline(fields), _PLACE), zoned=fields.is_zoned())

        return with_fields_of(text, key)

    def decide(ours: Sql, theirs: Sql) -> Sql:
        one, other = (sql.member(key.copy(), "place") for key in (ours, theirs))
        alike = sql.equal(*(sql.member(key.copy(), "zoned") for key in (ours, theirs)))
        apart = sql.more(sql.call("ABS", sql.subtract(one.copy(), other.copy())), sql.num(_FOURTEEN_HOURS))
        return sql.when((sql.any_of([alike, apart]), test(this=one, expression=other)))

    def compared(one: Sql, other: Sql) -> Sql:
        slow = binding.pair(one.copy(), other.copy(), read, decide)
        return sql.when((_alike(one, other), test(this=one.copy(), expression=other.copy())), otherwise=slow)

    return binding.let(
        as_date_time(left), lambda one: binding.let(as_date_time(right), lambda other: compared(one, other))
    )


def _alike(one: Sql, other: Sql) -> Sql:
    """Tell whether two texts are of one form that sorts like time: years of four digits, both in UTC or without zone.

    To take a text apart costs twenty times as much as to compare it. 24:00 is the next day's 00:00, and is left out.
    """
    length = sql.call("length", one.copy())
    tests: list[Sql] = [sql.equal(length, sql.call("length", other.copy()))]
    ends: list[Sql] = []
    for text in (one, other):
        tests.append(sql.equal(sql.call("substring", text.copy(), sql.num(5), sql.num(1)), sql.text("-")))
        hour = sql.call("substring", text.copy(), sql.num(12), sql.num(2))
        tests.append(exp.NEQ(this=hour, expression=sql.text("24")))
        ends.append(sql.equal(sql.call("right", text.copy(), sql.num(1)), sql.text("Z")))
    local = sql.one_of(length.copy(), _WITHOUT_ZONE)
    return sql.all_of([*tests, sql.paren(sql.any_of([local, sql.paren(sql.all_of(ends))]))])


def durations_compared(left: Value, right: Value, test: Test) -> Sql:
    """Return a comparison of durations by months and seconds; NULL where the two disagree."""

    def decide(ours: Sql, theirs: Sql) -> Sql:
        def by(name: str, how: Test) -> Sql:
            return how(this=sql.member(ours.copy(), name), expression=sql.member(theirs.copy(), name))

        same_months, same_seconds = by("months", exp.EQ), by("seconds", exp.EQ)
        if test is exp.EQ:
            return sql.all_of([same_months, same_seconds])
        by_months, by_seconds = by("months", test), by("seconds", test)
        agree = sql.equal(sql.paren(by_months.copy()), sql.paren(by_seconds.copy()))
        return sql.when((same_months, by_seconds), (same_seconds, by_months), (agree, by_months.copy()))

    return binding.pair(_written(left), _written(right), _length, decide)


def _written(value: Value) -> Sql:
    if isinstance(value, TermValue):
        return lexical_of(value.part(Part.TEXT), frozenset({Kind.DURATION}))
    return value.lexical()


def _length(text: Sql) -> Sql:
    """Return months and seconds of a duration; one that does not fit its type is NULL."""
    # The letter M stands for months before the T and for minutes after it.
    years, months = _amount(text, "([0-9]+)Y"), _amount(text, "P([0-9]+Y)?([0-9]+)M", group=2)
    whole = sql.multiply(_amount(text, "([0-9]+)D"), sql.num(_DAY))
    whole = sql.add(whole, sql.multiply(_amount(text, "([0-9]+)H"), sql.num(3_600)))
    whole = sql.add(whole, sql.multiply(_amount(text, "T([0-9]+H)?([0-9]+)M", group=2), sql.num(60)))
    seconds = _amount(text, "([0-9.]+)S", sql.DECIMAL)
    return sql.record(
        months=sql.add(sql.multiply(years, sql.num(12)), months),
        seconds=nodes.DecimalSum(this=sql.cast(whole, sql.DECIMAL), expression=seconds),
    )


def _amount(text: Sql, form: str, to: str = "INT", group: int = 1) -> Sql:
    """Return a number with the sign of the duration, 0 where there is none."""
    sign = sql.call("replace", sql.call("left", text.copy(), sql.num(1)), sql.text("P"), sql.text(""))
    found = sql.call("regexp_extract", text.copy(), sql.text(form), sql.num(group))
    number = sql.safe_cast(sql.concat(sign, sql.text("0"), found), to)
    return number if to != "INT" else sql.cast(number, "BIGINT")
