"""Change instants: reports that elements make by entering or leaving a window, numbered while elements arrive.

Where content change makes reports (S10, S13), a row is kept with the numbers `[lo, hi)` of the instants at which it is
visible. With the time tick a number is a time. With the tuple tick it combines a time with the position of an element
among those of that time. The position is known once the time is settled, so rows are stamped no earlier. Elements that
leave at a time come before all that enter then (`windows.tick.Moment`).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from hydrograph.compile.inputs import TimeVisibility
from hydrograph.live.evaluate.report_numbering import DueReports, StampedRows, Timing, Windows
from hydrograph.live.step.evaluation import ReportRequest
from hydrograph.live.step.report_timeline import ReportTimeline, Times, VisibleSpans
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.temporal import Instant
from hydrograph.windows.report import When
from hydrograph.windows.tick import Tick

_POSITION_BITS = 20
"""Bits for the position among elements of one time; with those of a time since t0 they fit into 63."""
_LATEST = 2**42
_Entries: TypeAlias = tuple[Times, Times, Times]
"""Number, time and element of each entry into a window."""


class IncrementalLimitError(Exception):
    """Limit of incremental evaluation; whole windows are evaluated from here on, with this message as the reason."""


class ReportInstants:
    """Change instants that are due: their numbers and times, and the single element that makes each, or -1."""

    def __init__(self, numbers: Times, t: Times, seq: Times) -> None:
        """Take instants in order."""
        self._numbers = numbers
        self._t = t
        self._seq = seq
        self.ranks = ReportRanks(0, len(numbers))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._numbers)

    def timings(self) -> list[Timing]:
        """Return rank, time and element of each."""
        seqs = [None if seq < 0 else seq for seq in self._seq.tolist()]
        return list(zip(range(len(self)), self._t.tolist(), seqs, strict=True))

    def numbers(self) -> Sequence[int]:
        """Return the number of each."""
        numbers: list[int] = self._numbers.tolist()
        return numbers

    def rank_rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows that some of these instants show, with ranks among them in place of numbers (S18)."""
        lo = np.searchsorted(self._numbers, rows.column("lo").to_numpy())
        hi = np.searchsorted(self._numbers, rows.column("hi").to_numpy())
        shown = lo < hi
        if not shown.all():
            rows, lo, hi = rows.filter(pa.array(shown)), lo[shown], hi[shown]
        for name, ranks in (("lo", lo), ("hi", hi)):
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, pa.array(ranks.astype(np.int64)))
        return rows


def _no_instants() -> ReportInstants:
    empty = np.array([], np.int64)
    return ReportInstants(empty, empty, empty)


def why_not_numbered(timeline: ReportTimeline) -> str | None:
    """Return the reason why change instants of a plan cannot be numbered; None where they can."""
    plan = timeline.plan
    policy = plan.profile.report
    visibilities = plan.visibilities.values()
    if policy.when is not When.CONTENT_CHANGE:
        return "its reports form no grid"
    if not all(isinstance(each, TimeVisibility) for each in visibilities):
        return "it has count windows"
    if policy.non_empty and policy.expiry:
        return "empty instants are not reported"
    if plan.tick is Tick.TUPLE and any(isinstance(each, TimeVisibility) and each.delay for each in visibilities):
        return "elements of a past window enter one by one"
    return None


