"""Exactly-once sink: append-only segments in which each unit is stored once, whatever fails on the way (S39).

Each driver writes segments of its own, and the batch record holds the committed length of each segment, so a fenced
driver cannot add results. Units that a driver wrote before it crashed are compared with those of the replayed batch and
not stored twice; a difference stops the query (see `uncommitted_units`).

A driver that takes over writes the committed lengths of all earlier segments to a boundary file. Readers that do not
know the batch records use it to ignore what a fenced driver has still appended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from hydrograph.live.checkpoint.batch_commit import KEPT_BATCHES
from hydrograph.live.checkpoint.startup_checks import check_owner, claim_results
from hydrograph.live.failpoints import due, strike
from hydrograph.live.results.segments import (
    BOUNDARY,
    SEGMENTS,
    SegmentLengths,
    decode_units,
    encode_unit,
    intact_length,
    list_boundaries,
    list_segments,
    read_segment,
    read_units,
)
from hydrograph.live.results.uncommitted_units import UncommittedUnits, intact_units
from hydrograph.live.step.records import ResultUnit, UnitKey
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.framing import frame
from hydrograph.live.storage.lease import FencedError

__all__ = ["SegmentSink", "read_units"]

_QUARANTINE = "quarantine"
SEGMENT_BYTES = 64 * 1024 * 1024
"""Size at which a new segment starts."""
_NAMED = 16
"""Segments that a record names one by one; bounds the size of a record."""


class SegmentSink:
    """Sink of one driver: its own segments, after those of earlier drivers."""

    def __init__(self, files: Files, epoch: int, checkpoint: Files | None = None) -> None:
        """Write segments under the epoch of a lease; the results belong to `checkpoint` from then on."""
        self._files = files
        self._checkpoint = checkpoint
        self._epoch = epoch
        self._finished: dict[str, int] = {}
        """Committed lengths of the segments before the boundary."""
        self._boundary = ""
        """The newest boundary file."""
        self._finished_bytes = 0
        self._lengths: dict[str, int] = {}
        self._uncommitted = UncommittedUnits(files, epoch)
        self._number = 0

    def stored_lengths(self) -> SegmentLengths:
        """Return the size of each segment; raise RunError if the results belong to another checkpoint."""
        if self._checkpoint is not None:
            check_owner(self._checkpoint, self._files)
        return SegmentLengths(self._files)

    def resume(self, committed: Mapping[str, int]) -> None:
        """Continue after the committed lengths; uncommitted units are removed and compared with the replayed ones.

        Raise RunError, and change nothing, if the results belong to another checkpoint, FencedError if another driver
        has taken over.
        """
        self._check_writable(committed)
        beyond = {}
        for name, size in SegmentLengths(self._files).items():
            if size > committed.get(name, 0):
                beyond[name] = read_segment(self._files, name, committed.get(name, 0))
        # Kept before they are truncated: after a crash in between they are in one of the two places.
        self._uncommitted.keep(
            (unit for data in beyond.values() for unit in decode_units(data[: intact_length(data)])),
            self._written_again(committed),
        )
        for name, data in beyond.items():
            # Uncommitted: the replay writes it again, in a segment of this driver.
            end = committed.get(name, 0)
            self._files.write(f"{_QUARANTINE}/{name}-{self._epoch:08d}-from-{end}", data)
            self._files.append(f"{SEGMENTS}/{name}", end, b"")
        own = [int(name[9:15]) for name in committed if name.startswith(f"{self._epoch:08d}-")]
        self._number = max(own, default=0)  # an epoch is used again if the file of the newest lease was lost
        self._finished = {}
        self._finish(f"{self._epoch:08d}{BOUNDARY}", committed)

    def _check_writable(self, committed: Mapping[str, int]) -> None:
        if self._checkpoint is not None:
            claim_results(self._checkpoint, self._files, SEGMENTS, SegmentLengths(self._files), committed)
        newest = max((name[:8] for name in self._files.names(SEGMENTS)), default="")
        if newest > f"{self._epoch:08d}":  # fenced while it started: truncate nothing of the successor
            raise FencedError(
                f"a driver with a newer lease has written these results (lease {int(newest)}, this one has "
                f"{self._epoch}); stopped: if the checkpoint is an older copy, restore the newest"
            )

    def _written_again(self, committed: Mapping[str, int]) -> Iterator[tuple[UnitKey, str]]:
        """Return the committed units that were written since uncommitted ones were kept."""
        since = self._uncommitted.since
        for name in list_segments(self._files):
            if since is not None and name >= since and name in committed:
                yield from intact_units(read_segment(self._files, name)[: committed[name]])

    def _finish(self, name: str, lengths: Mapping[str, int]) -> None:
        """Write a boundary with the committed lengths of finished segments; records name them together from now on."""
        self._finished |= lengths
        self._finished_bytes = sum(self._finished.values())
        self._lengths = {segment: length for segment, length in self._lengths.items() if segment not in lengths}
        self._files.write(f"{SEGMENTS}/{name}", frame(json.dumps(self._finished)))
        self._boundary = name
        for each in list_boundaries(self._files)[: -KEPT_BATCHES - 1]:  # kept records may name the others
            if each != name:
                self._files.remove(f"{SEGMENTS}/{each}")

    @property
    def lengths(self) -> dict[str, int]:
        """Committed length of each segment, finished ones together under their boundary (see `expand_lengths`)."""
        before = {self._boundary: self._finished_bytes} if self._finished else {}
        return before | self._lengths

    def write(self, units: Sequence[ResultUnit]) -> None:
        """Append units; raise RunError if one differs from what was written before."""
        self._uncommitted.settle()  # the batch before is committed
        self._uncommitted.compare(units)
        if not units:
            return
        stem = f"{self._epoch:08d}-{self._number:06d}"
        name = f"{stem}.seg"
        if len(self._lengths) > _NAMED:
            ended = {each: length for each, length in self._lengths.items() if each != name}
            self._finish(f"{stem}{BOUNDARY}", ended)
        at = self._lengths.get(name, self._finished.get(name, 0))
        data = b"".join(encode_unit(unit.key, unit.text) for unit in units)
        victim = due("write")
        if victim is not None:
            self._files.append(f"{SEGMENTS}/{name}", at, data[: len(data) // 2])
            strike(victim)
        self._files.append(f"{SEGMENTS}/{name}", at, data)
        self._lengths[name] = at + len(data)
        if self._lengths[name] >= SEGMENT_BYTES:
            self._number += 1
