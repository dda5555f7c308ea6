"""An append-only log of encoded rows, for what can't be read again from its origin: written before it is acknowledged.

Segments hold frames: a head (magic, length, checksum, number of the last element, rejected elements) and the rows as an
Arrow stream. An offset is a place in the bytes of all segments together. A torn end was never acknowledged, and is cut.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from itertools import pairwise

import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.files import Files
from hydrograph.live.sources.source import Chunk
from hydrograph.streams.schema import EVENTS

_HEAD = struct.Struct("<4sIIqI")
_MAGIC = b"HYL1"
_SEGMENT = 32 * 1024 * 1024
_RECENT_ROWS = 1_000_000
"""Rows of the newest frames that are kept, so that nobody reads from the disk what has just come."""


def log_end(files: Files, directory: str, known: int = 0) -> int:
    """Return the offset behind the last whole frame, for a reader in another process; `known` is one before it."""
    starts = sorted(int(name.removesuffix(".log")) for name in files.names(directory) if name.endswith(".log"))
    end = known
    for first in starts:
        if first >= known or first == starts[-1]:
            data = files.read(f"{directory}/{first:020d}.log") or b""
            at = max(0, end - first)
            while at + _HEAD.size <= len(data):
                _, length, _, _, _ = _HEAD.unpack_from(data, at)
                if at + _HEAD.size + length > len(data):
                    break
                at += _HEAD.size + length
            end = max(end, first + at)
    return end


def read_log(files: Files, directory: str, start: int, end: int) -> Iterator[Chunk]:
    """Return the frames between two offsets, in any process; raise DataError if they are gone."""
    starts = sorted(int(name.removesuffix(".log")) for name in files.names(directory) if name.endswith(".log"))
    if not starts or start < starts[0]:
        raise DataError(f"the log {directory} begins at {starts[0] if starts else 0}, expected {start}")
    at = start
    for number, first in enumerate(starts):
        behind = starts[number + 1] if number + 1 < len(starts) else None
        if (behind is not None and behind <= at) or first >= end:
            continue
        for chunk, _ in _frames(files.read(f"{directory}/{first:020d}.log") or b"", first, at):
            if chunk.start == at and chunk.end <= end:
                at = chunk.end
                yield chunk
    if at != end:
        raise DataError(f"the log {directory} can be read up to {at}, expected {end}")


class AppendLog:
    """The log below one directory; one writer, any number of readers in this process."""

    def __init__(self, files: Files, directory: str) -> None:
        """Open the log and cut a torn end."""
        self._files = files
        self._directory = directory
        self._lock = threading.Lock()
        self._recent: deque[Chunk] = deque()
        self._rows = 0
        self.number = 0
        """The number of the last element."""
        starts = self._starts()
        self._start = starts[-1] if starts else 0
        self._end = self._start
        if starts:
            data = files.read(self._name(self._start)) or b""
            for chunk, number in _frames(data, self._start):
                self._end, self.number = chunk.end, number
            if self._end - self._start < len(data):
                files.append(self._name(self._start), self._end - self._start, b"")
            if self._end == self._start and len(starts) > 1:
                earlier = files.read(self._name(starts[-2])) or b""
                self.number = max((number for _, number in _frames(earlier, starts[-2])), default=0)

    def _starts(self) -> list[int]:
        names = self._files.names(self._directory)
        return sorted(int(name.removesuffix(".log")) for name in names if name.endswith(".log"))

    def _name(self, start: int) -> str:
        return f"{self._directory}/{start:020d}.log"

    def append(self, events: pa.Table, number: int, rejected: int = 0) -> int:
        """Write rows down, the last element of which has this number; return the offset behind them."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, EVENTS) as writer:
            writer.write_table(events)
        body = sink.getvalue().to_pybytes()
        with self._lock:
            if self._end - self._start >= _SEGMENT:
                self._start = self._end
            head = _HEAD.pack(_MAGIC, len(body), zlib.crc32(body), number, rejected)
            self._files.append(self._name(self._start), self._end - self._start, head + body)
            chunk = Chunk(events, self._end, self._end + len(head) + len(body), rejected)
            self._end, self.number = chunk.end, number
            self._recent.append(chunk)
            self._rows += events.num_rows
            while self._rows > _RECENT_ROWS and len(self._recent) > 1:
                self._rows -= self._recent.popleft().events.num_rows
            return chunk.end

    @property
    def end(self) -> int:
        """The offset behind what was written."""
        return self._end

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return the frames between two offsets; raise DataError if they are gone."""
        with self._lock:
            recent = [chunk for chunk in self._recent if start <= chunk.start and chunk.end <= end]
        behind = recent[0].start if recent else end
        if start < behind:
            yield from read_log(self._files, self._directory, start, behind)
        yield from recent

    def forget(self, before: int) -> None:
        """Remove segments that lie before an offset."""
        starts = self._starts()
        for first, following in pairwise(starts):
            if following <= before:
                self._files.remove(self._name(first))


def _frames(data: bytes, start: int, begin: int = 0) -> Iterator[tuple[Chunk, int]]:
    """Return the whole frames of a segment from an offset on, each with the number of its last element."""
    at = max(0, begin - start)
    while at + _HEAD.size <= len(data):
        magic, length, checksum, number, rejected = _HEAD.unpack_from(data, at)
        body = data[at + _HEAD.size : at + _HEAD.size + length]
        if magic != _MAGIC or len(body) < length or zlib.crc32(body) != checksum:
            return
        behind = at + _HEAD.size + length
        with pa.ipc.open_stream(body) as reader:
            yield Chunk(reader.read_all(), start + at, start + behind, rejected), number
        at = behind
