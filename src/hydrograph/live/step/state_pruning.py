"""State pruning (S35): the rows that no future report can show are dropped.

The rows of a time window are needed from the opening of the first window that is still reported. A count window drops
the elements that no future report can show, and remembers how many units it has counted before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.inputs import AllVisibility, CountUnit, CountVisibility, TimeVisibility
from hydrograph.live.step.records import CountWindowStart, Partition, stream_of
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.live.step.state import State
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Instant


@dataclass(frozen=True, slots=True)
class WindowRows:
    """Rows of each window of a query: those of its stream in a state, without what a count window has dropped."""

    timeline: ReportTimeline
    state: State
    starts: Mapping[str, CountWindowStart]
    """Start of the rows of each count window."""
    late: Mapping[Partition, Mapping[int, int]]
    """Elements that were too late for count windows, by `seq`."""

    def tables(self) -> dict[Iri, pa.Table]:
        """Return the rows of each window; time windows over one stream share a table."""
        windows = self.timeline.plan.query.windows
        streams = {stream: self.state.rows(stream) for stream in dict.fromkeys(each.stream for each in windows)}
        found = {}
        for window in windows:
            assert window.name is not None
            found[window.name] = streams[window.stream]
            if isinstance(self.timeline.plan.visibilities[window.name], CountVisibility):
                found[window.name] = self._counted_rows(window.name, window.stream, streams[window.stream])
        return found

    def units_before(self, window: Iri) -> int:
        """Return how many units a count window has counted before its first row."""
        start = self.starts.get(window.value)
        return 0 if start is None else start.units

    def _counted_rows(self, window: Iri, stream: Iri, rows: pa.Table) -> pa.Table:
        late = [seq for name, own in self.late.items() if stream_of(name) == stream for seq in own]
        return _counted_rows(rows, self.starts.get(window.value), late)

    def next_starts(self, frontier: Instant) -> dict[str, CountWindowStart]:
        """Return where the rows of count windows start, once no report before `frontier` is made any more."""
        plan = self.timeline.plan
        starts = dict(self.starts)
        for window in plan.query.windows:
            assert window.name is not None
            visibility = plan.visibilities[window.name]
            if isinstance(visibility, CountVisibility):
                rows = self._counted_rows(window.name, window.stream, self.state.rows(window.stream))
                later = next_start(rows, visibility, self.starts.get(window.name.value), plan.t0, frontier)
                if later is not None:
                    starts[window.name.value] = later
        return starts


def needed_from(
    timeline: ReportTimeline, frontier: int, starts: Mapping[str, CountWindowStart]
) -> dict[Iri, Instant | None]:
    """Return the earliest time of each stream that a report from `frontier` on can show; None where all are needed."""
    found: dict[Iri, Instant | None] = {}
    for window in timeline.plan.query.windows:
        assert window.name is not None
        first = _needed_by_window(timeline, window.name, frontier, starts)
        if window.stream in found:
            known = found[window.stream]
            found[window.stream] = None if first is None or known is None else min(first, known)
        else:
            found[window.stream] = first
    return found


def _needed_by_window(
    timeline: ReportTimeline, window: Iri, frontier: int, starts: Mapping[str, CountWindowStart]
) -> Instant | None:
    plan = timeline.plan
    match plan.visibilities[window]:
        case TimeVisibility(grid, delay):
            if timeline.by_rank:
                rank = frontier - int(timeline.rereads_previous)
                shift = (grid.first_close - plan.grid.first_close) // plan.grid.step
                return grid.open(rank - shift) - delay
            return frontier - delay - grid.width - grid.step if frontier > BEGINNING else None
        case CountVisibility():
            return starts[window.value].t if window.value in starts else None
        case AllVisibility():
            return None
        case other:
            assert_never(other)


def needed_behind(timeline: ReportTimeline, settled: int, emitted: int) -> int:
    """Return the frontier behind which an element has to leave so that future reports can show it.

    A settled report may still have to be made (A1). Where leaving is reported, that happens at the frontier itself. A
    program that compares with the previous report evaluates that one again.
    """
    if timeline.rereads_previous:
        return min(settled, emitted - 1) if timeline.by_rank else BEGINNING
    return min(settled, emitted) - int(timeline.reports_leaving)


def _counted_rows(rows: pa.Table, start: CountWindowStart | None, late: Collection[int]) -> pa.Table:
    """Return the rows that a count window still counts, without those of elements that arrived too late."""
    if late:
        rows = rows.filter(pc.invert(pc.is_in(rows.column("seq"), pa.array(sorted(late), pa.int64()))))
    if start is None:
        return rows
    behind = (pc.field("t") > start.t) | ((pc.field("t") == start.t) & (pc.field("seq") > start.seq))
    return rows.filter(behind)


def next_start(
    rows: pa.Table, counted: CountVisibility, start: CountWindowStart | None, t0: Instant, frontier: Instant
) -> CountWindowStart | None:
    """Return the last element that no report from `frontier` on can show; None if that has not changed.

    An element leaves once enough newer ones have arrived and a multiple of the slide is passed, which is at most one
    slide later.
    """
    rows = rows.filter((pc.field("t") >= t0) & (pc.field("t") < frontier))
    if not rows.num_rows:
        return None
    if counted.unit is CountUnit.TRIPLES:
        keys = ["t", "seq"]
        units = rows.select([*keys, "s_id", "p_id", "o_id"]).group_by([*keys, "s_id", "p_id", "o_id"]).aggregate([])
        units = units.group_by(keys).aggregate([([], "count_all")])
        own = units.column("count_all").to_numpy()
    else:
        keys = ["t"] if counted.unit is CountUnit.TIMES else ["t", "seq"]
        units = rows.select(keys).group_by(keys).aggregate([])
        own = np.ones(units.num_rows, np.int64)
    t = units.column("t").to_numpy()
    seq = units.column("seq").to_numpy() if "seq" in keys else np.full(len(t), 2**62)
    order = np.lexsort((seq, t))
    upto = np.cumsum(own[order]) + (0 if start is None else start.units)
    gone = np.flatnonzero(upto + counted.size + counted.slide <= upto[-1])
    if not len(gone):
        return None
    last = int(gone[-1])
    place = order[last]
    return CountWindowStart(t=int(t[place]), seq=int(seq[place]), units=int(upto[last]))
