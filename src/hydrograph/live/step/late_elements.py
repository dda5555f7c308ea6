"""What becomes of new elements: each is counted once, and kept unless it is late for all of its windows (S33)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.reporting import Counted
from hydrograph.live.evaluate.whole_windows import Evaluator
from hydrograph.live.step.input_batch import Partition
from hydrograph.live.step.records import ElementCounts
from hydrograph.live.step.state import StateRun, elements_of
from hydrograph.live.step.watermark import Times
from hydrograph.rdf.terms import Iri


@dataclass(slots=True)
class LatenessClassifier:
    """What has become of new elements: counted once each, late ones left out (S33)."""

    evaluator: Evaluator
    settled: int
    needed_behind: int
    """See `retention`."""
    held: dict[Iri, tuple[int, int]]
    late: dict[Partition, dict[int, int]]
    """Places and offsets of elements that windows which count have left out."""
    lost: dict[Partition, dict[int, int]] = field(default_factory=dict)
    """Those of elements that are left out everywhere, and that whoever reads the log again would take for needed."""
    counts: ElementCounts = field(default_factory=ElementCounts)

    def pieces(self, stream: Iri, pieces: Sequence[StateRun]) -> list[StateRun]:
        """Return what is to be kept of some pieces."""
        kept = []
        for piece in pieces:
            rows = self._rows(stream, piece)
            if rows.num_rows:
                kept.append(StateRun.of(rows, piece.partition, piece.start, carried=piece.carried))
        return kept

    def _rows(self, stream: Iri, piece: StateRun) -> pa.Table:
        events = piece.events
        times, places = elements_of(events)
        whole = self.evaluator.whole
        inside, dropped, touched, left_out, needed = (np.zeros(len(times), bool) for _ in range(5))
        everywhere = np.ones(len(times), bool)
        windows = [w.name for w in self.evaluator.plan.query.windows if w.stream == stream and w.name is not None]
        views = []
        for name in windows:
            seen = self.evaluator.domain.seen(name, times)
            counted = isinstance(self.evaluator.plan.sights[name], Counted)
            gone, part = seen.late(self.settled, whole=whole or counted)
            inside |= seen.inside
            touched |= gone | part
            dropped |= gone
            everywhere &= gone | ~seen.inside
            views.append((name, seen.inside & ~gone))
            needed |= seen.inside & (seen.leave > self.needed_behind)
            if counted:
                left_out |= gone
        if whole:
            everywhere = dropped.copy()
        lost = inside & everywhere
        partial = inside & touched & ~lost
        used = inside & ~lost & ~partial
        numbers = {"used": used, "outside": ~inside, "late_partial": partial, "late_dropped": lost}
        self.counts = self.counts.plus(ElementCounts(**{name: int(flags.sum()) for name, flags in numbers.items()}))
        for name, shown in views:
            self._hold(name, times[shown & ~lost])
        for known, flags in ((self.late, left_out & ~lost), (self.lost, lost & needed)):
            if flags.any():
                known.setdefault(piece.partition, {}).update(dict.fromkeys(places[flags].tolist(), piece.start))
        keep = inside & ~lost
        return events if keep.all() else events.filter(pc.is_in(events.column("seq"), pa.array(places[keep])))

    def _hold(self, window: Iri, times: Times) -> None:
        if len(times):
            first, last = int(times.min()), int(times.max())
            known = self.held.get(window, (first, last))
            self.held[window] = (min(known[0], first), max(known[1], last))
