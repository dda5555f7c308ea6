"""The rows that are still needed (S35): those of elements that some report to come can show, and those held back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.live.step.input_batch import Partition
from hydrograph.live.step.size_tiered_merge import merge_newest
from hydrograph.rdf.terms import Iri
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

_PIECES = 24
"""Pieces of a stream after which neighbours are made one."""
_LEAST = 256
"""Rows up to which a piece may always grow."""
_SMALL = 65_536
"""Rows up to which a piece is copied into one block of memory; larger ones are only strung together."""


@dataclass(frozen=True, slots=True)
class StateRun:
    """Rows that came together, and the offset in the log of their partition at which they begin."""

    events: pa.Table
    partition: Partition
    start: int
    newest: Instant
    carried: bool = False
    """Whether the rows stand in the record, because the log may have forgotten them."""

    @classmethod
    def of(cls, events: pa.Table, partition: Partition, start: int, *, carried: bool = False) -> StateRun:
        """Return the rows as a piece."""
        return cls(events, partition, start, int(pc.max(events.column("t")).as_py()), carried)


@dataclass(frozen=True, slots=True)
class State:
    """The rows by stream, in the order in which they came, and those that are held back by partition."""

    pieces: Mapping[Iri, tuple[StateRun, ...]] = field(default_factory=dict)
    held_back: Mapping[Partition, tuple[StateRun, ...]] = field(default_factory=dict)

    def rows(self, stream: Iri) -> pa.Table:
        """Return all rows of a stream."""
        found = [piece.events for piece in self.pieces.get(stream, ())]
        return pa.concat_tables(found) if found else EVENTS.empty_table()

    @property
    def size(self) -> int:
        """How many rows there are."""
        every = [*self.pieces.values(), *self.held_back.values()]
        return sum(piece.events.num_rows for pieces in every for piece in pieces)

    def plus(self, stream: Iri, pieces: Iterable[StateRun]) -> State:
        """Return the state with further pieces."""
        return State({**self.pieces, stream: (*self.pieces.get(stream, ()), *pieces)}, self.held_back)

    def pruned(self, needed_from: Mapping[Iri, Instant | None]) -> State:
        """Return the state without rows before the time from which each stream is needed; None needs all."""
        kept = {}
        for stream, pieces in self.pieces.items():
            first = needed_from.get(stream)
            kept[stream] = pieces if first is None else tuple(piece for piece in pieces if piece.newest >= first)
            if len(kept[stream]) > _PIECES:
                kept[stream] = _merged(kept[stream])
        return State(kept, self.held_back)

    def oldest(self, ends: Mapping[Partition, int]) -> dict[Partition, int]:
        """Return, for each partition, the offset of the oldest row that is needed; where it was read to if none is.

        What is held back is not looked for in the log: it stands in the record, see `quarantine`.
        """
        found = dict(ends)
        for piece in (piece for pieces in self.pieces.values() for piece in pieces if not piece.carried):
            found[piece.partition] = min(found.get(piece.partition, piece.start), piece.start)
        return found


def _merged(pieces: tuple[StateRun, ...]) -> tuple[StateRun, ...]:
    """Return the pieces of each partition with neighbours of like size as one."""
    merged: list[StateRun] = []
    for kind in dict.fromkeys((piece.partition, piece.carried) for piece in pieces):
        own: list[StateRun] = []
        for piece in pieces:
            if (piece.partition, piece.carried) == kind:
                own.append(piece)
                merge_newest(own, lambda each: each.events.num_rows, _both, _LEAST)
        merged += own
    return tuple(merged)


def _both(one: StateRun, other: StateRun) -> StateRun:
    events = pa.concat_tables([one.events, other.events])
    if events.num_rows <= _SMALL:
        events = events.combine_chunks()
    return StateRun(events, one.partition, min(one.start, other.start), max(one.newest, other.newest), one.carried)


def split_by_seq(events: pa.Table, places: tuple[int, ...]) -> tuple[pa.Table, pa.Table]:
    """Return the rows without those of elements at some places in the log, and those."""
    if not places:
        return events, events.slice(0, 0)
    found = pc.is_in(events.column("seq"), pa.array(places, pa.int64()))
    return events.filter(pc.invert(found)), events.filter(found)


def elements_of(events: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return time and place in the log of each element, once."""
    seq = events.column("seq").to_numpy()
    steps = np.diff(seq)
    if (steps >= 0).all():  # in the order of the log, as it is but for what was held back
        at = np.concatenate((np.zeros(min(1, len(seq)), np.int64), np.flatnonzero(steps) + 1))
    else:
        _, at = np.unique(seq, return_index=True)
    return events.column("t").to_numpy()[at], seq[at]
