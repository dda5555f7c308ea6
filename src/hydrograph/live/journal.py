"""The records of live queries in their checkpoint: decisions ahead, outcomes behind, how to go on after anything (A8).

A batch has two files: `begin`, written before any of its units, and `done`, written after all of them. What is torn
is put aside. If results are missing that a record speaks of, the queries go back to the last record whose results
stand, and work off again what was decided since: also which of them ran, and over which static data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hydrograph.errors import RunError
from hydrograph.live.files import Files
from hydrograph.live.record import Batch, Outcome, TornError, read_batch, read_outcome, written

_DIRECTORY = "batches"
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
    _batches: list[int] = field(default_factory=list)

    def begin(self, batch: Batch) -> None:
        """Write down what was decided, before anything is done."""
        self.files.write(_name(batch.number, "begin"), written(batch, self.about))

    def done(self, outcome: Outcome) -> None:
        """Write down what came of it, and forget what is too old."""
        self.files.write(_name(outcome.batch.number, "done"), written(outcome, self.about))
        self._batches.append(outcome.batch.number)
        while len(self._batches) > KEPT:
            old = self._batches.pop(0)
            for kind in ("begin", "done"):
                self.files.remove(_name(old, kind))

    def recover(self, standing: Mapping[str, int]) -> Found:
        """Return where to go on; `standing` is how much of each segment of results is whole."""
        outcomes, batches = self._read()
        self._batches = sorted({*outcomes, *batches})
        good = [number for number, outcome in outcomes.items() if _stands(outcome, standing)]
        decided = {number: each.batch for number, each in outcomes.items()} | batches
        if outcomes and not good and 1 not in decided:
            newest = outcomes[max(outcomes)]
            raise RunError(
                f"results are missing that were written before batch {min(outcomes)}: "
                f"expected {dict(newest.segments)} bytes, got {dict(standing)}; bring the segments back, "
                "or choose another checkpoint and another directory for results"
            )
        last = max(good, default=None)
        outcome = None if last is None else outcomes[last]
        following = []
        number = 1 if last is None else last + 1
        while number in decided:
            following.append(decided[number])
            number += 1
        for batch in decided:
            if batch >= number:  # beyond a gap nothing was ever built on
                raise RunError(f"the checkpoint has no record of batch {number}, but one of batch {batch}")
        return Found(outcome, tuple(following))

    def _read(self) -> tuple[dict[int, Outcome], dict[int, Batch]]:
        outcomes: dict[int, Outcome] = {}
        batches: dict[int, Batch] = {}
        for name in self.files.names(_DIRECTORY):
            number, _, kind = name.partition(".")
            if not number.isdigit() or kind not in ("begin", "done"):
                continue  # nothing of ours
            data = self.files.read(f"{_DIRECTORY}/{name}") or b""
            try:
                if kind == "done":
                    outcomes[int(number)] = read_outcome(data, self.about)
                else:
                    batches[int(number)] = read_batch(data, self.about)
            except TornError:  # whoever wrote it died over it, or it was damaged since: not a record of anything
                self.files.move(f"{_DIRECTORY}/{name}", f"{_QUARANTINE}/{name}")
        return outcomes, batches


def _stands(outcome: Outcome, standing: Mapping[str, int]) -> bool:
    return all(standing.get(name, 0) >= length for name, length in outcome.segments.items())


def _name(batch: int, kind: str) -> str:
    return f"{_DIRECTORY}/{batch:012d}.{kind}"
