"""State of a live query (S35): the rows that a future report can show, and those in quarantine.

Rows that arrived together form a run, and a run is dropped as a whole once none of its rows is needed. Small runs are
compacted as in a log-structured merge tree: `merge_newest` is a size-tiered merge, which copies each row a logarithmic
number of times. The deltas of incremental evaluation are stored the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.live.step.records import Partition
from hydrograph.rdf.terms import Iri
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

_T = TypeVar("_T")
_MAX_RUNS = 24
"""Runs of a stream after which neighbours are merged."""
_SMALL_RUN = 256
"""Rows up to which a run may always grow."""
_CONTIGUOUS = 65_536
"""Rows up to which a merged run is copied into one block of memory; larger ones are only concatenated."""
_SHARE = 8
"""A run grows to one part in so many of all rows at most: about as much is kept for longer than it is needed."""


def merge_newest(runs: list[_T], size: Callable[[_T], int], merge: Callable[[_T, _T], _T], least: int) -> None:
    """Merge the newest runs while they are similar in size and below the cap.

    The cap is a share of all rows, and at least `least`. Without it the oldest run would absorb all others and never be
    dropped.
    """
    most = max(least, sum(map(size, runs)) // _SHARE)
    while len(runs) > 1 and size(runs[-2]) <= 2 * size(runs[-1]) and size(runs[-2]) + size(runs[-1]) <= most:
        newest = runs.pop()
        runs.append(merge(runs.pop(), newest))


@dataclass(frozen=True, slots=True)
class StateRun:
    """Rows of one partition that arrived together, with the offset of the first in its log."""

    events: pa.Table
    partition: Partition
    start: int
    newest: Instant
    carried: bool = False
    """True if the rows are stored in the record, because the log may have been truncated behind them."""

    @classmethod
    def of(cls, events: pa.Table, partition: Partition, start: int, *, carried: bool = False) -> StateRun:
        """Return the rows as a run."""
        return cls(events, partition, start, int(pc.max(events.column("t")).as_py()), carried)


@dataclass(frozen=True, slots=True)
class State:
    """Rows by stream, in the order of arrival, and those in quarantine by partition."""

    runs: Mapping[Iri, tuple[StateRun, ...]] = field(default_factory=dict)
    held_back: Mapping[Partition, tuple[StateRun, ...]] = field(default_factory=dict)

    def rows(self, stream: Iri) -> pa.Table:
        """Return all rows of a stream."""
        tables = [run.events for run in self.runs.get(stream, ())]
        return pa.concat_tables(tables) if tables else EVENTS.empty_table()

    @property
    def size(self) -> int:
        """The number of rows."""
        every = [*self.runs.values(), *self.held_back.values()]
        return sum(run.events.num_rows for runs in every for run in runs)

    def plus(self, stream: Iri, runs: Iterable[StateRun]) -> State:
        """Return the state with further runs."""
        return State({**self.runs, stream: (*self.runs.get(stream, ()), *runs)}, self.held_back)

    def prune(self, needed_from: Mapping[Iri, Instant | None]) -> State:
        """Return the state without runs before the time from which each stream is needed; None needs all."""
        kept = {}
        for stream, runs in self.runs.items():
            first = needed_from.get(stream)
            kept[stream] = runs if first is None else tuple(run for run in runs if run.newest >= first)
            if len(kept[stream]) > _MAX_RUNS:
                kept[stream] = _compact(kept[stream])
        return State(kept, self.held_back)

    def oldest(self, ends: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return, for each partition, the offset of the oldest row that is needed; its read offset if none is.

        Rows in quarantine are not read from the log: they are stored in the record.
        """
        found = dict(ends)
        for run in (run for runs in self.runs.values() for run in runs if not run.carried):
            found[run.partition] = min(found.get(run.partition, run.start), run.start)
        return found


def _compact(runs: tuple[StateRun, ...]) -> tuple[StateRun, ...]:
    """Return the runs of each partition with neighbours of similar size merged."""
    compacted: list[StateRun] = []
    for kind in dict.fromkeys((run.partition, run.carried) for run in runs):
        own: list[StateRun] = []
        for run in runs:
            if (run.partition, run.carried) == kind:
                own.append(run)
                merge_newest(own, lambda each: each.events.num_rows, _merge, _SMALL_RUN)
        compacted += own
    return tuple(compacted)


def _merge(one: StateRun, other: StateRun) -> StateRun:
    events = concat_rows(one.events, other.events)
    return StateRun(events, one.partition, min(one.start, other.start), max(one.newest, other.newest), one.carried)


def concat_rows(one: pa.Table, other: pa.Table) -> pa.Table:
    """Return the rows of two tables, in one block of memory if they are few."""
    rows = pa.concat_tables([one, other])
    return rows.combine_chunks() if rows.num_rows <= _CONTIGUOUS else rows


def split_by_seq(events: pa.Table, seqs: tuple[int, ...]) -> tuple[pa.Table, pa.Table]:
    """Return the rows of all other elements, and those of the elements with some `seq`."""
    if not seqs:
        return events, events.slice(0, 0)
    chosen = pc.is_in(events.column("seq"), pa.array(seqs, pa.int64()))
    return events.filter(pc.invert(chosen)), events.filter(chosen)
