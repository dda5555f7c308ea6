"""Exactly-once sink: append-only segments in which each unit is stored once, whatever fails on the way (S39).

Each driver writes segments of its own, and the batch record holds the committed length of each segment, so a fenced
driver cannot add results.

`UncommittedUnits` are results written after the last commit. Readers may have seen them already, so the replayed batch
must produce them again byte for byte: they are compared and not stored twice; a difference stops the query.

A driver that takes over writes the committed lengths of all earlier segments to a boundary file. Readers that do not
know the batch records use it to ignore what a fenced driver has still appended.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hydrograph.errors import RunError
from hydrograph.live.checkpoint.batch_commit import KEPT_BATCHES
from hydrograph.live.checkpoint.startup_checks import check_owner, claim_results
from hydrograph.live.failpoints import due, strike
from hydrograph.live.results.segments import (
    BOUNDARY,
    SEGMENTS,
    SegmentLengths,
    decode_unit,
    decode_units,
    encode_unit,
    intact_length,
    list_boundaries,
    list_segments,
    read_segment,
    read_units,
)
from hydrograph.live.step.records import ResultUnit, UnitKey
from hydrograph.live.storage.files import Files, TornError, frame
from hydrograph.live.storage.lease import FencedError

DIRECTORY = "ahead"


class UncommittedUnits:
    """Uncommitted units that one driver has to produce again."""

    def __init__(self, files: Files, epoch: int) -> None:
        """Start without units."""
        self._files = files
        self._name = f"{epoch:08d}"
        self._texts: dict[UnitKey, str] = {}
        self._waiting: defaultdict[tuple[str, int, str], deque[UnitKey]] = defaultdict(deque)
        """Keys of each query in time order."""
        self._kept = False

    @property
    def since(self) -> str | None:
        """The epoch of the first driver that kept units, which may be committed by now; None if there are none."""
        return min(self._files.names(DIRECTORY), default=None)

    def keep(self, found: Iterable[tuple[UnitKey, str]], covered: Iterable[tuple[UnitKey, str]] = ()) -> None:
        """Keep uncommitted units, with those of earlier drivers; `covered` units have been committed since."""
        earlier = self._files.names(DIRECTORY)
        self._texts = {}
        for name in earlier:
            for key, text in intact_units(self._files.read(f"{DIRECTORY}/{name}") or b""):
                self._texts.setdefault(key, text)
        self._order()
        for key, _ in covered:
            self._drop_until(key)
        for key, text in found:
            self._texts.setdefault(key, text)
        self._order()
        self._kept = bool(self._texts)
        if self._kept:
            data = b"".join(encode_unit(key, text) for key, text in self._texts.items())
            self._files.write(f"{DIRECTORY}/{self._name}", data)
        for name in earlier:  # their remaining units are in the new file
            if name != self._name:
                self._files.remove(f"{DIRECTORY}/{name}")

    def compare(self, units: Iterable[ResultUnit]) -> None:
        """Raise RunError if a unit differs from the uncommitted one with the same key."""
        if not self._texts:
            return
        for unit in units:
            before = self._texts.get(unit.key)
            if before is not None and before != unit.text:
                raise RunError(
                    f"the report of {unit.key.query} at {unit.key.t} was {before[:200]} and is now {unit.text[:200]}: "
                    "a replayed batch must give the same report; the query stops at every start: restore the missing "
                    f"batch records, or remove {DIRECTORY}/ in the results to accept the new report"
                )
            self._drop_until(unit.key)

    def _order(self) -> None:
        self._waiting.clear()
        for key in sorted(self._texts):
            self._waiting[_stream(key)].append(key)

    def _drop_until(self, key: UnitKey) -> None:
        """Drop a unit and those before it: reports of a query are written in time order."""
        waiting = self._waiting[_stream(key)]
        while waiting and waiting[0] <= key:
            del self._texts[waiting.popleft()]

    def settle(self) -> None:
        """Remove the file once all its units were written again and committed."""
        if self._kept and not self._texts:
            self._files.remove(f"{DIRECTORY}/{self._name}")
            self._kept = False


def _stream(key: UnitKey) -> tuple[str, int, str]:
    return key.query, key.version, key.window_class


def intact_units(data: bytes) -> Iterator[tuple[UnitKey, str]]:
    """Return the units whose lines are intact."""
    for line in data.splitlines(keepends=True):
        try:
            yield decode_unit(line)
        except (TornError, ValueError):
            continue


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
