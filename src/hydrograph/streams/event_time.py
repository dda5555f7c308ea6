"""Event time of elements, from one of their triples or from the name of their file.

Times are numbers of milliseconds, or dates and times after ISO 8601; without a zone they are in UTC. What is finer than
a millisecond is cut off.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePath

from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.nquads import IRIREF, shorten
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Instant

PREFIXES = {
    "as": "https://www.w3.org/ns/activitystreams#",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "saref": "https://saref.etsi.org/core/",
    "schema": "https://schema.org/",
    "sosa": "http://www.w3.org/ns/sosa/",
    "ssn": "http://www.w3.org/ns/ssn/",
}
"""Vocabularies whose properties may be given by their usual short names."""

GENERATED = f"<{PREFIXES['prov']}generatedAtTime>"
USUAL = (
    GENERATED,
    f"<{PREFIXES['sosa']}resultTime>",
    f"<{PREFIXES['as']}published>",
    f"<{PREFIXES['saref']}hasTimestamp>",
)
"""The properties that say when an element happened, unless another one is named: the first that occurs decides."""
NAME = "name"

Texts = tuple[str, str, str]
"""The canonical texts of a triple."""

_IRI = re.compile(IRIREF)
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_MOMENT = re.compile(
    r"(-?[0-9]{4,9})-([0-9]{2})-([0-9]{2})"
    r"(?:T([0-9]{2})[:-]?([0-9]{2})(?:[:-]?([0-9]{2})(?:[.,]([0-9]+))?)?(?:(Z)|([+-])([0-9]{2}):?([0-9]{2}))?)?"
)
_DAYS_OF_ERA = 146_097  # of 400 years


@dataclass(frozen=True, slots=True)
class EventTime:
    """Where the times of elements are to be found."""

    properties: tuple[str, ...] = USUAL
    """Canonical texts of properties; the first that occurs decides."""
    from_name: bool = False
    """Whether only the name of the file counts."""

    @classmethod
    def read(cls, text: str | None) -> EventTime:
        """Return what a user wrote: nothing, a property or `name`.

        >>> EventTime.read("sosa:resultTime").properties
        ('<http://www.w3.org/ns/sosa/resultTime>',)
        """
        if text is None:
            return cls()
        if text == NAME:
            return cls((), from_name=True)
        prefix, _, local = text.partition(":")
        known = prefix in PREFIXES and not local.startswith("//")
        iri = f"<{PREFIXES[prefix]}{local}>" if known else f"<{text.removeprefix('<').removesuffix('>')}>"
        if _IRI.fullmatch(iri) is None:
            raise UsageError(f"expected the IRI of a property, or {NAME} for the names of files, as time; got {text!r}")
        return cls((iri,))

    def of_triples(self, triples: Iterable[Texts]) -> Instant | None:
        """Return the time that some of `triples` say; None if none does. Raise DataError if they contradict."""
        found: dict[str, set[str]] = {}
        for _, p, o in triples:
            if p in self.properties:
                found.setdefault(p, set()).add(o)
        for name in self.properties:
            if name in found:
                times = {instant_of(text) for text in found[name]}
                if len(times) > 1:
                    raise DataError(f"expected one time, got {len(times)} different ones by {_short(name)}")
                return times.pop()
        return None

    def missing(self) -> DataError:
        """Return the error for an element without a time."""
        if self.from_name:
            return DataError("expected a time in the name of the file, such as 1500.ttl or 2026-01-31T12-00-00Z.ttl")
        wanted = " or ".join(map(_short, self.properties))
        return DataError(f"no time: expected a triple with {wanted}; name another property with --time")


def _short(iri: str) -> str:
    """Return the usual short name of a property, or its IRI."""
    for prefix, start in PREFIXES.items():
        if iri.startswith(f"<{start}"):
            return f"{prefix}:{iri[len(start) + 1 : -1]}"
    return iri


def instant_of(text: str) -> Instant:
    """Return the time in the literal with this canonical text.

    >>> instant_of('"1970-01-01T00:00:01.5Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>')
    1500
    """
    # Escapes need not be undone: no time has one.
    found = _instant(text[1 : text.rindex('"')].strip()) if text[0] == '"' else None
    if found is None:
        raise DataError(f"expected a date and time or milliseconds as time, got {shorten(text, 80)}")
    if not -(2**63) <= found < 2**63:
        raise DataError(f"expected a time of at most 64 bits, got {shorten(text, 80)}")
    return found


def instant_of_name(file: str) -> Instant | None:
    """Return the time in the name of a file: the first part between underscores that is one.

    >>> instant_of_name("data/room7_1970-01-01T00-00-02Z.ttl.gz"), instant_of_name("1500_0002.ttl")
    (2000, 1500)
    """
    name = PurePath(file).name
    name = name.removesuffix(".gz").removesuffix(".zst").rpartition(".")[0] or name
    return next((found for part in name.split("_") if (found := _instant(part)) is not None), None)


def order_by_time(names: Iterable[str], times: EventTime) -> list[str]:
    """Return files of one stream in the order in which they are played.

    Where names give the times, it is the order of these times, and of names for equal ones: as text, 10000 would come
    before 2000. A name that gives no time where each has to is an error of its file, which comes last. Where content
    may give the times, names count only if all of them are times; otherwise the order is that of the names.

    >>> order_by_time(["0.ttl", "1000.ttl", "10000.ttl", "2000.ttl"], EventTime.read("name"))
    ['0.ttl', '1000.ttl', '2000.ttl', '10000.ttl']
    """
    by_name = sorted(names)
    if not times.from_name and times.properties != USUAL:
        return by_name
    found = {name: instant_of_name(name) for name in by_name}
    known = {name: t for name, t in found.items() if t is not None}
    if not times.from_name and len(known) < len(found):
        return by_name
    return [*sorted(known, key=lambda name: (known[name], name)), *(name for name in by_name if name not in known)]


def moment_text(t: Instant) -> str:
    """Return the literal for the time `t`: a date and time where the calendar has one with four digits, else a number.

    >>> moment_text(1500)
    '"1970-01-01T00:00:01.500Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    """
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=t)
    except OverflowError:
        return f'"{t}"^^<http://www.w3.org/2001/XMLSchema#long>'
    written = moment.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return f'"{written}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'


def _instant(text: str) -> Instant | None:
    """Return the milliseconds since the start of 1970, as the proleptic Gregorian calendar counts them."""
    if _NUMBER.fullmatch(text):
        return int(text)
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    if not (1 <= month <= 12 and 1 <= day <= _last(year, month)):
        return None
    if hour * 3600 + minute * 60 + second > 86_400 or minute > 59 or second > 59:
        return None
    fraction = int((found[7] or "0")[:3].ljust(3, "0"))
    time = hour * HOUR + minute * MINUTE + second * SECOND + fraction
    shift = 0
    if found[9]:
        shift = (int(found[10]) * HOUR + int(found[11]) * MINUTE) * (1 if found[9] == "+" else -1)
    return _days(year, month, day) * DAY + time - shift


def _last(year: int, month: int) -> int:
    """Return the last day of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _days(year: int, month: int, day: int) -> int:
    """Return the days since the start of 1970; years begin in March here, so that leap days come last."""
    year -= month < 3
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * _DAYS_OF_ERA + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
