"""Write-ahead log of a logged source: input that cannot be read again is logged before it is acknowledged.

Segments hold frames: a header (magic, length, checksum, number of the last element, rejected elements) and the rows as
an Arrow stream. An offset is a byte position in all segments together. A torn end was never acknowledged: it is moved
to `quarantine/` and ignored. Damaged bytes before intact frames were acknowledged: reading them raises DataError.

Fencing. Each driver writes segments of its own, with the epoch of its lease in their names. The segments of earlier
drivers end where the first segment of a later one starts. Anything a fenced driver still writes lies beyond that point,
is ignored, and is never acknowledged: a driver checks its lease after each write, and its successor reads the log after
it has taken the lease.

A fenced driver that has not noticed yet cannot damage its successor, because an intact frame is never overwritten. It
appends after the last frame it knows, which is where the successor's segment starts. If its last append failed, there
may be one more frame. So after a failed append a driver first reads what was written: an intact frame counts, for the
successor as for itself, and only torn bytes are truncated.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.schema import EVENTS

_HEAD = struct.Struct("<4sIIqI")
_CHECKED = struct.Struct("<IqI")
_MAGIC = b"HYL2"
_QUARANTINE = "quarantine"
SEGMENT_BYTES = 32 * 1024 * 1024
"""Size at which a new segment starts."""
CACHED_BYTES = 64 * 1024 * 1024
"""Bytes of the newest frames cached in memory (two segments), so that new input is not read back from disk."""
CACHED_CHUNKS = 10_000
"""Largest number of cached frames; a table takes about 12 KB even with a single row."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of whole elements at the offsets `[start, end)` of a partition."""

    events: pa.Table
    start: int
    end: int
    rejected: int = 0


@dataclass(frozen=True, slots=True)
class _Segment:
    """File of frames; the offsets `[start, end)` of it count, all of it if `end` is None."""

    epoch: int
    start: int
    end: int | None = None

    @property
    def file(self) -> str:
        return f"{self.start:020d}.{self.epoch:08d}.log"


class _Frame(NamedTuple):
    """Intact frame."""

    start: int
    end: int
    number: int
    rejected: int
    body: bytes


def log_end(files: Files, directory: str, known: int = 0) -> int:
    """Return the offset after the last intact frame, for a reader in another process; `known` is an earlier one."""
    end = known
    for segment in _chain(_segments(files, directory)):
        if segment.end is None or segment.end > known:
            end = max(end, segment.start)
            for frame in _frames(files, directory, segment, end):
                end = frame.end
    return end


def read_log(files: Files, directory: str, start: int, end: int) -> Iterator[Chunk]:
    """Return the chunks between two offsets, in any process; raise DataError if they are gone."""
    chain = _chain(_segments(files, directory))
    if not chain or start < chain[0].start:
        raise DataError(f"the log {directory} starts at {chain[0].start if chain else 0}, expected {start}")
    at = start
    for segment in chain:
        if segment.start >= end or (segment.end is not None and segment.end <= at):
            continue
        for frame in _frames(files, directory, segment, at):
            if frame.end > end:
                break
            if frame.start != at:
                raise _damaged(directory, segment, at, frame.start)
            at = frame.end
            yield _chunk(frame)
    if at != end:
        raise DataError(f"the log {directory} can be read up to {at}, expected {end}")


