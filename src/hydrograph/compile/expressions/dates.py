"""Dates and times in SQL: their place on the time line, and their fields as they are written.

The [time line](https://www.w3.org/TR/xmlschema11-2/#vp-dt-timeOnTimeline) counts seconds as DECIMAL(38,18), so that
fractions are exact; without a time zone it is local time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp

from hydrograph.compile import binding, sql
from hydrograph.compile.expressions.lexical import lexical_of
from hydrograph.compile.expressions.values import TermValue, Value
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

TEMPORAL = frozenset({Kind.DATETIME, Kind.DATE, Kind.TIME})
_ZONE = "(Z|[+-][0-9][0-9]:[0-9][0-9])$"
_DAY = 86_400
_CLOCK = "DECIMAL(25, 18)"
_CYCLE, _CYCLE_DAYS = 400, 146_097
"""After so many years the calendar repeats, after so many days."""
_CYCLES = 2**31 // _CYCLE + 1
"""Added to a year that fits INT, so many cycles leave it above zero."""
_EPOCH = 719_469 + _CYCLES * _CYCLE_DAYS


@dataclass(frozen=True, slots=True)
class Fields:
    """The parts of the lexical form of a dateTime, or of a date; `local` is what stands before its zone."""

    lexical: Sql
    local: Sql

    def t_position(self) -> Sql:
        """Return where the T stands that ends the date; after the end of `local` if there is none."""
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


def with_fields(lexical: Sql, body: Callable[[Fields], Sql]) -> Sql:
    """Return what `body` makes of the fields of a lexical form."""
    return binding.let(lexical, lambda text: with_fields_of(text, body))


def with_fields_of(text: Sql, body: Callable[[Fields], Sql]) -> Sql:
    """Return what `body` makes of the fields of a lexical form that is a column or a name."""
    local = sql.call("regexp_replace", text.copy(), sql.text(_ZONE), sql.text(""))
    return binding.bind(local, lambda local: body(Fields(text, local)))


def midnight(fields: Fields) -> Sql:
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


def timeline(fields: Fields) -> Sql:
    """Return the place of a dateTime on the time line in seconds: of UTC where there is a zone, else of local time."""
    days = sql.multiply(_days(fields), sql.cast(sql.num(_DAY), "BIGINT"))
    midnight = sql.subtract(days, sql.multiply(fields.offset(), sql.num(60)))
    # No sum of these types is rounded or overflows.
    return sql.cast(sql.add(sql.cast(midnight, "DECIMAL(18, 0)"), fields.clock()), sql.DECIMAL)


def _days(fields: Fields) -> Sql:
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

    return binding.let(months, count)
