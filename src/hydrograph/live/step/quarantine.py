"""Quarantine of elements with implausible times (A8).

An element whose time is too far ahead does not advance the watermark. It waits in quarantine until other elements agree
with its time. A few elements wait at most; their rows are stored in the record, so the log can be truncated: otherwise
one clock that is ten years ahead would keep the log for ever. For the same reason an element that is released after the
log was truncated stays in the record for as long as windows show it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from hydrograph.live.step.records import (
    CarriedRows,
    Decision,
    InputBatch,
    Lateness,
    Partition,
    QueryRecord,
    distinct_elements,
    stream_of,
)
from hydrograph.live.step.report_timeline import BEGINNING, Times
from hydrograph.live.step.state import State, StateRun, split_by_seq
from hydrograph.rdf.terms import Iri
from hydrograph.streams.schema import encode_events
from hydrograph.temporal import Instant

MAX_ELEMENTS = 100
"""Elements of a partition in quarantine at most, unless more would have to agree; the oldest are refused."""


@dataclass(frozen=True, slots=True)
class Plausible:
    """Division of the new elements, and of those in quarantine, by whether their times are plausible."""

    held_back: Mapping[Partition, tuple[int, ...]]
    """Elements with implausible times, by `seq`, in the order in which they arrived."""
    refused: Mapping[Partition, tuple[int, ...]]
    """Elements for which the quarantine is full."""
    newest: Mapping[Partition, Instant]
    """The newest plausible time of each partition so far."""
    first: Instant | None
    """The earliest plausible time so far."""


def check_times(state: State, batches: Sequence[InputBatch], before: Decision, lateness: Lateness) -> Plausible:
    """Divide elements by the plausibility of their times (S32, A8)."""
    times: dict[Partition, list[Times]] = {}
    seqs: dict[Partition, list[Times]] = {}
    waiting = [(name, run.events) for name, runs in state.held_back.items() for run in runs]
    for name, events in (*waiting, *((each.name, each.events) for each in batches)):
        if events.num_rows:
            t, seq = distinct_elements(events)
            times.setdefault(name, []).append(t)
            seqs.setdefault(name, []).append(seq)
    joined = {name: np.concatenate(parts) for name, parts in times.items()}
    held_back: dict[Partition, tuple[int, ...]] = {}
    newest, first = dict(before.newest), before.first
    for name, own in joined.items():
        elsewhere = [before.newest[other] for other in before.newest if other != name]
        others = [np.array(elsewhere, np.int64), *(found for other, found in joined.items() if other != name)]
        start = before.newest.get(name, before.watermark)
        limit = latest_plausible_time(own, start, np.concatenate(others), lateness)
        plausible = own <= limit if limit is not None else np.zeros(len(own), bool)
        if not plausible.all():
            held_back[name] = tuple(np.concatenate(seqs[name])[~plausible].tolist())
        if plausible.any():
            newest[name] = max(newest.get(name, BEGINNING), int(own[plausible].max()))
            earliest = int(own[plausible].min())
            first = earliest if first is None else min(first, earliest)
    most = max(MAX_ELEMENTS, lateness.agreeing)
    return Plausible(
        held_back={name: own[-most:] for name, own in held_back.items()},
        refused={name: own[:-most] for name, own in held_back.items() if len(own) > most},
        newest=newest,
        first=first,
    )


def latest_plausible_time(times: Times, start: Instant | None, others: Times, lateness: Lateness) -> Instant | None:
    """Return the latest plausible time of a partition's elements, given in any order; None if there is none.

    Time may jump by `max_ahead` from `start` or from one element to the next; without a `start` the first element is
    plausible. A longer jump is plausible if `others`, times of other partitions, or enough of the elements behind it,
    agree: they lie within `max_ahead` of the first one there.

    >>> strict = Lateness(max_ahead=100, agreeing=2)
    >>> latest_plausible_time(np.array([10, 90, 5_000]), 0, np.array([]), strict)
    90
    >>> latest_plausible_time(np.array([10, 90, 5_000, 5_001, 5_050]), 0, np.array([]), strict)
    5050
    >>> latest_plausible_time(np.array([10, 90, 5_000]), 0, np.array([4_950]), strict)
    5000
    >>> latest_plausible_time(np.array([10, 700, 5_000, 5_001, 5_050, 9_000]), 0, np.array([]), strict)
    5050
    """
    if not len(times):
        return None
    if lateness.max_ahead is None:
        return int(times.max())
    ahead = lateness.max_ahead
    # The first element to arrive is plausible; the earliest in time need not be the first.
    current = int(times[0]) if start is None else start
    in_order = np.sort(times)
    before = np.maximum(np.concatenate(([current], in_order[:-1])), current)
    jumps = np.flatnonzero(in_order > before + ahead).tolist()
    # From the last jump back: a plausible time makes all times before it plausible, single outliers included.
    for jump, behind in reversed([*pairwise([*jumps, len(in_order)])]):
        first = int(in_order[jump])
        together = int(np.searchsorted(in_order, first + ahead, side="right")) - jump
        agrees = bool(len(others)) and bool((np.abs(others - first) <= ahead).any())
        if together > lateness.agreeing or agrees:
            return int(in_order[behind - 1])
    until = jumps[0] if jumps else len(in_order)
    return int(in_order[until - 1]) if until else None


@dataclass(frozen=True, slots=True)
class Admitted:
    """Rows of a batch after the quarantine."""

    waiting: Mapping[Partition, tuple[StateRun, ...]]
    """Rows in quarantine."""
    runs: Mapping[Iri, tuple[StateRun, ...]]
    """Rows that count from this batch on: new ones, and those released from quarantine."""
    refused: Mapping[Partition, Mapping[int, int]]
    """Elements that never count, by `seq`, with their offsets."""


def split_quarantined(state: State, batches: Sequence[InputBatch], record: QueryRecord, decision: Decision) -> Admitted:
    """Divide the new rows, and those in quarantine, as it was decided."""
    runs: dict[Iri, tuple[StateRun, ...]] = {}
    waiting: dict[Partition, tuple[StateRun, ...]] = {}
    refused: dict[Partition, dict[int, int]] = {}

    def admit(name: Partition, events: pa.Table, start: int, *, carried: bool) -> None:
        events, gone = split_by_seq(events, decision.refused.get(name, ()))
        if gone.num_rows:
            refused.setdefault(name, {}).update(dict.fromkeys(gone.column("seq").to_pylist(), start))
        rows, held = split_by_seq(events, decision.held_back.get(name, ()))
        if held.num_rows:
            waiting[name] = (*waiting.get(name, ()), StateRun.of(held, name, start, carried=True))
        if rows.num_rows:
            stream = stream_of(name)
            runs[stream] = (*runs.get(stream, ()), StateRun.of(rows, name, start, carried=carried))

    for name, held_back in state.held_back.items():
        for run in held_back:  # rows that the log still has need not be carried on
            admit(name, run.events, run.start, carried=run.start < record.oldest.get(name, 0))
    for each in batches:
        admit(each.name, each.events, each.start, carried=False)
    return Admitted(waiting, runs, refused)


def carried_rows(state: State) -> tuple[CarriedRows, ...]:
    """Return the rows of a state that the record has to store."""
    released = [(False, run) for runs in state.runs.values() for run in runs if run.carried]
    waiting = [(True, run) for runs in state.held_back.values() for run in runs]
    return tuple(CarriedRows(run.partition, run.start, waits, _rows(run)) for waits, run in (*released, *waiting))


def _rows(run: StateRun) -> tuple[tuple[int, int, str, str, str], ...]:
    columns = [run.events.column(name).to_pylist() for name in ("t", "seq", "s", "p", "o")]
    return tuple(zip(*columns, strict=True))


def restore_carried(state: State, carried: Iterable[CarriedRows]) -> State:
    """Return a state with the rows that a record stores."""
    for each in carried:
        events = pa.Table.from_batches([encode_events([*each.rows])])
        run = StateRun.of(events, each.partition, each.start, carried=True)
        if each.waits:
            waiting = (*state.held_back.get(each.partition, ()), run)
            state = State(state.runs, {**state.held_back, each.partition: waiting})
        else:
            state = state.plus(stream_of(each.partition), [run])
    return state


def recoverable(
    elements: Mapping[Partition, Mapping[int, int]],
    oldest: Mapping[Partition, int],
    carried: Iterable[CarriedRows] = (),
) -> dict[Partition, tuple[tuple[int, int], ...]]:
    """Return the elements that recovery can still find, in the log or among the carried rows."""
    in_record = {(each.partition, row[1]) for each in carried for row in each.rows}
    found = {}
    for name, own in elements.items():
        first = oldest.get(name, 0)
        kept = tuple((seq, start) for seq, start in own.items() if start >= first or (name, seq) in in_record)
        if kept:
            found[name] = kept
    return found
