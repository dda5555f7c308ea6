"""The records of live queries in their checkpoint: decisions ahead, outcomes behind, how to go on after anything (A8).

A batch has two files: `begin`, written before any of its units, and `done`, written after all of them. What is torn
is put aside. If results or snapshots are missing that a record speaks of, the queries go back to the last record whose
results stand, and work off again what was decided since: also which of them ran, and over which static data.

The number of the driver's lease is in the name of a file: what a driver that was believed dead still writes stands
beside what its successor has written, and does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hydrograph.errors import RunError
from hydrograph.live.checkpoint import record_reader as records
from hydrograph.live.checkpoint.snapshot_log import Place, SnapshotLog
from hydrograph.live.results.segments import Standing
from hydrograph.live.step.records import Batch, Outcome, written
from hydrograph.live.step.snapshot import NOTHING
from hydrograph.live.storage.files import Files

_QUARANTINE = "quarantine"
KEPT = 16
"""Batches of which the records are kept: so far back the query can go."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where to go on: the last outcome that stands, and what was decided after it."""

    outcome: Outcome | None
    batches: tuple[Batch, ...] = ()


@dataclass(slots=True)
class Journal:
    """The records below one directory; `about` says what they belong to."""

    files: Files
    about: Mapping[str, Any]
    epoch: int = 1
    _names: dict[int, list[str]] = field(default_factory=dict)
    """The files of the batches whose records are kept, in order."""
    _snapshots: SnapshotLog = field(init=False)
    _needed: dict[int, set[str]] = field(default_factory=dict)
    """The files of snapshots that the record of each batch needs."""
    _last: set[str] | None = None

    def __post_init__(self) -> None:
        """Keep snapshots beside the records."""
        self._snapshots = SnapshotLog(self.files, self.epoch)

    def begin(self, batch: Batch) -> None:
        """Write down what was decided, before anything is done."""
        self._write(batch.number, "begin", written(batch, self.about))

    def done(self, outcome: Outcome) -> None:
        """Write down what came of it, and forget what is too old."""
        places = {name: self._snapshots.write(name, record.snapshot) for name, record in outcome.records.items()}
        outcome = replace(outcome, snapshots={name: place for name, place in places.items() if place is not None})
        self._write(outcome.batch.number, "done", written(outcome, self.about))
        while len(self._names) > KEPT:
            oldest = next(iter(self._names))
            self._needed.pop(oldest, None)
            for name in self._names.pop(oldest):
                self.files.remove(name)
        self._forget_snapshots(outcome)

    def _forget_snapshots(self, outcome: Outcome) -> None:
        self._needed[outcome.batch.number] = _files(outcome)
        needed = set().union(*self._needed.values())
        if needed != self._last:
            self._snapshots.keep(needed, outcome.records)
            self._last = needed

    def _write(self, batch: int, kind: str, data: bytes) -> None:
        name = f"{records.DIRECTORY}/{batch:012d}.{self.epoch:08d}.{kind}"
        self.files.write(name, data)
        self._names.setdefault(batch, []).append(name)

    def recover(self, standing: Mapping[str, int]) -> Found:
        """Return where to go on; `standing` is how much of each segment of results is whole, or how long they are."""
        outcomes, batches = self._read()
        if isinstance(standing, Standing):
            for number, each in outcomes.items():
                outcomes[number] = replace(each, segments=standing.each_named(each.segments))
            # From the first batch on everything can be worked off again, whatever is damaged.
            from_first = 1 in batches or 1 in outcomes
            standing = standing.whole({} if from_first or not outcomes else outcomes[min(outcomes)].segments)
        good = [number for number, outcome in outcomes.items() if self._stands(outcome, standing)]
        # What came of a batch knows better than what was decided: a query may have failed in it.
        decided = batches | {number: each.batch for number, each in outcomes.items()}
        if outcomes and not good and 1 not in decided:
            raise RunError(
                f"results are missing that were written before batch {min(outcomes)}: "
                f"{_short(outcomes[min(outcomes)], standing)}; bring the segments back, "
                "or choose another checkpoint and another directory for results"
            )
        last = max(good, default=None)
        outcome = None if last is None else self._with_snapshots(outcomes[last])
        self._needed = {number: _files(each) for number, each in outcomes.items()}
        following = []
        number = 1 if last is None else last + 1
        while number in decided:
            following.append(decided[number])
            number += 1
        for batch in decided:
            if batch >= number:  # beyond a gap nothing was ever built on
                raise RunError(f"the checkpoint has no record of batch {number}, but one of batch {batch}")
        return Found(outcome, tuple(following))

    def _stands(self, outcome: Outcome, standing: Mapping[str, int]) -> bool:
        whole = all(standing.get(name, 0) >= length for name, length in outcome.segments.items())
        return whole and all(self._snapshots.stands(Place(*place)) for place in outcome.snapshots.values())

    def _with_snapshots(self, outcome: Outcome) -> Outcome:
        read = {name: self._snapshots.read(Place(*place)) for name, place in outcome.snapshots.items()}
        records = {name: replace(each, snapshot=read.get(name, NOTHING)) for name, each in outcome.records.items()}
        return replace(outcome, records=records)

    def _read(self) -> tuple[dict[int, Outcome], dict[int, Batch]]:
        outcomes: dict[int, Outcome] = {}
        batches: dict[int, Batch] = {}
        writer: dict[int, int] = {}
        for each in records.standing(self.files, self.about):
            batch, epoch = each.batch, each.epoch
            if each.said is None:
                self.files.move(each.name, f"{_QUARANTINE}/{each.name.removeprefix(f'{records.DIRECTORY}/')}")
                continue
            self._names.setdefault(batch, []).append(each.name)
            if writer.get(batch, epoch) != epoch:  # names are in order: this driver came later
                outcomes.pop(batch, None)
                batches.pop(batch, None)
            writer[batch] = epoch
            if isinstance(each.said, Outcome):
                outcomes[batch] = each.said
            else:
                batches[batch] = each.said
        return outcomes, batches


def _short(outcome: Outcome, standing: Mapping[str, int]) -> str:
    """Return which segments are shorter than a record says; snapshots may be, too."""
    found = [
        f"expected {length} bytes of {name}, got {standing.get(name, 0)}"
        for name, length in sorted(outcome.segments.items())
        if standing.get(name, 0) < length
    ]
    return "; ".join(found[:3]) or "expected the snapshots in the checkpoint, got damaged ones"


def _files(outcome: Outcome) -> set[str]:
    return {file for file, _ in outcome.snapshots.values()}
