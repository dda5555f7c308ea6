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
from hydrograph.compile.expressions.lexical import lexical_of
from hydrograph.compile.expressions.values import TermValue, Value
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

Test: TypeAlias = type[exp.LT] | type[exp.LTE] | type[exp.EQ]

TEMPORAL = frozenset({Kind.DATETIME, Kind.DATE, Kind.TIME})
_DAY = 86_400
_FOURTEEN_HOURS = 14 * 3_600


@dataclass(frozen=True, slots=True)
class Fields:
    """The parts of a lexical form of xsd:dateTime in SQL; `written` is its zone, empty where there is none."""

    lexical: Sql
    written: Sql

    def _from(self, offset: int, length: Sql | None = None) -> Sql:
        """Return the text that begins `offset` characters after the T."""
        start = sql.add(_t_position(self.lexical), sql.num(offset))
        return sql.call("substring", self.lexical.copy(), start, sql.num(2) if length is None else length)

    def zone(self) -> Sql:
        """Return the zone as it is written."""
        return self.written.copy()

    def is_zoned(self) -> Sql:
        """Return whether there is a zone."""
        return sql.paren(exp.NEQ(this=self.written.copy(), expression=sql.text("")))

    def year(self, to: str = "BIGINT") -> Sql:
        """Return the year; NULL where it does not fit the type."""
        digits = sql.call("left", self.lexical.copy(), sql.subtract(_t_position(self.lexical), sql.num(7)))
        return sql.safe_cast(digits, to)

    def month(self) -> Sql:
        """Return the month."""
        return sql.safe_cast(self._from(-5), "BIGINT")

    def day(self) -> Sql:
        """Return the day of the month."""
        return sql.safe_cast(self._from(-2), "BIGINT")

    def hours(self) -> Sql:
        """Return the hours."""
        return sql.safe_cast(self._from(1), "BIGINT")

    def minutes(self) -> Sql:
        """Return the minutes."""
        return sql.safe_cast(self._from(4), "BIGINT")

    def seconds(self) -> Sql:
        """Return the seconds with their fraction."""
        before = sql.add(_t_position(self.lexical), sql.num(6))
        return sql.safe_cast(self._from(7, sql.subtract(self.local_length(), before)), sql.DECIMAL)

    def local_length(self) -> Sql:
        """Return how many characters stand before the zone."""
        return sql.subtract(sql.call("length", self.lexical.copy()), sql.call("length", self.written.copy()))

    def offset(self) -> Sql:
        """Return the offset from UTC in seconds, 0 where there is none."""
        zone = self.written
        negative = sql.equal(sql.call("left", zone.copy(), sql.num(1)), sql.text("-"))
        sign = sql.when((negative, sql.num(-60)), otherwise=sql.num(60))
        hours, minutes = (
            sql.safe_cast(sql.call("substring", zone.copy(), sql.num(start), sql.num(2)), "BIGINT") for start in (2, 5)
        )
        amount = sql.multiply(sign, sql.add(sql.multiply(hours, sql.num(60)), minutes))
        is_offset = sql.equal(sql.call("length", zone.copy()), sql.num(6))
        return sql.when((is_offset, amount), otherwise=sql.num(0))


def with_fields(lexical: Sql, body: Callable[[Fields], Sql]) -> Sql:
    """Return what `body` makes of the fields of a lexical form."""
    return sql.let(lexical, lambda text: sql.let(_zone(text), lambda zone: body(Fields(text, zone))))


def _t_position(text: Sql) -> Sql:
    return sql.call("instr", text.copy(), sql.text("T"))


def _zone(text: Sql) -> Sql:
    """Return Z or an offset: six characters, a sign first and a colon in the middle; empty if there is none."""
    last = sql.call("right", text.copy(), sql.num(6))
    signed = sql.one_of_texts(sql.call("left", last, sql.num(1)), ["+", "-"])
    colon = sql.equal(sql.call("substring", last.copy(), sql.num(4), sql.num(1)), sql.text(":"))
    utc = sql.equal(sql.call("right", text.copy(), sql.num(1)), sql.text("Z"))
    return sql.when((utc, sql.text("Z")), (sql.all_of([signed, colon]), last.copy()), otherwise=sql.text(""))


def midnight(fields: Fields) -> Sql:
    """Return a date as the dateTime at which it begins."""
    date = sql.call("left", fields.lexical.copy(), fields.local_length())
    return sql.concat(date, sql.text("T00:00:00"), fields.zone())


def as_date_time(value: Value) -> Sql:
    """Return the lexical form of a dateTime, and of dates and times completed to one."""
    kinds = value.kinds & TEMPORAL
    lexical = lexical_of(value.part(Part.TEXT), kinds) if isinstance(value, TermValue) else value.lexical()

    def completed(text: Sql, kind: Kind) -> Sql:
        match kind:
            case Kind.DATE:
                return midnight(Fields(text.copy(), _zone(text)))
            case Kind.TIME:
                return sql.concat(sql.text("1972-12-31T"), text.copy())
            case _:
                return text.copy()

    if len(kinds) == 1:
        (kind,) = kinds
        return sql.let(lexical, lambda text: completed(text, kind))
    is_kind = {kind: sql.equal(value.part(Part.KIND), sql.num(kind)) for kind in sorted(kinds)}
    return sql.let(lexical, lambda text: sql.when(*[(is_kind[kind], completed(text, kind)) for kind in is_kind]))


