"""Report timeline of a live query: its report instants, and when each window shows an element (S18, S33).

A frontier is a number: every report before it is settled. Where reports form a grid it is a rank, else an event time. A
window shows an element on `[enter, leave)`, in the same numbers, so lateness is one comparison for all policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from hydrograph.algebra.queries import Ask, Select, StreamOperator
from hydrograph.compile.inputs import AllVisibility, CountVisibility, TimeVisibility
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.temporal import END_OF_TIME, Instant
from hydrograph.windows.report import Held, Range, When, last_seen
from hydrograph.windows.scope import Grid

Times: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
BEGINNING = -(2**62)
"""The frontier before all others."""


@dataclass(frozen=True, slots=True)
class VisibleSpans:
    """Spans `[enter, leave)` of frontiers at which a window shows some elements."""

    enter: Times
    leave: Times
    inside: Flags
    """False for elements in no window: before t0, or in a gap."""

    def classify_late(self, frontier: int, *, drop_partial: bool) -> tuple[Flags, Flags]:
        """Return which elements are late for all reports that show them, and which for some of them.

        `drop_partial` makes an element late for all reports as soon as one of them is settled.
        """
        started = self.inside & (self.enter < frontier)
        dropped = started if drop_partial else self.inside & (self.leave <= frontier)
        return dropped, started & ~dropped


@dataclass(frozen=True, slots=True)
class ReportTimeline:
    """Report instants of a plan with a known t0."""

    plan: Plan

    def __post_init__(self) -> None:
        """Check that the windows are placed."""
        assert self.plan.is_placed, "a plan without t0 has no report instants"

    @property
    def by_rank(self) -> bool:
        """True if frontiers are ranks of a grid."""
        return self.plan.reports is not None

    @property
    def start(self) -> int:
        """The frontier before the first report."""
        return 0 if self.by_rank else BEGINNING

    @property
    def reports_leaving(self) -> bool:
        """True if an element also makes a report where it leaves."""
        policy = self.plan.profile.report
        return policy.when is When.CONTENT_CHANGE and policy.expiry

    @property
    def rereads_previous(self) -> bool:
        """True if the program evaluates the previous report again, to compare the next one with it.

        CONSTRUCT and DESCRIBE make triples of the solutions that changed, which only the program can do. Istream and
        Dstream of SELECT and ASK compare solutions with a snapshot instead.
        """
        changes = self.plan.operator is not StreamOperator.RSTREAM
        return changes and not isinstance(self.plan.query.form, Select | Ask)

    @property
    def compares_snapshots(self) -> bool:
        """True if the solutions of each report are compared with a snapshot of the previous one."""
        return self.plan.operator is not StreamOperator.RSTREAM and not self.rereads_previous

    def settled(self, watermark: Instant) -> int:
        """Return the frontier at a watermark (S32).

        A window closes before an element of that time enters. Other reports at a time are settled when it has passed.
        """
        if self.plan.reports is not None:
            return max(0, (watermark - self.plan.grid.first_close) // self.plan.grid.step + 1)
        return watermark + 1 if self._closes_only else watermark

    @property
    def _closes_only(self) -> bool:
        timed = all(isinstance(visibility, TimeVisibility) for visibility in self.plan.visibilities.values())
        return timed and self.plan.profile.report.when is When.WINDOW_CLOSE

    def spans(self, window: Iri, times: Times) -> VisibleSpans:
        """Return when a window shows elements of these times."""
        since = times >= self.plan.t0
        match self.plan.visibilities[window]:
            case TimeVisibility(grid, delay):
                # A past window shows its elements `delay` later: the grid is that of its reports.
                lo, hi = _ranks(grid, times + delay)
                inside = since & (lo < hi)
                if self.by_rank:
                    shift = (grid.first_close - self.plan.grid.first_close) // self.plan.grid.step
                    return VisibleSpans(lo + shift, hi + shift, inside)
                close = grid.first_close + np.stack((lo, hi)) * grid.step
                if self.plan.profile.report.when is When.WINDOW_CLOSE:
                    return VisibleSpans(close[0], close[1], inside)
                return VisibleSpans(times + delay, close[1] - grid.step, inside)
            case CountVisibility() | AllVisibility():
                return VisibleSpans(times, np.full_like(times, END_OF_TIME), since)

    def ranks(self, held: Mapping[Iri, Held]) -> ReportRanks:
        """Return the reports if no element follows: from the first window that holds an element to the last (A1)."""
        return report_ranks.report_ranks(self.plan, held)

    def closes(self, held: Mapping[Iri, Held], start: int, end: int) -> list[Instant]:
        """Return the reports in `[start, end)` that closes and periods make, where they form no grid."""
        first, last = self._clock_reports(held)
        first, last = max(start, first), min(end - 1, last)
        if first > last:
            return []
        found: list[Instant] = (
            report_ranks.scheduled_instants(self.plan, held, Range(first - 1, last)).column("t").to_pylist()
        )
        return found

    def emitted(self, held: Mapping[Iri, Held], emitted: int, settled: int) -> int:
        """Return the frontier of reports that were made, once everything due before `settled` was reported."""
        if self.by_rank:
            return max(emitted, min(settled, self.ranks(held).end))
        last = self._clock_reports(held)[1]
        if last == BEGINNING:  # no window that closes by the clock has ever held an element: no report is missing
            return settled
        return max(emitted, min(settled, last + 1))

    def _clock_reports(self, held: Mapping[Iri, Held]) -> tuple[Instant, Instant]:
        """Return the first and the last report of closes and periods if no element follows (A1)."""
        policy = self.plan.profile.report
        firsts, lasts = [], []
        for name, known in held.items():
            if known is None or policy.when is When.CONTENT_CHANGE:
                continue
            visibility = self.plan.visibilities[name]
            delay, grid = (visibility.delay, visibility.grid) if isinstance(visibility, TimeVisibility) else (0, None)
            first, last = known[0] + delay, known[1] + delay
            if policy.when is When.WINDOW_CLOSE:
                firsts += [] if grid is None else [grid.close(grid.lo(first))]
                lasts += [] if grid is None else [grid.close(grid.hi(last) - 1)]
            else:
                firsts.append(first)
                lasts.append(last_seen(grid, last, policy.period or 0))
        return min(firsts, default=END_OF_TIME), max(lasts, default=BEGINNING)

    def last(self, held: Mapping[Iri, Held]) -> Instant | None:
        """Return the time behind the last report if no element follows; None if there is no report."""
        if self.by_rank:
            end = self.ranks(held).end
            return self.plan.grid.close(end - 1) if any(held.values()) else None
        ends = []
        for name, known in held.items():
            if known is not None:
                spans = self.spans(name, np.array([known[1]], np.int64))
                leave = int(spans.leave[0])
                ends.append((leave if leave < END_OF_TIME else known[1]) + 1)
        period = self.plan.profile.report.period or 0
        return max(ends) + period if ends else None


def _ranks(grid: Grid, times: Times) -> tuple[Times, Times]:
    since = times - grid.first_close
    lo = np.maximum(0, since // grid.step + 1)
    hi = np.maximum(0, (since + grid.width) // grid.step + 1)
    return lo, hi
