"""Units: what a live query gives out, one for each report, under a key that says which (S39)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from hydrograph.live.step.records import framed, unframed
from hydrograph.runtime.reports import Report
from hydrograph.temporal import Instant


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which report: never which batch."""

    query: str
    version: int
    t: Instant
    ordinal: int = 0
    """Where several reports have one time, which of them; they are always given out together."""
    window_class: str = ""
    """The class of windows, for plans that many queries share."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One report as it is given out."""

    key: Key
    report: Report
    text: str
    """The report as one line of JSON, the same that replay writes."""

    def line(self) -> bytes:
        """Return the unit as it stands in a segment: a checksum, the key and the report."""
        return line_of(self.key, self.text)


def line_of(key: Key, text: str) -> bytes:
    """Return a unit as it stands in a segment."""
    return framed(f"{json.dumps([key.query, key.version, key.window_class, key.t, key.ordinal])}\t{text}")


def read_line(line: bytes) -> tuple[Key, str]:
    """Return key and text of a unit; raise TornError if it is not what was written."""
    head, _, text = unframed(line).partition("\t")
    query, version, window_class, t, ordinal = json.loads(head)
    return Key(query, version, t, ordinal, window_class), text


def units_of(query: str, version: int, reports: Iterable[Report]) -> list[Unit]:
    """Return the reports as units."""
    units = []
    before, ordinal = None, 0
    for report in reports:
        ordinal = ordinal + 1 if report.t == before else 0
        before = report.t
        units.append(Unit(Key(query, version, report.t, ordinal), report, report.json(query, version)))
    return units
