"""Units: what a live query gives out, one for each report, under a key that says which (S39)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hydrograph.runtime.reports import Report
from hydrograph.temporal import Instant


@dataclass(frozen=True, slots=True, order=True)
class UnitKey:
    """Which report: never which batch."""

    query: str
    version: int
    t: Instant
    ordinal: int = 0
    """Where several reports have one time, which of them; they are always given out together."""
    window_class: str = ""
    """The class of windows, for plans that many queries share."""


@dataclass(frozen=True, slots=True)
class ResultUnit:
    """One report as it is given out."""

    key: UnitKey
    report: Report
    text: str
    """The report as one line of JSON, the same that replay writes."""


def make_units(query: str, version: int, reports: Iterable[Report]) -> list[ResultUnit]:
    """Return the reports as units."""
    units = []
    before, ordinal = None, 0
    for report in reports:
        ordinal = ordinal + 1 if report.t == before else 0
        before = report.t
        units.append(ResultUnit(UnitKey(query, version, report.t, ordinal), report, report.json(query, version)))
    return units
