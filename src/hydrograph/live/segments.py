"""Segments of results: which there are, how much of them counts, and the units in them.

A segment is named by the driver that writes it and a number. A driver that takes over writes down how much of the
segments before it counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from hydrograph.live.files import Files
from hydrograph.live.record import TornError, unframed
from hydrograph.live.units import Key, read_line

SEGMENTS = "segments"
TAKEN_OVER = ".from"


class Standing(dict[str, int]):
    """How many bytes each segment has."""

    def __init__(self, files: Files) -> None:
        """Look at sizes; contents are read where somebody asks for them."""
        super().__init__({name: files.size(f"{SEGMENTS}/{name}") or 0 for name in segments(files)})
        self._files = files

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


def taken_over(files: Files) -> tuple[str, Mapping[str, int]]:
    """Return the number of the driver that took over last, and how much of the segments before it counts."""
    for name in reversed([name for name in files.names(SEGMENTS) if name.endswith(TAKEN_OVER)]):
        try:
            lengths: dict[str, int] = json.loads(unframed(files.read(f"{SEGMENTS}/{name}") or b""))
        except TornError:
            continue  # the one before it says the same of older segments, and what lies between was cleared
        return name.removesuffix(TAKEN_OVER), lengths
    return "", {}


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
    newest, taken = taken_over(files) if lengths is None else ("", lengths)
    for name in segments(files):
        own = lengths is None and name >= newest
        if own or name in taken:
            data = segment_bytes(files, name)
            yield from units_in(data[: whole_bytes(data) if own else taken[name]])
