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

from hydrograph.live.ahead import Ahead
from hydrograph.live.failpoints import due, strike
from hydrograph.live.files import Files
from hydrograph.live.lease import FencedError
from hydrograph.live.owner import check_owner, claim_results
from hydrograph.live.record import TornError, framed, unframed
from hydrograph.live.units import Key, Unit, read_line

SEGMENTS = "segments"
_QUARANTINE = "quarantine"
_TAKEN_OVER = ".from"
_SEGMENT = 64 * 1024 * 1024
"""Bytes after which a new segment begins."""


class SegmentSink:
    """The segments of one driver, and those before it."""

    def __init__(self, files: Files, epoch: int, checkpoint: Files | None = None) -> None:
        """Write segments under the number of a lease on a checkpoint, whose results they are from then on."""
        self._files = files
        self._checkpoint = checkpoint
        self._epoch = epoch
        self._lengths: dict[str, int] = {}
        self._ahead = Ahead(files, epoch)
        self._number = 0

    def standing(self) -> dict[str, int]:
        """Return how many bytes of each segment are what was written; raise RunError if another checkpoint wrote it."""
        if self._checkpoint is not None:
            check_owner(self._checkpoint, self._files)
        return {name: _whole(self._files.read(f"{SEGMENTS}/{name}") or b"") for name in self._segments()}

    def _segments(self) -> list[str]:
        return segments(self._files)

    def resume(self, committed: Mapping[str, int]) -> None:
        """Go on behind what a record says; units beyond it are put aside, and compared with those that come again.

        Raise RunError, and change nothing, if the results are not those of the checkpoint, FencedError if another
        driver has come since.
        """
        self._refuse(committed)
        self._lengths = dict(committed)
        beyond = {}
        for name in self._segments():
            data = self._files.read(f"{SEGMENTS}/{name}") or b""
            if len(data) > committed.get(name, 0):
                beyond[name] = data[committed.get(name, 0) :]
        # Kept before they are cut: whoever dies in between finds them in either place.
        self._ahead.keep(
            (unit for data in beyond.values() for unit in _units(data[: _whole(data)])), self._written_again(committed)
        )
        for name, data in beyond.items():
            # Beyond the record nothing counts: it is written again, in a segment of this driver.
            end = committed.get(name, 0)
            self._files.write(f"{_QUARANTINE}/{name}-{self._epoch:08d}-from-{end}", data)
            self._files.append(f"{SEGMENTS}/{name}", end, b"")
        self._take_over(committed)

    def _refuse(self, committed: Mapping[str, int]) -> None:
        if self._checkpoint is not None:
            sizes = {name: self._files.size(f"{SEGMENTS}/{name}") or 0 for name in self._segments()}
            claim_results(self._checkpoint, self._files, SEGMENTS, sizes, committed)
        newest = max((name[:8] for name in self._files.names(SEGMENTS)), default="")
        if newest > f"{self._epoch:08d}":  # a driver that slept while it started cuts nothing of its successor
            raise FencedError(
                f"a driver with a newer lease has written these results (lease {int(newest)}, this one has "
                f"{self._epoch}); stopped: if the checkpoint is an older copy, bring back the newest"
            )

    def _written_again(self, committed: Mapping[str, int]) -> Iterator[tuple[Key, str]]:
        """Return the units that were written since some were kept, and that the record covers."""
        since = self._ahead.since
        for name in self._segments():
            if since is not None and name >= since and name in committed:
                data = self._files.read(f"{SEGMENTS}/{name}") or b""
                yield from _units(data[: committed[name]])

    def _take_over(self, committed: Mapping[str, int]) -> None:
        before = [name for name in self._files.names(SEGMENTS) if name.endswith(_TAKEN_OVER)]
        own = f"{self._epoch:08d}{_TAKEN_OVER}"
        self._files.write(f"{SEGMENTS}/{own}", framed(json.dumps(dict(committed))))
        for name in before[:-1]:  # one more, in case the newest is damaged
            if name != own:
                self._files.remove(f"{SEGMENTS}/{name}")

    @property
    def lengths(self) -> dict[str, int]:
        """How many bytes of each segment stand."""
        return dict(self._lengths)

    def write(self, units: Sequence[Unit]) -> None:
        """Append units; raise RunError if one of them was written before and said something else."""
        self._ahead.settle()  # the batch before this one has its record
        self._ahead.compare(units)
        if not units:
            return
        name = f"{self._epoch:08d}-{self._number:06d}.seg"
        at = self._lengths.get(name, 0)
        data = b"".join(unit.line() for unit in units)
        victim = due("write")
        if victim is not None:
            self._files.append(f"{SEGMENTS}/{name}", at, data[: len(data) // 2])
            strike(victim)
        self._files.append(f"{SEGMENTS}/{name}", at, data)
        self._lengths[name] = at + len(data)
        if self._lengths[name] >= _SEGMENT:
            self._number += 1


def _whole(data: bytes) -> int:
    """Return how many bytes from the start on are whole lines."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1
        if not end:
            break
        try:
            read_line(data[at:end])
        except (TornError, ValueError):
            break
        at = end
    return at


def _units(data: bytes) -> Iterator[tuple[Key, str]]:
    for line in data.splitlines(keepends=True):
        yield read_line(line)


def read_units(files: Files, lengths: Mapping[str, int] | None = None) -> Iterator[tuple[Key, str]]:
    """Return the units in order; `lengths` says how much of each segment counts.

    Without it that is what the driver that took over last says of those before it, and all of its own that is whole.
    """
    newest, taken = taken_over(files) if lengths is None else ("", lengths)
    for name in segments(files):
        own = lengths is None and name >= newest
        if own or name in taken:
            data = files.read(f"{SEGMENTS}/{name}") or b""
            yield from _units(data[: _whole(data) if own else taken[name]])


def segments(files: Files) -> list[str]:
    """Return the names of the segments, in the order in which they were written."""
    return sorted(name for name in files.names(SEGMENTS) if name.endswith(".seg"))


def taken_over(files: Files) -> tuple[str, Mapping[str, int]]:
    """Return the number of the driver that took over last, and how much of the segments before it counts."""
    for name in reversed([name for name in files.names(SEGMENTS) if name.endswith(_TAKEN_OVER)]):
        try:
            lengths: dict[str, int] = json.loads(unframed(files.read(f"{SEGMENTS}/{name}") or b""))
        except TornError:
            continue  # the one before it says the same of older segments, and what lies between was cleared
        return name.removesuffix(_TAKEN_OVER), lengths
    return "", {}
