"""Segments of a results directory: their names, their committed lengths, and the units in them.

A segment is named by the epoch of the driver that writes it and a number. A driver that takes over writes a boundary
file `EPOCH.from` with the committed lengths of all earlier segments, and another one, `EPOCH-NUMBER.from`, whenever it
has finished many segments itself. A batch record names the segments since the last boundary one by one, and the others
together by their boundary: `{"00000007.from": 5000, "00000007-000000.seg": 200}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from hydrograph.live.step.records import UnitKey
from hydrograph.live.storage.files import Files, TornError, frame, unframe

SEGMENTS = "segments"
BOUNDARY = ".from"


class SegmentLengths(dict[str, int]):
    """Size of each stored segment in bytes."""

    def __init__(self, files: Files) -> None:
        """Read the sizes; contents are read only if needed."""
        super().__init__({name: files.size(f"{SEGMENTS}/{name}") or 0 for name in list_segments(files)})
        self._files = files
        self._expanded: dict[tuple[str, int], dict[str, int]] = {}

    def expand(self, lengths: Mapping[str, int]) -> dict[str, int]:
        """Return the committed length of each segment, given those in a record; see `expand_lengths`."""
        found: dict[str, int] = {}
        for name, length in sorted(lengths.items(), key=lambda each: not each[0].endswith(BOUNDARY)):
            if name.endswith(BOUNDARY):  # cached: many records name the same boundary
                if (name, length) not in self._expanded:
                    self._expanded[name, length] = expand_lengths(self._files, {name: length})
                found |= self._expanded[name, length]
            else:
                found[name] = length
        return found

    def intact(self, committed: Mapping[str, int]) -> dict[str, int]:
        """Return how many bytes of each segment are intact; `committed` are lengths that an old record names.

        A segment that still has its committed length is not read, so the cost of a start depends on recent records and
        not on all results ever written. A flipped bit in an old segment is found by readers of its units, not here; a
        short or missing segment is found here. Segments that have grown since, and the last one, are read.
        """
        last = max(self, default="")
        return {
            name: size
            if name != last and committed.get(name) == size
            else intact_length(read_segment(self._files, name))
            for name, size in self.items()
        }


def list_segments(files: Files) -> list[str]:
    """Return the names of the segments, in the order in which they were written."""
    return sorted(name for name in files.names(SEGMENTS) if name.endswith(".seg"))


def read_segment(files: Files, name: str, start: int = 0) -> bytes:
    """Return the bytes of a segment from `start`."""
    return files.read(f"{SEGMENTS}/{name}", start) or b""


def list_boundaries(files: Files) -> list[str]:
    """Return the names of the boundary files, in order."""
    names = [name.removesuffix(BOUNDARY) for name in files.names(SEGMENTS) if name.endswith(BOUNDARY)]
    return [f"{name}{BOUNDARY}" for name in sorted(names)]


def _read_boundary(files: Files, name: str) -> dict[str, int] | None:
    """Return the committed lengths in a boundary file; None if it is damaged."""
    try:
        lengths: dict[str, int] = json.loads(unframe(files.read(f"{SEGMENTS}/{name}") or b""))
    except TornError:
        return None
    return lengths


def newest_boundary(files: Files) -> tuple[str, Mapping[str, int]]:
    """Return the epoch of the newest readable boundary, and the committed lengths of the segments before it."""
    for name in reversed(list_boundaries(files)):
        lengths = _read_boundary(files, name)
        if lengths is not None:  # the one before it covers older segments, and those in between were truncated
            return name.removesuffix(BOUNDARY), lengths
    return "", {}


def expand_lengths(files: Files, lengths: Mapping[str, int]) -> dict[str, int]:
    """Return the committed length of each segment, replacing each boundary by its segments.

    If a boundary file is damaged, the stored sizes are used, because segments are truncated to their committed lengths.
    If these add up to less than the record names, the boundary stays in the result and counts as missing.
    """
    found: dict[str, int] = {}
    for name in sorted(name for name in lengths if name.endswith(BOUNDARY)):
        before = _read_boundary(files, name)
        if before is None:
            names = [each for each in list_segments(files) if each < name.removesuffix(BOUNDARY)]
            before = {each: files.size(f"{SEGMENTS}/{each}") or 0 for each in names}
            if sum(before.values()) < lengths[name]:
                before = {name: lengths[name]}
        found |= before
    return found | {name: length for name, length in lengths.items() if not name.endswith(BOUNDARY)}


def intact_length(data: bytes) -> int:
    """Return how many bytes from the start are intact lines."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1
        if not end:
            break
        try:
            decode_unit(data[at:end])
        except (TornError, ValueError):
            break
        at = end
    return at


def decode_units(data: bytes) -> Iterator[tuple[UnitKey, str]]:
    """Return the units of complete lines; raise TornError if one is damaged."""
    for line in data.splitlines(keepends=True):
        yield decode_unit(line)


def read_units(files: Files, lengths: Mapping[str, int] | None = None) -> Iterator[tuple[UnitKey, str]]:
    """Return the units in order, up to the committed `lengths` of each segment.

    Without `lengths`, the newest boundary gives those of earlier drivers, and all intact units of the newest driver are
    returned. Every checksum is verified; raise TornError if a line is damaged.
    """
    newest, taken = newest_boundary(files) if lengths is None else ("", expand_lengths(files, lengths))
    for name in list_segments(files):
        own = lengths is None and name >= newest
        if own or name in taken:
            data = read_segment(files, name)
            yield from decode_units(data[: intact_length(data) if own else taken[name]])


def encode_unit(key: UnitKey, text: str) -> bytes:
    """Return the line of a unit in a segment: a checksum, the key and the report."""
    return frame(f"{json.dumps([key.query, key.version, key.window_class, key.t, key.ordinal])}\t{text}")


def decode_unit(line: bytes) -> tuple[UnitKey, str]:
    """Return key and text of a unit; raise TornError if the line is damaged."""
    head, _, text = unframe(line).partition("\t")
    query, version, window_class, t, ordinal = json.loads(head)
    return UnitKey(query, version, t, ordinal, window_class), text