class InputLog:
    """Input log below one directory, with one writer and any number of readers in this process."""

    def __init__(self, files: Files, directory: str, lease: Lease, known: int = 0) -> None:
        """Open the log at its end; raise DataError if it is damaged or ends before `known`, which was read before."""
        self._files = files
        self._directory = directory
        self._lease = lease
        self._lock = threading.Lock()
        self.cached: deque[Chunk] = deque()
        """The newest frames, kept in memory."""
        self._cached_bytes = 0
        self._append_failed = False
        """Whether the last append failed, so that the bytes after the end are unknown."""
        self.number = 0
        """The number of the last element."""
        chain = _chain(_segments(files, directory))
        self._end = self._find_end(chain, known)
        self._start = self._end
        self._quarantine_torn_end(chain)
        files.append(self._name(_Segment(lease.epoch, self._start)), 0, b"")  # fences off earlier drivers

    def _find_end(self, chain: list[_Segment], known: int) -> int:
        """Return the offset after the last frame, and check that everything from `known` on is readable."""
        end = 0
        for segment in chain:
            if segment.end is not None and segment.end <= known:
                continue
            end = segment.start
            for frame in _frames(self._files, self._directory, segment):
                if end < frame.start and known < frame.start:
                    raise _damaged(self._directory, segment, end, frame.start)
                end, self.number = frame.end, frame.number
            if segment.end is not None and end < segment.end:
                raise _damaged(self._directory, segment, end, segment.end)
        for segment in reversed(chain):
            if self.number:
                break
            for frame in _frames(self._files, self._directory, segment):
                self.number = frame.number
        if end < known:
            raise DataError(
                f"the log {self._directory} ends at {end}, but was read up to {known}: its last segment is damaged or "
                "missing; restore it, or start with another checkpoint"
            )
        return end

    def _quarantine_torn_end(self, chain: list[_Segment]) -> None:
        """Save the bytes after the last intact frame, which do not count."""
        if chain:
            torn = self._files.read(self._name(chain[-1]), self._end - chain[-1].start)
            if torn:
                name = f"{_QUARANTINE}/{chain[-1].file}-{self._lease.epoch:08d}-from-{self._end}"
                self._files.write(name, torn)

    def _name(self, segment: _Segment) -> str:
        return f"{self._directory}/{segment.file}"

    def append(self, events: pa.Table, number: int, rejected: int = 0) -> int:
        """Append rows whose last element has this number; return the offset after them.

        Raise FencedError if another driver has taken over; it may or may not have read these rows, and this log accepts
        no further appends. After another error the rows count if their frame is intact.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, EVENTS) as writer:
            writer.write_table(events)
        body = sink.getvalue().to_pybytes()
        with self._lock:
            self._lease.check_known()
            if self._append_failed:
                self._recover_append()
            if self._end - self._start >= SEGMENT_BYTES:
                self._start = self._end
            head = _HEAD.pack(_MAGIC, len(body), _checksum(len(body), number, rejected, body), number, rejected)
            self._append_failed = True
            self._files.append(self._name(self._segment), self._end - self._start, head + body)
            self._lease.check()
            self._append_failed = False
            self._count(Chunk(events, self._end, self._end + len(head) + len(body), rejected), number)
            return self._end

    @property
    def _segment(self) -> _Segment:
        """The current segment."""
        return _Segment(self._lease.epoch, self._start)

    def _recover_append(self) -> None:
        """Read what a failed append has left: an intact frame counts, torn bytes may be truncated."""
        self._lease.check()
        for frame in _frames(self._files, self._directory, self._segment, self._end):
            if frame.start == self._end:
                self._count(_chunk(frame), frame.number)
        self._append_failed = False

    def _count(self, chunk: Chunk, number: int) -> None:
        self._end, self.number = chunk.end, number
        self.cached.append(chunk)
        self._cached_bytes += chunk.end - chunk.start
        while self._cached_bytes > CACHED_BYTES or len(self.cached) > CACHED_CHUNKS:
            self._evict_oldest()

    def _evict_oldest(self) -> None:
        oldest = self.cached.popleft()
        self._cached_bytes -= oldest.end - oldest.start

    @property
    def end(self) -> int:
        """The offset after the last frame."""
        return self._end

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return the chunks between two offsets; raise DataError if they are gone."""
        with self._lock:
            recent = [chunk for chunk in self.cached if start <= chunk.start and chunk.end <= end]
        behind = recent[0].start if recent else end
        if start < behind:
            yield from read_log(self._files, self._directory, start, behind)
        yield from recent

    def forget(self, before: int) -> None:
        """Truncate the log: remove segments of this and earlier drivers that end before an offset or do not count."""
        self._lease.check()
        with self._lock:
            while self.cached and self.cached[0].end <= before:
                self._evict_oldest()
        found = _segments(self._files, self._directory)
        chain = _chain(found)
        needed = {each.file for each in chain if each.end is None or each.end > before}
        # The last segment with a frame stays: the next driver continues its element numbers.
        needed |= {next((each.file for each in reversed(chain) if self._files.size(self._name(each))), "")}
        for segment in found:
            if segment.epoch <= self._lease.epoch and segment.file not in needed:
                self._files.remove(self._name(segment))


def _segments(files: Files, directory: str) -> list[_Segment]:
    found = []
    for name in files.names(directory):
        match name.split("."):
            case start, epoch, "log" if start.isdigit() and epoch.isdigit():
                found.append(_Segment(int(epoch), int(start)))
            case _:
                continue  # not a segment
    return sorted(found, key=lambda each: (each.epoch, each.start))


def _chain(segments: list[_Segment]) -> list[_Segment]:
    """Return the segments that count, in order: those of a driver end where the first of a later one starts."""
    chain: list[_Segment] = []
    for segment in reversed(segments):
        behind = chain[-1].start if chain else None
        if behind is None or segment.start < behind:
            chain.append(_Segment(segment.epoch, segment.start, behind))
    return chain[::-1]


def _frames(files: Files, directory: str, segment: _Segment, begin: int = 0) -> Iterator[_Frame]:
    """Return the intact frames of a segment that count, from an offset on; damaged bytes between them are skipped."""
    first = max(segment.start, begin)
    data = files.read(f"{directory}/{segment.file}", first - segment.start) or b""
    at: int | None = 0
    while at is not None:
        frame = _frame(data, at, first)
        if frame is None:
            at = _next(data, at + 1)
            continue
        if segment.end is not None and frame.end > segment.end:
            return
        yield frame
        at = frame.end - first


def _next(data: bytes, at: int) -> int | None:
    """Return the position of the next intact frame; None if there is none."""
    while (at := data.find(_MAGIC, at)) >= 0:
        if _frame(data, at, 0) is not None:
            return at
        at += 1
    return None


def _frame(data: bytes, at: int, first: int) -> _Frame | None:
    """Return the intact frame at a position of `data`, whose first byte has the offset `first`; None if it is torn."""
    if at + _HEAD.size > len(data):
        return None
    magic, length, checksum, number, rejected = _HEAD.unpack_from(data, at)
    behind = at + _HEAD.size + length
    if magic != _MAGIC or behind > len(data):
        return None
    body = data[at + _HEAD.size : behind]
    if _checksum(length, number, rejected, body) != checksum:
        return None
    return _Frame(first + at, first + behind, number, rejected, body)


def _checksum(length: int, number: int, rejected: int, body: bytes) -> int:
    return zlib.crc32(body, zlib.crc32(_CHECKED.pack(length, number, rejected)))


def _chunk(frame: _Frame) -> Chunk:
    with pa.ipc.open_stream(frame.body) as reader:
        return Chunk(reader.read_all(), frame.start, frame.end, frame.rejected)


def _damaged(directory: str, segment: _Segment, start: int, end: int) -> DataError:
    return DataError(
        f"the log {directory} is damaged: the bytes from {start} to {end} in {segment.file} are not what was written; "
        "restore the file from a copy, or start with another checkpoint"
    )
