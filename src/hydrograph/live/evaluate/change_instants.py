"""Reports that elements make themselves, while they come: each instant is a number, and so are entering and leaving.

Where content change reports (S10, S13), a row is kept with the numbers `[lo, hi)` of the instants at which it is
visible. With the time tick a number is a time. With the tuple tick it is a time and the place of an element among those
of that time, which is known once the time is settled: rows are stamped then, and not before. What ends at a time has
the place before all that enter then (`windows.tick.Moment`).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hydrograph.compile.reporting import Timed
from hydrograph.live.step.report_timeline import ReportTimeline, VisibleSpans
from hydrograph.live.step.watermark import Times
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Instant
from hydrograph.windows.report import When
from hydrograph.windows.tick import Tick

_PLACES = 20
"""Bits for the place among elements of one time; with those of a time since t0 they fit into 63."""
_LATEST = 2**42
Entries: TypeAlias = tuple[Times, Times, Times]


class InstantOverflowError(Exception):
    """Times or places are beyond what numbers can hold; whole windows are evaluated instead."""


@dataclass(frozen=True, slots=True)
class ReportInstants:
    """Some instants in order: their numbers and times, and the element that makes each alone, or -1."""

    numbers: Times
    t: Times
    seq: Times

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.numbers)

    def listed(self) -> list[tuple[int, Instant, int | None]]:
        """Return rank, time and element of each."""
        seqs = [None if seq < 0 else seq for seq in self.seq.tolist()]
        return list(zip(range(len(self)), self.t.tolist(), seqs, strict=True))

    def ranked(self, rows: pa.Table) -> pa.Table:
        """Return the rows that some of these instants show, with ranks among them in place of numbers (S18)."""
        lo = np.searchsorted(self.numbers, rows.column("lo").to_numpy())
        hi = np.searchsorted(self.numbers, rows.column("hi").to_numpy())
        shown = lo < hi
        if not shown.all():
            rows, lo, hi = rows.filter(pa.array(shown)), lo[shown], hi[shown]
        for name, ranks in (("lo", lo), ("hi", hi)):
            at = rows.column_names.index(name)
            rows = rows.set_column(at, name, pa.array(ranks.astype(np.int64)))
        return rows


def why_none(domain: ReportTimeline) -> str | None:
    """Return why the instants of a plan are not numbered here; None where they are."""
    plan = domain.plan
    policy = plan.profile.report
    sights = plan.sights.values()
    if policy.when is not When.CONTENT_CHANGE:
        return "its reports form no grid"
    if not all(isinstance(sight, Timed) for sight in sights):
        return "it has windows that count"
    if policy.non_empty and policy.expiry:
        return "silent instants are not reported"
    if plan.tick is Tick.TUPLE and any(isinstance(sight, Timed) and sight.delay for sight in sights):
        return "elements of a past window enter one by one"
    return None


@dataclass(slots=True)
class ChangeInstants:
    """The instants of a plan whose reports elements make."""

    domain: ReportTimeline
    streams: Mapping[Iri, int]
    """The place of each stream among those of the query, which orders elements of one time."""
    _leaving: list[int] = field(default_factory=list)
    _known: set[int] = field(default_factory=set)

    @property
    def _is_tuple(self) -> bool:
        return self.domain.plan.tick is Tick.TUPLE

    def number(self, t: Instant) -> int:
        """Return the number of the instant at which a time begins."""
        if not self._is_tuple:
            return t
        return max(0, min(t - self.domain.plan.t0, _LATEST)) << _PLACES

    def _numbers(self, t: Times) -> Times:
        if not self._is_tuple:
            return t
        since = t - self.domain.plan.t0
        if len(since) and int(since.max()) >= _LATEST:
            raise InstantOverflowError("an element lies more than a century behind the first")
        return np.maximum(since, 0) << _PLACES

    def is_settled(self, window: Iri, t: Times, behind: Instant) -> npt.NDArray[np.bool_]:
        """Tell which elements enter before a time; with the tuple tick the same for all windows over a stream."""
        settled: npt.NDArray[np.bool_] = self.domain.seen(window, t).enter < behind
        return settled

    def entries(self, window: Iri, events: pa.Table, enter: Times, inside: npt.NDArray[np.bool_]) -> Entries:
        """Return number, time and element of each entry."""
        sight = self.domain.plan.sights[window]
        assert isinstance(sight, Timed)
        t = events.column("t").to_numpy()[inside] + sight.delay
        return enter[inside], t, events.column("seq").to_numpy()[inside]

    def places(self, due: Mapping[Iri, pa.Table]) -> dict[Iri, Times]:
        """Return the place of each row's element among all those of its time, from 1 on; none with the time tick."""
        if not self._is_tuple:
            return {}
        elements: list[Entries] = []
        rows = {}
        for stream, events in due.items():
            seq, at, back = np.unique(events.column("seq").to_numpy(), return_index=True, return_inverse=True)
            t = events.column("t").to_numpy()[at]
            rows[stream] = (sum(len(each[0]) for each in elements), back)
            elements.append((t, np.full(len(t), self.streams[stream], np.int64), seq))
        t, stream_rank, seq = (np.concatenate([each[place] for each in elements]) for place in range(3))
        order = np.lexsort((seq, stream_rank, t))
        ordered = t[order]
        first = np.searchsorted(ordered, ordered)
        place = np.empty(len(t), np.int64)
        place[order] = np.arange(len(t)) - first + 1
        if len(place) and int(place.max()) >= 1 << _PLACES:
            raise InstantOverflowError("more than a million elements have one time")
        return {stream: place[start + back] for stream, (start, back) in rows.items()}

    def stamped(self, window: Iri, t: Times, places: Times | None, start: Instant) -> tuple[VisibleSpans, Times]:
        """Return the numbers at which a window shows elements, none before `start`; and when they really enter.

        An element that came too late counts from there on (S33), as if it had entered then. One that leaves at `start`
        is shown no more, but that it leaves may have to be reported.
        """
        seen = self.domain.seen(window, t)
        enter = self._numbers(seen.enter)
        if places is not None:
            enter = enter + places
        leave = self._numbers(seen.leave)
        first = self.number(start)
        there = leave >= first if self.domain.reports_leaving else leave > first
        return VisibleSpans(np.maximum(enter, first), leave, seen.inside & there), enter

    def reports(self, entries: list[Entries], stretch: tuple[Instant, Instant]) -> ReportInstants:
        """Return the instants between two times: those of entries (number, time, element) and of what leaves."""
        first, behind = map(self.number, stretch)
        number = np.concatenate([each[0] for each in entries])
        t = np.concatenate([each[1] for each in entries])
        seq = np.concatenate([each[2] for each in entries])
        if not self._is_tuple:
            seq = np.full(len(seq), -1)
        inside = (number >= first) & (number < behind)
        left = self._left(behind)
        number = np.concatenate((number[inside], left))
        t = np.concatenate((t[inside], self._times(left)))
        seq = np.concatenate((seq[inside], np.full(len(left), -1)))
        number, at = np.unique(number, return_index=True)
        return ReportInstants(number, t[at], seq[at])

    def _times(self, borders: Times) -> Times:
        return (borders >> _PLACES) + self.domain.plan.t0 if self._is_tuple else borders

    def leaving(self, numbers: Times) -> None:
        """Note when elements leave, where that is reported."""
        if self.domain.reports_leaving:
            for number in np.unique(numbers).tolist():
                if number not in self._known:
                    self._known.add(number)
                    heapq.heappush(self._leaving, number)

    def _left(self, behind: int) -> Times:
        found = []
        while self._leaving and self._leaving[0] < behind:
            found.append(heapq.heappop(self._leaving))
        self._known.difference_update(found)
        return np.array(found, np.int64)

    def begin(self) -> None:
        """Forget everything."""
        self._leaving.clear()
        self._known.clear()
