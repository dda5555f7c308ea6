"""Dates and times in SQL: their place on the time line, and their fields as they are written.

The [time line](https://www.w3.org/TR/xmlschema11-2/#vp-dt-timeOnTimeline) counts seconds as DECIMAL(38,18), so that
fractions are exact; without a time zone it is local time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.lexical import lexical_of
from hydrograph.compile.expressions.numbers import NOTHING
from hydrograph.compile.expressions.strings import of_kinds
from hydrograph.compile.expressions.values import (
    IntegerValue,
    Kinds,
    LexicalValue,
    NumberValue,
    StringValue,
    TermValue,
    Value,
)
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.vocab import XSD_DAY_TIME_DURATION

TEMPORAL = frozenset({Kind.DATETIME, Kind.DATE, Kind.TIME})
_ZONE = "(Z|[+-][0-9][0-9]:[0-9][0-9])$"
SECONDS_PER_DAY = 86_400
_CLOCK = "DECIMAL(25, 18)"
_CYCLE, _CYCLE_DAYS = 400, 146_097
"""After so many years the calendar repeats, after so many days."""
_CYCLES = 2**31 // _CYCLE + 1
"""Added to a year that fits INT, so many cycles leave it above zero."""
_EPOCH = 719_469 + _CYCLES * _CYCLE_DAYS


@dataclass(frozen=True, slots=True)
class DateTimeFields:
    """The parts of the lexical form of a dateTime, or of a date; `local` is the text before its zone."""

    lexical: Sql
    local: Sql

    def t_position(self) -> Sql:
        """Return the position of the T that ends the date; behind the end of `local` if there is none."""
        return sql.call("instr", sql.concat(self.local.copy(), sql.text("T")), sql.text("T"))

    def _from(self, offset: int, length: int | None = 2) -> Sql:
        """Return the text that begins `offset` characters after the T."""
        limit = [] if length is None else [sql.num(length)]
        return sql.call("substring", self.local.copy(), sql.add(self.t_position(), sql.num(offset)), *limit)

    def _from_zone(self, length: int) -> Sql:
        start = sql.add(sql.call("length", self.local.copy()), sql.num(1))
        return sql.call("substring", self.lexical.copy(), start, sql.num(length))

    def zone(self) -> Sql:
        """Return the zone as it is written; empty where there is none."""
        return self._from_zone(6)

    def is_zoned(self) -> Sql:
        """Return whether there is a zone."""
        return sql.paren(exp.NEQ(this=self.local.copy(), expression=self.lexical.copy()))

    def year(self, to: str = "BIGINT") -> Sql:
        """Return the year; NULL where it does not fit the type."""
        return sql.safe_cast(sql.call("left", self.local.copy(), sql.subtract(self.t_position(), sql.num(7))), to)

    def month(self) -> Sql:
        """Return the month."""
        return sql.safe_cast(self._from(-5), "BIGINT")

    def day(self) -> Sql:
        """Return the day of the month."""
        return sql.safe_cast(self._from(-2), "BIGINT")

    def hours(self) -> Sql:
        """Return the hours; NULL of a date."""
        return sql.safe_cast(self._from(1), "BIGINT")

    def minutes(self) -> Sql:
        """Return the minutes; NULL of a date."""
        return sql.safe_cast(self._from(4), "BIGINT")

    def seconds(self, to: str = sql.DECIMAL) -> Sql:
        """Return the seconds with their fraction; NULL of a date."""
        return sql.safe_cast(self._from(7, None), to)

    def offset(self) -> Sql:
        """Return the offset from UTC in minutes, 0 where there is none."""
        signed = sql.concat(self._from_zone(1), sql.call("right", self.lexical.copy(), sql.num(2)))
        hours, minutes = (sql.safe_cast(text, "BIGINT") for text in (self._from_zone(3), signed))
        amount = sql.add(sql.multiply(hours, sql.num(60)), minutes)
        length = sql.subtract(*(sql.call("length", text.copy()) for text in (self.lexical, self.local)))
        # A safe cast that fails is slow on Spark: no Z is cast.
        return sql.when((sql.more(length, sql.num(1)), amount), otherwise=sql.num(0))

    def clock(self) -> Sql:
        """Return the seconds since midnight as DECIMAL(25,18), 0 of a date."""
        minutes = sql.add(sql.multiply(self.hours(), sql.num(60)), self.minutes())
        whole = sql.cast(sql.multiply(minutes, sql.num(60)), "DECIMAL(6, 0)")
        total = sql.cast(sql.add(whole, self.seconds("DECIMAL(20, 18)")), _CLOCK)
        has_clock = sql.call("CONTAINS", self.local.copy(), sql.text("T"))
        return sql.when((has_clock, total), otherwise=sql.cast(sql.num(0), _CLOCK))


def with_fields(lexical: Sql, body: Callable[[DateTimeFields], Sql]) -> Sql:
    """Return what `body` makes of the fields of a lexical form."""
    return sql.let(lexical, lambda text: with_fields_of(text, body))


def with_fields_of(text: Sql, body: Callable[[DateTimeFields], Sql]) -> Sql:
    """Return what `body` makes of the fields of a lexical form that is a column or a name."""
    local = sql.call("regexp_replace", text.copy(), sql.text(_ZONE), sql.text(""))
    return sql.bind(local, lambda local: body(DateTimeFields(text, local)))


def midnight(fields: DateTimeFields) -> Sql:
    """Return a date as the dateTime at which it begins."""
    return sql.concat(fields.local.copy(), sql.text("T00:00:00"), fields.zone())


def as_date_time(value: Value) -> Sql:
    """Return the lexical form of a dateTime or a date, and of a time completed to a dateTime."""
    kinds = value.kinds & TEMPORAL
    lexical = lexical_of(value.part(Part.TEXT), kinds) if isinstance(value, TermValue) else value.lexical()
    if Kind.TIME not in kinds:
        return lexical
    completed = sql.concat(sql.text("1972-12-31T"), lexical.copy())
    if kinds == {Kind.TIME}:
        return completed
    return sql.when((sql.equal(value.part(Part.KIND), sql.num(Kind.TIME)), completed), otherwise=lexical)


def timeline(fields: DateTimeFields) -> Sql:
    """Return the place of a dateTime on the time line in seconds: of UTC where there is a zone, else of local time."""
    days = sql.multiply(days_since_epoch(fields), sql.cast(sql.num(SECONDS_PER_DAY), "BIGINT"))
    midnight = sql.subtract(days, sql.multiply(fields.offset(), sql.num(60)))
    # No sum of these types is rounded or overflows.
    return sql.cast(sql.add(sql.cast(midnight, "DECIMAL(18, 0)"), fields.clock()), sql.DECIMAL)


def days_since_epoch(fields: DateTimeFields) -> Sql:
    """Return the days since the epoch in the proleptic Gregorian calendar; years begin in March here."""
    # A year that does not fit INT is no place on our time line.
    year = sql.add(sql.cast(fields.year("INT"), "BIGINT"), sql.cast(sql.num(_CYCLES * _CYCLE), "BIGINT"))
    months = sql.add(sql.multiply(year, sql.num(12)), sql.subtract(fields.month(), sql.num(3)))

    def count(m: Sql) -> Sql:
        total = sql.multiply(sql.whole_quotient(m.copy(), 12), sql.num(365))
        for sign, years in ((sql.add, 4), (sql.subtract, 100), (sql.add, 400)):
            total = sign(total, sql.whole_quotient(m.copy(), 12 * years))
        month = exp.Mod(this=m.copy(), expression=sql.num(12))
        before = sql.whole_quotient(sql.add(sql.multiply(month, sql.num(153)), sql.num(2)), 5)
        return sql.subtract(sql.add(sql.add(total, before), fields.day()), sql.num(_EPOCH))

    return sql.let(months, count)


_DATED: Kinds = frozenset({Kind.DATETIME, Kind.DATE})
_CLOCKED: Kinds = frozenset({Kind.DATETIME, Kind.TIME})


def _field(kinds: Kinds, read: Callable[[DateTimeFields], Sql]) -> Callable[[Value], Value]:
    def field(value: Value) -> Value:
        found = _read(value, kinds, read)
        return NOTHING if found is None else IntegerValue(found)

    return field


def _read(value: Value, kinds: Kinds, read: Callable[[DateTimeFields], Sql]) -> Sql | None:
    if not value.kinds & kinds:
        return None
    return of_kinds(value, kinds, lambda: with_fields(as_date_time(value), read))


year = _field(_DATED, DateTimeFields.year)
month = _field(_DATED, DateTimeFields.month)
day = _field(_DATED, DateTimeFields.day)
hours = _field(_CLOCKED, DateTimeFields.hours)
minutes = _field(_CLOCKED, DateTimeFields.minutes)


def seconds(value: Value) -> Value:
    """Return SECONDS, a decimal."""
    found = _read(value, _CLOCKED, DateTimeFields.seconds)
    return NOTHING if found is None else NumberValue(frozenset({Kind.DECIMAL}), sql.num(Kind.DECIMAL), found, None)


def tz(value: Value) -> Value:
    """Return TZ: the zone as it is written, or an empty string."""
    found = _read(value, TEMPORAL, DateTimeFields.zone)
    return NOTHING if found is None else StringValue(found)


def timezone(value: Value) -> Value:
    """Return TIMEZONE: the zone as a duration; an error where there is none."""
    found = _read(value, TEMPORAL, lambda fields: sql.let(fields.zone(), _duration))
    return NOTHING if found is None else LexicalValue(frozenset({Kind.DURATION}), found, XSD_DAY_TIME_DURATION)


def _duration(zone: Sql) -> Sql:
    sign = sql.when(
        (sql.equal(sql.call("left", zone.copy(), sql.num(1)), sql.text("-")), sql.text("-PT")), otherwise=sql.text("PT")
    )

    def amount(start: int, letter: str) -> Sql:
        digits = sql.call("substring", zone.copy(), sql.num(start), sql.num(2))
        number = sql.cast(sql.safe_cast(digits, "BIGINT"), "TEXT")
        written = sql.concat(number.copy(), sql.text(letter))
        return sql.when((sql.equal(number, sql.text("0")), sql.text("")), otherwise=written)

    return sql.when(
        (sql.one_of_texts(zone.copy(), ["Z", "+00:00", "-00:00"]), sql.text("PT0S")),
        (sql.equal(zone.copy(), sql.text("")), sql.cast(sql.NULL.copy(), "TEXT")),
        otherwise=sql.concat(sign, amount(2, "H"), amount(5, "M")),
    )


TimeTest: TypeAlias = type[exp.LT] | type[exp.LTE] | type[exp.EQ]

LARGEST_ZONE = 14 * 3_600
_WITHOUT_ZONE = (len("2000-01-01"), len("2000-01-01T00:00:00"))
_PLACE = "DECIMAL(36, 18)"
"""Holds every place on the time line, and the difference of two is exact in both targets."""


def times_compared(left: Value, right: Value, test: TimeTest) -> Sql:
    """Return a comparison of dateTimes, dates or times; NULL where a missing zone could decide it (14-hour rule)."""

    def read(text: Sql) -> Sql:
        def key(fields: DateTimeFields) -> Sql:
            return sql.record(place=sql.cast(timeline(fields), _PLACE), zoned=fields.is_zoned())

        return with_fields_of(text, key)

    def decide(ours: Sql, theirs: Sql) -> Sql:
        one, other = (sql.member(key.copy(), "place") for key in (ours, theirs))
        alike = sql.equal(*(sql.member(key.copy(), "zoned") for key in (ours, theirs)))
        apart = sql.more(sql.call("ABS", sql.subtract(one.copy(), other.copy())), sql.num(LARGEST_ZONE))
        return sql.when((sql.any_of([alike, apart]), test(this=one, expression=other)))

    def compared(one: Sql, other: Sql) -> Sql:
        slow = sql.pair(one.copy(), other.copy(), read, decide)
        return sql.when((_alike(one, other), test(this=one.copy(), expression=other.copy())), otherwise=slow)

    return sql.let(as_date_time(left), lambda one: sql.let(as_date_time(right), lambda other: compared(one, other)))


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


def durations_compared(left: Value, right: Value, test: TimeTest) -> Sql:
    """Return a comparison of durations by months and seconds; NULL where the two disagree."""

    def decide(ours: Sql, theirs: Sql) -> Sql:
        def by(name: str, how: TimeTest) -> Sql:
            return how(this=sql.member(ours.copy(), name), expression=sql.member(theirs.copy(), name))

        same_months, same_seconds = by("months", exp.EQ), by("seconds", exp.EQ)
        if test is exp.EQ:
            return sql.all_of([same_months, same_seconds])
        by_months, by_seconds = by("months", test), by("seconds", test)
        agree = sql.equal(sql.paren(by_months.copy()), sql.paren(by_seconds.copy()))
        return sql.when((same_months, by_seconds), (same_seconds, by_months), (agree, by_months.copy()))

    return sql.pair(_written(left), _written(right), _length, decide)


def _written(value: Value) -> Sql:
    if isinstance(value, TermValue):
        return lexical_of(value.part(Part.TEXT), frozenset({Kind.DURATION}))
    return value.lexical()


def _length(text: Sql) -> Sql:
    """Return months and seconds of a duration; one that does not fit its type is NULL."""
    # The letter M means months before the T and minutes after it.
    years, months = _amount(text, "([0-9]+)Y"), _amount(text, "P([0-9]+Y)?([0-9]+)M", group=2)
    whole = sql.multiply(_amount(text, "([0-9]+)D"), sql.num(SECONDS_PER_DAY))
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
