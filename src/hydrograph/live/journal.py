"""The records of a query in its checkpoint: decisions ahead, outcomes behind, and how to go on after anything (A8).

A batch has two files: `begin`, written before any of its units, and `done`, written after all of them. What is torn
is put aside. If results are missing that a record speaks of, the query goes back to the last record whose results
stand, and works off again what was decided since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hydrograph.errors import RunError
from hydrograph.live.files import Files
from hydrograph.live.record import Decision, Record, TornError, read_decision, read_record, written

_DIRECTORY = "batches"
_QUARANTINE = "quarantine"
KEPT = 16
"""Batches of which the records are kept: so far back the query can go."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where to go on: the last record that stands, and what was decided after it."""

    record: Record | None
    decisions: tuple[Decision, ...] = ()


@dataclass(slots=True)
class Journal:
    """The records below one directory; `about` says what they belong to."""

    files: Files
    about: Mapping[str, Any]
    _batches: list[int] = field(default_factory=list)

    def begin(self, decision: Decision) -> None:
        """Write down what was decided, before anything is done."""
        self.files.write(_name(decision.batch, "begin"), written("begin", decision, self.about))

    def done(self, record: Record) -> None:
        """Write down what came of it, and forget what is too old."""
        batch = record.decision.batch
        self.files.write(_name(batch, "done"), written("done", record, self.about))
        self._batches.append(batch)
        while len(self._batches) > KEPT:
            old = self._batches.pop(0)
            for kind in ("begin", "done"):
                self.files.remove(_name(old, kind))

    def recover(self, standing: Mapping[str, int]) -> Found:
        """Return where to go on; `standing` is how much of each segment of results is whole."""
        records, decisions = self._read()
        self._batches = sorted({*records, *decisions})
        good = [number for number, record in records.items() if _stands(record, standing)]
        decided = {number: each.decision for number, each in records.items()} | decisions
        if records and not good and 1 not in decided:
            newest = records[max(records)]
            raise RunError(
                f"results are missing that were written before batch {min(records)}: "
                f"expected {dict(newest.segments)} bytes, got {dict(standing)}; bring the segments back, "
                "or choose another checkpoint and another directory for results"
            )
        last = max(good, default=None)
        record = None if last is None else records[last]
        following = []
        number = 1 if last is None else last + 1
        while number in decided:
            following.append(decided[number])
            number += 1
        for batch in decided:
            if batch >= number:  # beyond a gap nothing was ever built on
                raise RunError(f"the checkpoint has no record of batch {number}, but one of batch {batch}")
        return Found(record, tuple(following))

    def _read(self) -> tuple[dict[int, Record], dict[int, Decision]]:
        records: dict[int, Record] = {}
        decisions: dict[int, Decision] = {}
        for name in self.files.names(_DIRECTORY):
            number, _, kind = name.partition(".")
            data = self.files.read(f"{_DIRECTORY}/{name}") or b""
            try:
                if kind == "done":
                    records[int(number)] = read_record(data, self.about)
                elif kind == "begin":
                    decisions[int(number)] = read_decision(data, self.about)
            except (TornError, ValueError, KeyError, TypeError):
                self.files.move(f"{_DIRECTORY}/{name}", f"{_QUARANTINE}/{name}")
        return records, decisions


def _stands(record: Record, standing: Mapping[str, int]) -> bool:
    return all(standing.get(name, 0) >= length for name, length in record.segments.items())


def _name(batch: int, kind: str) -> str:
    return f"{_DIRECTORY}/{batch:012d}.{kind}"
