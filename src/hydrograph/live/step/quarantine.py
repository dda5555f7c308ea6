"""Elements whose time is not believed (A8): a few are held back, and their rows stand in the record.

A log that had to keep them would be kept from the oldest of them on: one clock that is ten years ahead, and nothing is
ever forgotten. For the same reason those that are believed in the end, when the log may have forgotten them, stay in
the record for as long as windows show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from hydrograph.live.step.input_batch import Partition
from hydrograph.live.step.records import CarriedRows
from hydrograph.live.step.state import State, StateRun
from hydrograph.rdf.terms import Iri
from hydrograph.streams.formats.tnt import batch

MOST = 100
"""Elements of a partition that are held back at most, unless more would have to agree; the oldest give way."""


def stream_of(partition: Partition) -> Iri:
    """Return the stream of a partition.

    >>> stream_of("urn:s 2")
    Iri(value='urn:s')
    """
    return Iri(partition.partition(" ")[0])


def carried_of(state: State) -> tuple[CarriedRows, ...]:
    """Return the rows of a state that a record has to hold."""
    released = [(False, piece) for pieces in state.pieces.values() for piece in pieces if piece.carried]
    waiting = [(True, piece) for pieces in state.held_back.values() for piece in pieces]
    return tuple(
        CarriedRows(piece.partition, piece.start, waits, _rows(piece)) for waits, piece in (*released, *waiting)
    )


def _rows(piece: StateRun) -> tuple[tuple[int, int, str, str, str], ...]:
    columns = [piece.events.column(name).to_pylist() for name in ("t", "seq", "s", "p", "o")]
    return tuple(zip(*columns, strict=True))


def with_carried(state: State, carried: Iterable[CarriedRows]) -> State:
    """Return a state with the rows that a record holds."""
    for each in carried:
        events = pa.Table.from_batches([batch([*each.rows])])
        piece = StateRun.of(events, each.partition, each.start, carried=True)
        if each.waits:
            waiting = (*state.held_back.get(each.partition, ()), piece)
            state = State(state.pieces, {**state.held_back, each.partition: waiting})
        else:
            state = state.plus(stream_of(each.partition), [piece])
    return state


def still_there(
    places: Mapping[Partition, Mapping[int, int]],
    oldest: Mapping[Partition, int],
    carried: Iterable[CarriedRows] = (),
) -> dict[Partition, tuple[tuple[int, int], ...]]:
    """Return those of some elements, by place and offset, that whoever reads the log again finds there, or in hand."""
    in_hand = {(each.partition, row[1]) for each in carried for row in each.rows}
    found = {}
    for name, own in places.items():
        first = oldest.get(name, 0)
        kept = tuple((seq, start) for seq, start in own.items() if start >= first or (name, seq) in in_hand)
        if kept:
            found[name] = kept
    return found
