"""Segments of results: which there are, how much of them counts, and the units in them.

A segment is named by the driver that writes it and a number. A driver that takes over writes down in `DRIVER.from` how
much of the segments before it counts, and again in `DRIVER-NUMBER.from` when it has finished many itself. So a record
names those that came since, and the others together: `{"00000007.from": 5000, "00000007-000000.seg": 200}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from hydrograph.live.step.records import TornError, unframed
from hydrograph.live.step.units import Key, read_line
from hydrograph.live.storage.files import Files

SEGMENTS = "segments"
TAKEN_OVER = ".from"


class Standing(dict[str, int]):
    """How many bytes each segment has."""

    def __init__(self, files: Files) -> None:
        """Look at sizes; contents are read where somebody asks for them."""
        super().__init__({name: files.size(f"{SEGMENTS}/{name}") or 0 for name in segments(files)})
        self._files = files
        self._together: dict[tuple[str, int], dict[str, int]] = {}

    def each_named(self, lengths: Mapping[str, int]) -> dict[str, int]:
        """Return how much of each segment counts, of what a record says; see `each_named`."""
        found: dict[str, int] = {}
        for name, length in sorted(lengths.items(), key=lambda each: not each[0].endswith(TAKEN_OVER)):
            if name.endswith(TAKEN_OVER):  # many records speak of the same ones
                if (name, length) not in self._together:
                    self._together[name, length] = each_named(self._files, {name: length})
                found |= self._together[name, length]
            else:
                found[name] = length
        return found

    def whole(self, covered: Mapping[str, int]) -> dict[str, int]:
        """Return how many bytes of each segment are what was written; `covered` is what an old record says of them.

        Segments that have not changed since that record are as long as it says, and are not read: what a start costs
        follows what the last records speak of, and not all results that were ever written. So a bit that flips in an
        old segment is not found by a start, but by whoever reads its units; one that is shorter or missing is found.
        The segments that have grown since, and the last one, are read.
        """
        last = max(self, default="")
        return {
            name: size if name != last and covered.get(name) == size else whole_bytes(segment_bytes(self._files, name))
            for name, size in self.items()
        }


def segments(files: Files) -> list[str]:
    """Return the names of the segments, in the order in which they were written."""
    return sorted(name for name in files.names(SEGMENTS) if name.endswith(".seg"))


def segment_bytes(files: Files, name: str, start: int = 0) -> bytes:
    """Return what stands in a segment from a place on."""
    return files.read(f"{SEGMENTS}/{name}", start) or b""


def finished(files: Files) -> list[str]:
    """Return the names of the files that say how much of the segments before them counts, in their order."""
    names = [name.removesuffix(TAKEN_OVER) for name in files.names(SEGMENTS) if name.endswith(TAKEN_OVER)]
    return [f"{name}{TAKEN_OVER}" for name in sorted(names)]


def _finished(files: Files, name: str) -> dict[str, int] | None:
    """Return how much of the segments before a number counts, None if it can't be read."""
    try:
        lengths: dict[str, int] = json.loads(unframed(files.read(f"{SEGMENTS}/{name}") or b""))
    except TornError:
        return None
    return lengths


def taken_over(files: Files) -> tuple[str, Mapping[str, int]]:
    """Return from which number on segments count that are whole, and how much of those before it does."""
    for name in reversed(finished(files)):
        lengths = _finished(files, name)
        if lengths is not None:  # else the one before it says the same of older ones, and what lies between was cleared
            return name.removesuffix(TAKEN_OVER), lengths
    return "", {}


def each_named(files: Files, lengths: Mapping[str, int]) -> dict[str, int]:
    """Return how much of each segment counts, of what a record says of some of them together.

    Where the file is damaged that has their lengths, they are as long as they stand: so they were left. If that is less
    than the record says, they stay together, and nothing stands of them.
    """
    found: dict[str, int] = {}
    for name in sorted(name for name in lengths if name.endswith(TAKEN_OVER)):
        before = _finished(files, name)
        if before is None:
            names = [each for each in segments(files) if each < name.removesuffix(TAKEN_OVER)]
            before = {each: files.size(f"{SEGMENTS}/{each}") or 0 for each in names}
            if sum(before.values()) < lengths[name]:
                before = {name: lengths[name]}
        found |= before
    return found | {name: length for name, length in lengths.items() if not name.endswith(TAKEN_OVER)}


def whole_bytes(data: bytes) -> int:
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


def units_in(data: bytes) -> Iterator[tuple[Key, str]]:
    """Return the units of whole lines; raise TornError if one is not what was written."""
    for line in data.splitlines(keepends=True):
        yield read_line(line)


def read_units(files: Files, lengths: Mapping[str, int] | None = None) -> Iterator[tuple[Key, str]]:
    """Return the units in order; `lengths` says how much of each segment counts.

    Without it that is what the driver that took over last says of those before it, and all of its own that is whole.
    Every line is checked; raise TornError if one is not what was written.
    """
    newest, taken = taken_over(files) if lengths is None else ("", each_named(files, lengths))
    for name in segments(files):
        own = lengths is None and name >= newest
        if own or name in taken:
            data = segment_bytes(files, name)
            yield from units_in(data[: whole_bytes(data) if own else taken[name]])
