"""[Functions on dates and times](https://www.w3.org/TR/sparql11-query/#func-date-time), from the lexical form."""

from __future__ import annotations

from collections.abc import Callable

from hydrograph.compile import binding, sql
from hydrograph.compile.expressions.computed import NumberValue, StringValue, WholeValue, WrittenValue
from hydrograph.compile.expressions.dates import TEMPORAL, Fields, as_date_time, with_fields
from hydrograph.compile.expressions.numbers import NOTHING
from hydrograph.compile.expressions.strings import of_kinds
from hydrograph.compile.expressions.values import Kinds, Value
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.vocab import XSD_DAY_TIME_DURATION

_DATED: Kinds = frozenset({Kind.DATETIME, Kind.DATE})
_CLOCKED: Kinds = frozenset({Kind.DATETIME, Kind.TIME})


def _field(kinds: Kinds, read: Callable[[Fields], Sql]) -> Callable[[Value], Value]:
    def field(value: Value) -> Value:
        found = _read(value, kinds, read)
        return NOTHING if found is None else WholeValue(found)

    return field


def _read(value: Value, kinds: Kinds, read: Callable[[Fields], Sql]) -> Sql | None:
    if not value.kinds & kinds:
        return None
    return of_kinds(value, kinds, lambda: with_fields(as_date_time(value), read))


year = _field(_DATED, Fields.year)
month = _field(_DATED, Fields.month)
day = _field(_DATED, Fields.day)
hours = _field(_CLOCKED, Fields.hours)
minutes = _field(_CLOCKED, Fields.minutes)


def seconds(value: Value) -> Value:
    """Return SECONDS, a decimal."""
    found = _read(value, _CLOCKED, Fields.seconds)
    return NOTHING if found is None else NumberValue(frozenset({Kind.DECIMAL}), sql.num(Kind.DECIMAL), found, None)


def tz(value: Value) -> Value:
    """Return TZ: the zone as it is written, or an empty string."""
    found = _read(value, TEMPORAL, Fields.zone)
    return NOTHING if found is None else StringValue(found)


def timezone(value: Value) -> Value:
    """Return TIMEZONE: the zone as a duration; an error where there is none."""
    found = _read(value, TEMPORAL, lambda fields: binding.let(fields.zone(), _duration))
    return NOTHING if found is None else WrittenValue(frozenset({Kind.DURATION}), found, XSD_DAY_TIME_DURATION)


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
