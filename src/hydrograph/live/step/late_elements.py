"""Classification of late elements (S33): used, late for some reports, late for all, or outside of every window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.inputs import CountVisibility
from hydrograph.live.step.records import ElementCounts, Partition, distinct_elements
from hydrograph.live.step.report_timeline import Flags, ReportTimeline, Times
from hydrograph.live.step.state import StateRun
from hydrograph.rdf.terms import Iri


@dataclass(frozen=True, slots=True)
class _Lateness:
    """Lateness of some elements, over all windows of their stream."""

    kept: Flags
    """In some window, and not late for all reports."""
    late_for_count: Flags
    """Too late for a count window; a subset of `kept`."""
    lost_but_needed: Flags
    """Late for all reports, but recovery would take them for elements of the state."""


@dataclass(slots=True)
class LatenessClassifier:
    """Classifier of new elements: counts each one once and drops those that are late for all of their windows."""

    timeline: ReportTimeline
    settled: int
    """The frontier of settled reports: an element that enters before it is late."""
    needed_behind: int
    """See `state_pruning.needed_behind`."""
    held: dict[Iri, tuple[int, int]]
    """First and last time of an element in each window; extended by the new elements."""
    late: dict[Partition, dict[int, int]]
    """Elements that count windows have left out, by `seq`, with their offsets; extended by the new elements."""
    lost: dict[Partition, dict[int, int]] = field(default_factory=dict)
    """Elements that are dropped although recovery would take them for needed, by `seq`, with their offsets."""
    counts: ElementCounts = field(default_factory=ElementCounts)

    def keep(self, stream: Iri, runs: Sequence[StateRun]) -> list[StateRun]:
        """Return the rows of new elements that some report can show."""
        kept = []
        for run in runs:
            rows = self._keep_rows(stream, run)
            if rows.num_rows:
                kept.append(StateRun.of(rows, run.partition, run.start, carried=run.carried))
        return kept

    def _keep_rows(self, stream: Iri, run: StateRun) -> pa.Table:
        times, seqs = distinct_elements(run.events)
        found = self._classify(stream, times)
        for known, flags in ((self.late, found.late_for_count), (self.lost, found.lost_but_needed)):
            if flags.any():
                known.setdefault(run.partition, {}).update(dict.fromkeys(seqs[flags].tolist(), run.start))
        if found.kept.all():
            return run.events
        return run.events.filter(pc.is_in(run.events.column("seq"), pa.array(seqs[found.kept])))

    def _classify(self, stream: Iri, times: Times) -> _Lateness:
        """Classify elements by their times; count them, and note the times that each window holds."""
        reread = self.timeline.rereads_previous
        inside, dropped, touched, left_out, needed = (np.zeros(len(times), bool) for _ in range(5))
        everywhere = np.ones(len(times), bool)
        plan = self.timeline.plan
        shown = []
        for name in [window.name for window in plan.query.windows if window.stream == stream]:
            assert name is not None
            spans = self.timeline.spans(name, times)
            counted = isinstance(plan.visibilities[name], CountVisibility)
            late, partial = spans.classify_late(self.settled, drop_partial=reread or counted)
            inside |= spans.inside
            touched |= late | partial
            dropped |= late
            everywhere &= late | ~spans.inside
            shown.append((name, spans.inside & ~late))
            needed |= spans.inside & (spans.leave > self.needed_behind)
            if counted:
                left_out |= late
        # A program that compares with the previous report evaluates it again: it must not change.
        lost = inside & (dropped if reread else everywhere)
        partial = inside & touched & ~lost
        used = inside & ~lost & ~partial
        flags = {"used": used, "outside": ~inside, "late_partial": partial, "late_dropped": lost}
        self.counts = self.counts.plus(ElementCounts(**{name: int(each.sum()) for name, each in flags.items()}))
        for name, own in shown:
            self._extend(name, times[own & ~lost])
        return _Lateness(inside & ~lost, left_out & ~lost, lost & needed)

    def _extend(self, window: Iri, times: Times) -> None:
        if len(times):
            first, last = int(times.min()), int(times.max())
            known = self.held.get(window, (first, last))
            self.held[window] = (min(known[0], first), max(known[1], last))