def timeline(fields: Fields) -> Sql:
    """Return the place of a dateTime on the time line in seconds: of UTC where there is a zone, else of local time."""
    days = sql.multiply(_days(fields), sql.cast(sql.num(_DAY), "BIGINT"))
    whole = sql.subtract(days, sql.paren(fields.offset()))
    clock = sql.add(sql.multiply(fields.hours(), sql.num(3600)), sql.multiply(fields.minutes(), sql.num(60)))
    total = sql.cast(sql.add(whole, clock), sql.DECIMAL)
    return sql.cast(sql.DecimalSum(this=total, expression=fields.seconds()), sql.DECIMAL)


def _days(fields: Fields) -> Sql:
    """Return the days since the epoch in the proleptic Gregorian calendar; years begin in March here."""
    # In months since the year 0; a year that does not fit INT is no place on our time line.
    months = sql.add(
        sql.multiply(sql.cast(fields.year("INT"), "BIGINT"), sql.num(12)), sql.subtract(fields.month(), sql.num(3))
    )

    def count(m: Sql) -> Sql:
        def days(y: Sql) -> Sql:
            month = sql.subtract(m.copy(), sql.multiply(y.copy(), sql.num(12)))
            total = sql.multiply(y.copy(), sql.num(365))
            for sign, length in ((sql.add, 4), (sql.subtract, 100), (sql.add, 400)):
                total = sign(total, sql.floor_divide(y.copy(), length))
            before = sql.floor_divide(sql.add(sql.multiply(month, sql.num(153)), sql.num(2)), 5)
            return sql.subtract(sql.add(sql.add(total, before), fields.day()), sql.num(719_469))

        return sql.let(sql.floor_divide(m.copy(), 12), days)

    return sql.let(months, count)


def compared(left: Value, right: Value, test: Test) -> Sql:
    """Return a comparison; NULL where a missing zone could decide it (the 14-hour rule)."""
    ours, theirs = as_date_time(left), as_date_time(right)
    places = with_fields(ours, timeline), with_fields(theirs, timeline)
    zoned = (sql.let(lexical.copy(), lambda text: sql.paren(_is_zoned(text))) for lexical in (ours, theirs))
    difference = sql.DecimalSum(this=places[0], expression=sql.minus(places[1]))
    far = sql.cast(sql.num(_FOURTEEN_HOURS), sql.DECIMAL)
    alike = sql.equal(*zoned)

    def decide(seconds: Sql) -> Sql:
        apart = sql.more(sql.call("ABS", seconds.copy()), far)
        return sql.when((sql.any_of([alike, apart]), test(this=seconds.copy(), expression=sql.num(0))))

    return sql.let(difference, decide)


def _is_zoned(text: Sql) -> Sql:
    return exp.NEQ(this=_zone(text), expression=sql.text(""))


def durations_compared(left: Value, right: Value, test: Test) -> Sql:
    """Return a comparison of durations by months and seconds; NULL where the two disagree."""
    ours, theirs = _written(left), _written(right)
    months, seconds = ([sql.let(text.copy(), read) for text in (ours, theirs)] for read in (_months, _seconds))
    if test is exp.EQ:
        return sql.all_of([sql.equal(*months), sql.equal(*seconds)])
    apart = sql.subtract(*map(sql.paren, months)), sql.DecimalSum(this=seconds[0], expression=sql.minus(seconds[1]))

    def decide(m: Sql, s: Sql) -> Sql:
        by_months, by_seconds = (test(this=x.copy(), expression=sql.num(0)) for x in (m, s))
        same_months, same_seconds = (sql.equal(x.copy(), sql.num(0)) for x in (m, s))
        agree = sql.equal(sql.paren(by_months.copy()), sql.paren(by_seconds.copy()))
        return sql.when((same_months, by_seconds), (same_seconds, by_months), (agree, by_months.copy()))

    return sql.let(apart[0], lambda m: sql.let(apart[1], lambda s: decide(m, s)))


def _written(value: Value) -> Sql:
    if isinstance(value, TermValue):
        return lexical_of(value.part(Part.TEXT), frozenset({Kind.DURATION}))
    return value.lexical()


def _months(text: Sql) -> Sql:
    date = _date_part(text)
    return _signed(text, sql.add(sql.multiply(_amount(date, "Y"), sql.num(12)), _amount(date, "M")))


def _seconds(text: Sql) -> Sql:
    date, time = _date_part(text), sql.call("substring", text.copy(), sql.add(_end_of_date(text), sql.num(1)))
    whole = sql.multiply(_amount(date, "D"), sql.num(_DAY))
    for letter, length in (("H", 3600), ("M", 60)):
        whole = sql.add(whole, sql.multiply(_amount(time, letter), sql.num(length)))
    fraction = _amount(time, "S", sql.DECIMAL)
    return _signed(text, sql.DecimalSum(this=sql.cast(whole, sql.DECIMAL), expression=fraction))


def _end_of_date(text: Sql) -> Sql:
    """Return where the T stands; after the end if there is none."""
    return sql.call("instr", sql.concat(text.copy(), sql.text("T")), sql.text("T"))


def _date_part(text: Sql) -> Sql:
    return sql.call("left", text.copy(), _end_of_date(text))


def _amount(part: Sql, letter: str, to: str = "INT") -> Sql:
    """Return the number before a letter, 0 where there is none; an error where it does not fit the type."""
    found = sql.call("regexp_extract", part.copy(), sql.text(f"([0-9.]+){letter}"), sql.num(1))
    number = sql.safe_cast(sql.concat(sql.text("0"), found), to)
    return number if to != "INT" else sql.cast(number, "BIGINT")


def _signed(text: Sql, amount: Sql) -> Sql:
    negative = sql.equal(sql.call("left", text.copy(), sql.num(1)), sql.text("-"))
    return sql.let(amount, lambda x: sql.when((negative, sql.minus(x)), otherwise=x.copy()))