class ChangeInstants:
    """Numbering of the reports that elements make."""

    can_stamp_early: ClassVar = False

    def __init__(self, timeline: ReportTimeline, windows: Windows) -> None:
        """Begin before the first element."""
        self._timeline = timeline
        self._windows = windows
        streams = dict.fromkeys(window.stream for window in timeline.plan.query.windows)
        self._stream_ranks = {stream: rank for rank, stream in enumerate(streams)}
        """The rank of each stream among those of the query, which orders elements of one time."""
        self._is_tuple = timeline.plan.tick is Tick.TUPLE
        self._leaving: list[int] = []
        """Heap of the numbers at which elements leave, where that is reported."""
        self._known: set[int] = set()
        self._due = _no_instants()

    def restart(self) -> None:
        """Forget all rows that were stamped."""
        self._leaving.clear()
        self._known.clear()
        self._due = _no_instants()

    def number(self, frontier: Instant) -> int:
        """Return the number of the instant at which a time begins."""
        if not self._is_tuple:
            return frontier
        return max(0, min(frontier - self._timeline.plan.t0, _LATEST)) << _POSITION_BITS

    def _numbers(self, t: Times) -> Times:
        if not self._is_tuple:
            return t
        since = t - self._timeline.plan.t0
        if len(since) and int(since.max()) >= _LATEST:
            raise IncrementalLimitError("an element is more than a century after the first")
        return np.maximum(since, 0) << _POSITION_BITS

    def stamp(
        self, waiting: Mapping[str, pa.Table], frontiers: tuple[int, int]
    ) -> tuple[dict[str, StampedRows], dict[str, pa.Table]]:
        """Stamp rows whose time is settled; the others wait on."""
        start, end = frontiers
        settled: dict[str, pa.Table] = {}
        left: dict[str, pa.Table] = {}
        for table, events in waiting.items():
            # With the tuple tick an element has its position only when all elements of its time are there.
            ready = self._timeline.spans(self._windows[table][0], events.column("t").to_numpy()).enter < end
            settled[table] = events if ready.all() else events.filter(pa.array(ready))
            left[table] = events.slice(0, 0) if ready.all() else events.filter(pa.array(~ready))
        positions = self.positions({self._windows[table][1]: events for table, events in settled.items()})
        entries: list[_Entries] = []
        stamped = {}
        for table, events in settled.items():
            window, stream = self._windows[table]
            t = events.column("t").to_numpy()
            spans, enter = self._spans(window, t, positions.get(stream, np.zeros(len(t), np.int64)), start)
            visibility = self._timeline.plan.visibilities[window]
            assert isinstance(visibility, TimeVisibility)
            seq = events.column("seq").to_numpy()
            entries.append((enter[spans.inside], t[spans.inside] + visibility.delay, seq[spans.inside]))
            self._note_leaving(spans.leave[spans.inside])
            stamped[table] = StampedRows(events, spans, enter)
        self._due = self._instants(entries, start, end)
        return stamped, left

    def due(self, request: ReportRequest) -> DueReports:
        """Return the instants that the rows which were stamped last have made."""
        del request
        return self._due

    def positions(self, settled: Mapping[Iri, pa.Table]) -> dict[Iri, Times]:
        """Return the position of each row's element among all those of its time, from 1 on; none with the time tick."""
        if not self._is_tuple:
            return {}
        elements: list[_Entries] = []
        rows = {}
        for stream, events in settled.items():
            seq, at, back = np.unique(events.column("seq").to_numpy(), return_index=True, return_inverse=True)
            t = events.column("t").to_numpy()[at]
            rows[stream] = (sum(len(each[0]) for each in elements), back)
            elements.append((t, np.full(len(t), self._stream_ranks[stream], np.int64), seq))
        t, stream_rank, seq = (np.concatenate([each[place] for each in elements]) for place in range(3))
        order = np.lexsort((seq, stream_rank, t))
        ordered = t[order]
        first = np.searchsorted(ordered, ordered)
        position = np.empty(len(t), np.int64)
        position[order] = np.arange(len(t)) - first + 1
        if len(position) and int(position.max()) >= 1 << _POSITION_BITS:
            raise IncrementalLimitError("more than a million elements have one time")
        return {stream: position[start + back] for stream, (start, back) in rows.items()}

    def _spans(self, window: Iri, t: Times, positions: Times, start: Instant) -> tuple[VisibleSpans, Times]:
        """Return the numbers at which a window shows elements, none before `start`, and those at which they enter.

        A late element counts from `start` on (S33), as if it had entered then. One that leaves at `start` is not shown
        any more, but its leaving may have to be reported.
        """
        spans = self._timeline.spans(window, t)
        enter = self._numbers(spans.enter) + positions
        leave = self._numbers(spans.leave)
        first = self.number(start)
        visible = leave >= first if self._timeline.reports_leaving else leave > first
        return VisibleSpans(np.maximum(enter, first), leave, spans.inside & visible), enter

    def _instants(self, entries: list[_Entries], start: Instant, end: Instant) -> ReportInstants:
        """Return the instants between two times: those of entries, and those at which elements leave."""
        first, behind = self.number(start), self.number(end)
        number = np.concatenate([each[0] for each in entries])
        t = np.concatenate([each[1] for each in entries])
        seq = np.concatenate([each[2] for each in entries])
        if not self._is_tuple:
            seq = np.full(len(seq), -1)
        inside = (number >= first) & (number < behind)
        left = self.pop_leaving(behind)
        number = np.concatenate((number[inside], left))
        t = np.concatenate((t[inside], self._times(left)))
        seq = np.concatenate((seq[inside], np.full(len(left), -1)))
        number, at = np.unique(number, return_index=True)
        return ReportInstants(number, t[at], seq[at])

    def _times(self, numbers: Times) -> Times:
        return (numbers >> _POSITION_BITS) + self._timeline.plan.t0 if self._is_tuple else numbers

    def _note_leaving(self, numbers: Times) -> None:
        """Remember when elements leave, where that is reported."""
        if self._timeline.reports_leaving:
            for number in np.unique(numbers).tolist():
                if number not in self._known:
                    self._known.add(number)
                    heapq.heappush(self._leaving, number)

    def pop_leaving(self, behind: int) -> Times:
        """Return the numbers before `behind` at which elements leave, once each."""
        found = []
        while self._leaving and self._leaving[0] < behind:
            found.append(heapq.heappop(self._leaving))
        self._known.difference_update(found)
        return np.array(found, np.int64)
