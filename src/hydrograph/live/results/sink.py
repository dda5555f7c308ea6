"""Results as append-only segments of framed units: each unit stands there once, whatever happened on the way (S39).

Each driver writes segments of its own, so that one that was believed dead can't write behind the back of its
successor: what counts of a segment is what the record says. Units that a driver wrote before it died, and whose batch
is worked off again, are compared and not written twice; a difference stops the query, at each start (`ahead`).

A driver that takes over writes down how much of the segments before it counts: whoever reads the results without the
records does not see what a driver that woke up too late has still appended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from hydrograph.live.checkpoint.batch_commit import KEPT
from hydrograph.live.checkpoint.results_owner import check_owner, claim_results
from hydrograph.live.failpoints import due, strike
from hydrograph.live.results.segments import (
    SEGMENTS,
    TAKEN_OVER,
    Standing,
    finished,
    read_units,
    segment_bytes,
    segments,
    units_in,
    whole_bytes,
)
from hydrograph.live.results.uncommitted_units import Ahead, whole_units
from hydrograph.live.step.records import framed
from hydrograph.live.step.units import Key, Unit
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.lease import FencedError

__all__ = ["SegmentSink", "read_units"]

_QUARANTINE = "quarantine"
_SEGMENT = 64 * 1024 * 1024
"""Bytes after which a new segment begins."""
_NAMED = 16
"""Segments that a record names one by one, so that what is written with each batch does not grow with all results."""


class SegmentSink:
    """The segments of one driver, and those before it."""

    def __init__(self, files: Files, epoch: int, checkpoint: Files | None = None) -> None:
        """Write segments under the number of a lease on a checkpoint, whose results they are from then on."""
        self._files = files
        self._checkpoint = checkpoint
        self._epoch = epoch
        self._finished: dict[str, int] = {}
        """How much of each segment counts that the record does not name."""
        self._since = ""
        """The file in which that stands."""
        self._together = 0
        self._lengths: dict[str, int] = {}
        self._ahead = Ahead(files, epoch)
        self._number = 0

    def standing(self) -> Standing:
        """Return how many bytes of each segment stand; raise RunError if another checkpoint has written them."""
        if self._checkpoint is not None:
            check_owner(self._checkpoint, self._files)
        return Standing(self._files)

    def resume(self, committed: Mapping[str, int]) -> None:
        """Go on behind what a record says; units beyond it are put aside, and compared with those that come again.

        Raise RunError, and change nothing, if the results are not those of the checkpoint, FencedError if another
        driver has come since.
        """
        self._refuse(committed)
        beyond = {}
        for name, size in Standing(self._files).items():
            if size > committed.get(name, 0):
                beyond[name] = segment_bytes(self._files, name, committed.get(name, 0))
        # Kept before they are cut: whoever dies in between finds them in either place.
        self._ahead.keep(
            (unit for data in beyond.values() for unit in units_in(data[: whole_bytes(data)])),
            self._written_again(committed),
        )
        for name, data in beyond.items():
            # Beyond the record nothing counts: it is written again, in a segment of this driver.
            end = committed.get(name, 0)
            self._files.write(f"{_QUARANTINE}/{name}-{self._epoch:08d}-from-{end}", data)
            self._files.append(f"{SEGMENTS}/{name}", end, b"")
        own = [int(name[9:15]) for name in committed if name.startswith(f"{self._epoch:08d}-")]
        self._number = max(own, default=0)  # a number is given again where the newest lease was lost
        self._finished = {}
        self._finish(f"{self._epoch:08d}{TAKEN_OVER}", committed)

    def _refuse(self, committed: Mapping[str, int]) -> None:
        if self._checkpoint is not None:
            claim_results(self._checkpoint, self._files, SEGMENTS, Standing(self._files), committed)
        newest = max((name[:8] for name in self._files.names(SEGMENTS)), default="")
        if newest > f"{self._epoch:08d}":  # a driver that slept while it started cuts nothing of its successor
            raise FencedError(
                f"a driver with a newer lease has written these results (lease {int(newest)}, this one has "
                f"{self._epoch}); stopped: if the checkpoint is an older copy, bring back the newest"
            )

    def _written_again(self, committed: Mapping[str, int]) -> Iterator[tuple[Key, str]]:
        """Return the units that were written since some were kept, and that the record covers."""
        since = self._ahead.since
        for name in segments(self._files):
            if since is not None and name >= since and name in committed:
                yield from whole_units(segment_bytes(self._files, name)[: committed[name]])

    def _finish(self, name: str, lengths: Mapping[str, int]) -> None:
        """Write down how much of some segments counts, with those before: records name them together from now on."""
        self._finished |= lengths
        self._together = sum(self._finished.values())
        self._lengths = {segment: length for segment, length in self._lengths.items() if segment not in lengths}
        self._files.write(f"{SEGMENTS}/{name}", framed(json.dumps(self._finished)))
        self._since = name
        for each in finished(self._files)[: -KEPT - 1]:  # records of that many batches may speak of them
            if each != name:
                self._files.remove(f"{SEGMENTS}/{each}")

    @property
    def lengths(self) -> dict[str, int]:
        """How many bytes of each segment stand; of those that are finished, together (`segments.each_named`)."""
        before = {self._since: self._together} if self._finished else {}
        return before | self._lengths

    def write(self, units: Sequence[Unit]) -> None:
        """Append units; raise RunError if one of them was written before and said something else."""
        self._ahead.settle()  # the batch before this one has its record
        self._ahead.compare(units)
        if not units:
            return
        stem = f"{self._epoch:08d}-{self._number:06d}"
        name = f"{stem}.seg"
        if len(self._lengths) > _NAMED:
            ended = {each: length for each, length in self._lengths.items() if each != name}
            self._finish(f"{stem}{TAKEN_OVER}", ended)
        at = self._lengths.get(name, self._finished.get(name, 0))
        data = b"".join(unit.line() for unit in units)
        victim = due("write")
        if victim is not None:
            self._files.append(f"{SEGMENTS}/{name}", at, data[: len(data) // 2])
            strike(victim)
        self._files.append(f"{SEGMENTS}/{name}", at, data)
        self._lengths[name] = at + len(data)
        if self._lengths[name] >= _SEGMENT:
            self._number += 1
