"""Windows that count, while elements come: a table begins where nobody can see what is before, and says how much is."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.reporting import Counted, Unit
from hydrograph.live.step.records import CountWindowStart
from hydrograph.temporal import Instant


def cut_table(rows: pa.Table, cut: CountWindowStart | None, late: Collection[int]) -> pa.Table:
    """Return the rows behind a cut, without those of elements that came too late to be counted."""
    if late:
        rows = rows.filter(pc.invert(pc.is_in(rows.column("seq"), pa.array(sorted(late), pa.int64()))))
    if cut is None:
        return rows
    behind = (pc.field("t") > cut.t) | ((pc.field("t") == cut.t) & (pc.field("seq") > cut.seq))
    return rows.filter(behind)


def next_cut(
    rows: pa.Table, counted: Counted, cut: CountWindowStart | None, t0: Instant, frontier: Instant
) -> CountWindowStart | None:
    """Return the last element that no report from `frontier` on can show; None if that is the one before still.

    An element leaves where enough newer ones have come and a multiple of the slide is passed, which is at most one
    slide later.
    """
    rows = rows.filter((pc.field("t") >= t0) & (pc.field("t") < frontier))
    if not rows.num_rows:
        return None
    if counted.unit is Unit.TRIPLES:
        keys = ["t", "seq"]
        units = rows.select([*keys, "s_id", "p_id", "o_id"]).group_by([*keys, "s_id", "p_id", "o_id"]).aggregate([])
        units = units.group_by(keys).aggregate([([], "count_all")])
        own = units.column("count_all").to_numpy()
    else:
        keys = ["t"] if counted.unit is Unit.TIMES else ["t", "seq"]
        units = rows.select(keys).group_by(keys).aggregate([])
        own = np.ones(units.num_rows, np.int64)
    t = units.column("t").to_numpy()
    seq = units.column("seq").to_numpy() if "seq" in keys else np.full(len(t), 2**62)
    order = np.lexsort((seq, t))
    upto = np.cumsum(own[order]) + (0 if cut is None else cut.units)
    gone = np.flatnonzero(upto + counted.size + counted.slide <= upto[-1])
    if not len(gone):
        return None
    at = int(gone[-1])
    place = order[at]
    return CountWindowStart(t=int(t[place]), seq=int(seq[place]), units=int(upto[at]))
