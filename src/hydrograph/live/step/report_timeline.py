"""The instants of a query while time goes on: which are settled, and when each window shows an element (S18, S33).

A frontier is a number: every report before it is settled. Where the reports form a grid it is a rank, else a time. An
element is seen by a window on `[enter, leave)`, in the same numbers, so that what is late is the same question for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hydrograph.compile.instants import NEVER
from hydrograph.compile.reporting import Counted, Everything, Timed
from hydrograph.live.step.watermark import Times
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import replay
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.replay import Ranks
from hydrograph.temporal import Instant
from hydrograph.windows.report import Held, Range, When, last_seen
from hydrograph.windows.scope import Grid

Flags = npt.NDArray[np.bool_]
BEGINNING = -(2**62)
"""Before every frontier."""


@dataclass(frozen=True, slots=True)
class VisibleSpans:
    """When a window shows some elements."""

    enter: Times
    leave: Times
    inside: Flags
    """False for what lies in no window: before t0, or in a gap."""

    def late(self, frontier: int, *, whole: bool) -> tuple[Flags, Flags]:
        """Return which elements are shown at no report that is still open, and which at some that are and some not.

        `whole` drops an element altogether if one of its reports is settled.
        """
        started = self.inside & (self.enter < frontier)
        dropped = started if whole else self.inside & (self.leave <= frontier)
        return dropped, started & ~dropped


@dataclass(frozen=True, slots=True)
class ReportTimeline:
    """The instants of a placed plan."""

    plan: Plan

    @property
    def by_rank(self) -> bool:
        """Whether frontiers are ranks of a grid."""
        return self.plan.reports is not None

    @property
    def reports_leaving(self) -> bool:
        """Whether an element makes a report also where it leaves."""
        policy = self.plan.profile.report
        return policy.when is When.CONTENT_CHANGE and policy.expiry

    def settled(self, watermark: Instant) -> int:
        """Return the frontier when everything before `watermark` is known (S32).

        A window closes before anything of that time enters, but what happens at a time is known only when it is over.
        """
        if self.plan.reports is not None:
            return max(0, (watermark - self.plan.grid.first_close) // self.plan.grid.step + 1)
        return watermark + 1 if self._closes_only else watermark

    @property
    def _closes_only(self) -> bool:
        timed = all(isinstance(sight, Timed) for sight in self.plan.sights.values())
        return timed and self.plan.profile.report.when is When.WINDOW_CLOSE

    def seen(self, window: Iri, times: Times) -> VisibleSpans:
        """Return when a window shows elements of these times."""
        since = times >= self.plan.t0
        match self.plan.sights[window]:
            case Timed(grid, delay):
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
            case Counted() | Everything():
                return VisibleSpans(times, np.full_like(times, NEVER), since)

    def ranks(self, held: Mapping[Iri, Held]) -> Ranks:
        """Return the reports there are if nothing more comes: from the first window that holds something (A1)."""
        known = [each for each in held.values() if each is not None]
        span = (min(first for first, _ in known), max(last for _, last in known)) if known else None
        return replay.report_ranks(self.plan, span)

    def closes(self, held: Mapping[Iri, Held], start: int, end: int) -> list[Instant]:
        """Return the reports in `[start, end)` that closes and periods make, where they form no grid."""
        first, last = self._known(held)
        first, last = max(start, first), min(end - 1, last)
        if first > last:
            return []
        found: list[Instant] = replay.known_instants(self.plan, held, Range(first - 1, last)).column("t").to_pylist()
        return found

    def emitted(self, held: Mapping[Iri, Held], emitted: int, settled: int) -> int:
        """Return the frontier of what has been reported when everything before `settled` has that is to be."""
        if self.by_rank:
            return max(emitted, min(settled, self.ranks(held).end))
        last = self._known(held)[1]
        if last == BEGINNING:  # no window closes by the clock, or none that ever held something: nothing is left out
            return settled
        return max(emitted, min(settled, last + 1))

    def _known(self, held: Mapping[Iri, Held]) -> tuple[Instant, Instant]:
        """Return between which times, with both ends, closes and periods report if nothing more comes (A1)."""
        policy = self.plan.profile.report
        firsts, lasts = [], []
        for name, known in held.items():
            if known is None or policy.when is When.CONTENT_CHANGE:
                continue
            sight = self.plan.sights[name]
            delay, grid = (sight.delay, sight.grid) if isinstance(sight, Timed) else (0, None)
            first, last = known[0] + delay, known[1] + delay
            if policy.when is When.WINDOW_CLOSE:
                firsts += [] if grid is None else [grid.close(grid.lo(first))]
                lasts += [] if grid is None else [grid.close(grid.hi(last) - 1)]
            else:
                firsts.append(first)
                lasts.append(last_seen(grid, last, policy.period or 0))
        return min(firsts, default=NEVER), max(lasts, default=BEGINNING)

    def last(self, held: Mapping[Iri, Held]) -> Instant | None:
        """Return the time behind the last report if nothing more comes; None if there is none."""
        if self.by_rank:
            end = self.ranks(held).end
            return self.plan.grid.close(end - 1) if any(held.values()) else None
        ends = []
        for name, known in held.items():
            if known is not None:
                seen = self.seen(name, np.array([known[1]], np.int64))
                leave = int(seen.leave[0])
                ends.append((leave if leave < NEVER else known[1]) + 1)
        period = self.plan.profile.report.period or 0
        return max(ends) + period if ends else None


def _ranks(grid: Grid, times: Times) -> tuple[Times, Times]:
    since = times - grid.first_close
    lo = np.maximum(0, since // grid.step + 1)
    hi = np.maximum(0, (since + grid.width) // grid.step + 1)
    return lo, hi
