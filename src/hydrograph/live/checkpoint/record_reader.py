"""The records that stand in a checkpoint, only looked at: nothing is moved or written.

So a start can be refused before it takes the checkpoint from a driver that runs well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hydrograph.live.step.records import Batch, Outcome, TornError, read_batch, read_outcome
from hydrograph.live.storage.files import Files

DIRECTORY = "batches"


@dataclass(frozen=True, slots=True)
class Standing:
    """A file of a batch, and what it says; None where it is torn."""

    name: str
    batch: int
    epoch: int
    """The driver that wrote it."""
    said: Batch | Outcome | None


def standing(files: Files, about: Mapping[str, Any]) -> Iterator[Standing]:
    """Return the records of a checkpoint in the order of batches, of drivers, and of what is ahead and behind.

    Raise RunError if one is written in another form, or does not belong to what `about` says.
    """
    for name in files.names(DIRECTORY):
        match name.split("."):
            case number, epoch, ("begin" | "done") as kind if number.isdigit() and epoch.isdigit():
                data = files.read(f"{DIRECTORY}/{name}") or b""
                said: Batch | Outcome | None
                try:
                    said = read_outcome(data, about) if kind == "done" else read_batch(data, about)
                except TornError:  # whoever wrote it died over it, or it was damaged since: not a record of anything
                    said = None
                yield Standing(f"{DIRECTORY}/{name}", int(number), int(epoch), said)
            case _:
                continue  # nothing of ours


def newest(files: Files, about: Mapping[str, Any]) -> Batch | None:
    """Return the last batch that a checkpoint speaks of; None if there is none."""
    found = [each.said for each in standing(files, about) if each.said is not None]
    if not found:
        return None
    last = found[-1]
    return last.batch if isinstance(last, Outcome) else last


def outcomes(files: Files, about: Mapping[str, Any]) -> list[Outcome]:
    """Return what came of the last batches, one for each: that of the driver that came last."""
    found = {each.batch: each.said for each in standing(files, about) if isinstance(each.said, Outcome)}
    return [found[batch] for batch in sorted(found)]
