"""Numbering of reports, by which kept rows are stamped with the reports that show them.

Where reports form a grid the number of a report is its rank. Where elements make reports themselves it is computed from
the instant, see `change_instants`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias

import pyarrow as pa

from hydrograph.live.step.evaluation import ReportRequest
from hydrograph.live.step.report_timeline import ReportTimeline, Times, VisibleSpans
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.report_ranks import ReportRanks, instants_of
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

Timing: TypeAlias = tuple[int, Instant, int | None]
"""Rank and time of a report, and the single element that made it, if one did."""
Windows: TypeAlias = Mapping[str, tuple[Iri, Iri]]
"""Window and stream of each table that a program reads."""


class DueReports(Protocol):
    """Reports that are due, in order."""

    @property
    def ranks(self) -> ReportRanks:
        """The ranks under which the program evaluates them."""
        ...

    def __len__(self) -> int:
        """Return how many there are."""
        ...

    def timings(self) -> list[Timing]:
        """Return rank, time and element of each."""
        ...

    def numbers(self) -> Sequence[int]:
        """Return the number of each, by which rows are stamped."""
        ...

    def rank_rows(self, rows: pa.Table) -> pa.Table:
        """Return stamped rows with ranks in place of numbers."""
        ...


@dataclass(frozen=True, slots=True)
class StampedRows:
    """New rows of one window, with the reports that show them."""

    events: pa.Table
    spans: VisibleSpans
    order: Times
    """The order in which arrivals of one triple follow each other."""


class ReportNumbering(Protocol):
    """Numbering of the reports of a query."""

    can_stamp_early: ClassVar[bool]
    """True if rows can be stamped before a report needs them."""

    def restart(self) -> None:
        """Forget all rows that were stamped."""
        ...

    def number(self, frontier: int) -> int:
        """Return the number of the first report at a frontier."""
        ...

    def stamp(
        self, waiting: Mapping[str, pa.Table], frontiers: tuple[int, int]
    ) -> tuple[dict[str, StampedRows], dict[str, pa.Table]]:
        """Stamp the rows that reports between two frontiers may show; return them, and those that wait on, by table."""
        ...

    def due(self, request: ReportRequest) -> DueReports:
        """Return the reports of a request, for which rows were stamped just before."""
        ...


@dataclass(frozen=True, slots=True)
class GridReports:
    """Reports that form a grid: their numbers are their ranks."""

    plan: Plan
    ranks: ReportRanks

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.ranks)

    def timings(self) -> list[Timing]:
        """Return rank and time of each."""
        return list(instants_of(self.plan, self.ranks))

    def numbers(self) -> Sequence[int]:
        """Return the ranks."""
        return range(self.ranks.start, self.ranks.end)

    def rank_rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows as they are."""
        return rows


@dataclass(frozen=True, slots=True)
class GridNumbering:
    """Numbering of reports that form a grid."""

    can_stamp_early: ClassVar = True
    timeline: ReportTimeline
    windows: Windows

    def restart(self) -> None:
        """Keep nothing: ranks follow from times."""

    def number(self, frontier: int) -> int:
        """Return the rank itself."""
        return frontier

    def stamp(
        self, waiting: Mapping[str, pa.Table], frontiers: tuple[int, int]
    ) -> tuple[dict[str, StampedRows], dict[str, pa.Table]]:
        """Stamp all rows, whatever the frontiers."""
        del frontiers
        stamped = {}
        for table, events in waiting.items():
            t = events.column("t").to_numpy()
            stamped[table] = StampedRows(events, self.timeline.spans(self.windows[table][0], t), t)
        return stamped, dict.fromkeys(waiting, EVENTS.empty_table())

    def due(self, request: ReportRequest) -> DueReports:
        """Return the reports of a request for which some window has held an element (A1)."""
        return GridReports(self.timeline.plan, due_ranks(self.timeline, request))


def due_ranks(timeline: ReportTimeline, request: ReportRequest) -> ReportRanks:
    """Return the ranks of a request between the first window that holds an element and the last (A1)."""
    known = timeline.ranks(request.held)
    return ReportRanks(max(request.start, known.start), min(request.end, known.end))
