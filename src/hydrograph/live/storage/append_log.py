"""An append-only log of encoded rows, for what can't be read again from its origin: written before it is acknowledged.

Segments hold frames: a head (magic, length, checksum, number of the last element, rejected elements) and the rows as an
Arrow stream. An offset is a place in the bytes of all segments together. A torn end was never acknowledged: it is put
into `quarantine/` and does not count. Bytes that are damaged in front of whole frames were acknowledged: whoever needs
them is told.

Each driver writes segments of its own, with the number of its lease in their names. Where the first of them begins, the
segments of drivers before it end: what one that was believed dead still writes stands beside them and does not count.
It is not acknowledged either: a driver looks after each write whether it still has the lease, and its successor reads
what is there after it has taken it.

Whatever a driver does that does not know yet, its successor loses nothing: what the successor has counted are whole
frames, and no whole frame is ever written over. A driver that has seen the other's lease writes nothing any more. One
that has not writes behind the last frame it knows of: that is where the successor's own segment begins, or there is a
frame behind it of which the driver was not sure since the append failed. So after an append that failed, it looks what
stands there before it writes again: a frame that is whole counts, for the successor as for itself, and only what is
torn, which nobody counts, is cut.
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
from hydrograph.live.sources.source import Chunk
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.schema import EVENTS

_HEAD = struct.Struct("<4sIIqI")
_CHECKED = struct.Struct("<IqI")
_MAGIC = b"HYL2"
_QUARANTINE = "quarantine"
_SEGMENT = 32 * 1024 * 1024
_RECENT_BYTES = 64 * 1024 * 1024
"""Bytes of the newest frames that are kept, so that nobody reads from the disk what has just come: two segments."""
_RECENT_CHUNKS = 10_000
"""How many frames these are at most: a table takes some 12 KB, also if it has a single row."""


@dataclass(frozen=True, slots=True)
class _Segment:
    """A file of frames; what counts of it are the offsets `[start, behind)`, to its end where `behind` is None."""

    epoch: int
    start: int
    behind: int | None = None

    @property
    def file(self) -> str:
        return f"{self.start:020d}.{self.epoch:08d}.log"


class _Frame(NamedTuple):
    """A whole frame."""

    start: int
    end: int
    number: int
    rejected: int
    body: bytes


def log_end(files: Files, directory: str, known: int = 0) -> int:
    """Return the offset behind the last whole frame, for a reader in another process; `known` is one before it."""
    end = known
    for segment in _chain(_segments(files, directory)):
        if segment.behind is None or segment.behind > known:
            end = max(end, segment.start)
            for frame in _frames(files, directory, segment, end):
                end = frame.end
    return end


def read_log(files: Files, directory: str, start: int, end: int) -> Iterator[Chunk]:
    """Return the frames between two offsets, in any process; raise DataError if they are gone."""
    chain = _chain(_segments(files, directory))
    if not chain or start < chain[0].start:
        raise DataError(f"the log {directory} begins at {chain[0].start if chain else 0}, expected {start}")
    at = start
    for segment in chain:
        if segment.start >= end or (segment.behind is not None and segment.behind <= at):
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


class AppendLog:
    """The log below one directory; one writer, any number of readers in this process."""

    def __init__(self, files: Files, directory: str, lease: Lease, known: int = 0) -> None:
        """Go on behind what is there; raise DataError if it is damaged or ends before `known`, which was read once."""
        self._files = files
        self._directory = directory
        self._lease = lease
        self._lock = threading.Lock()
        self._recent: deque[Chunk] = deque()
        self._bytes = 0
        self._unsure = False
        """Whether an append has failed, so that nobody knows what stands behind the end."""
        self.number = 0
        """The number of the last element."""
        chain = _chain(_segments(files, directory))
        self._end = self._found(chain, known)
        self._start = self._end
        self._put_aside(chain)
        files.append(self._name(_Segment(lease.epoch, self._start)), 0, b"")  # from here on, nobody else's counts

    def _found(self, chain: list[_Segment], known: int) -> int:
        """Return the offset behind the last frame, when everything from `known` on can be read."""
        end = 0
        for segment in chain:
            if segment.behind is not None and segment.behind <= known:
                continue
            end = segment.start
            for frame in _frames(self._files, self._directory, segment):
                if end < frame.start and known < frame.start:
                    raise _damaged(self._directory, segment, end, frame.start)
                end, self.number = frame.end, frame.number
            if segment.behind is not None and end < segment.behind:
                raise _damaged(self._directory, segment, end, segment.behind)
        for segment in reversed(chain):
            if self.number:
                break
            for frame in _frames(self._files, self._directory, segment):
                self.number = frame.number
        if end < known:
            raise DataError(
                f"the log {self._directory} ends at {end}, but was read up to {known}: its last segment is damaged or "
                "missing; bring it back, or start with another checkpoint"
            )
        return end

    def _put_aside(self, chain: list[_Segment]) -> None:
        """Keep what stands behind the last frame: it does not count any more."""
        if chain:
            torn = self._files.read(self._name(chain[-1]), self._end - chain[-1].start)
            if torn:
                name = f"{_QUARANTINE}/{chain[-1].file}-{self._lease.epoch:08d}-from-{self._end}"
                self._files.write(name, torn)

    def _name(self, segment: _Segment) -> str:
        return f"{self._directory}/{segment.file}"

    def append(self, events: pa.Table, number: int, rejected: int = 0) -> int:
        """Write rows down, the last element of which has this number; return the offset behind them.

        Raise FencedError if another driver has taken over: it may have found them or not. After that nothing is written
        any more. After another error they may be there or not too, and are if they stand there whole.
        """
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, EVENTS) as writer:
            writer.write_table(events)
        body = sink.getvalue().to_pybytes()
        with self._lock:
            self._lease.check_known()
            if self._unsure:
                self._make_sure()
            if self._end - self._start >= _SEGMENT:
                self._start = self._end
            head = _HEAD.pack(_MAGIC, len(body), _checksum(len(body), number, rejected, body), number, rejected)
            self._unsure = True
            self._files.append(self._name(self._segment), self._end - self._start, head + body)
            self._lease.check()
            self._unsure = False
            self._count(Chunk(events, self._end, self._end + len(head) + len(body), rejected), number)
            return self._end

    @property
    def _segment(self) -> _Segment:
        """The segment that is written to."""
        return _Segment(self._lease.epoch, self._start)

    def _make_sure(self) -> None:
        """Find out what an append that failed has left: a whole frame counts, the rest may be cut."""
        self._lease.check()
        for frame in _frames(self._files, self._directory, self._segment, self._end):
            if frame.start == self._end:
                self._count(_chunk(frame), frame.number)
        self._unsure = False

    def _count(self, chunk: Chunk, number: int) -> None:
        self._end, self.number = chunk.end, number
        self._recent.append(chunk)
        self._bytes += chunk.end - chunk.start
        while self._bytes > _RECENT_BYTES or len(self._recent) > _RECENT_CHUNKS:
            self._let_go()

    def _let_go(self) -> None:
        oldest = self._recent.popleft()
        self._bytes -= oldest.end - oldest.start

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
        """Remove segments of this driver and of those before it that lie before an offset, or do not count."""
        self._lease.check()
        with self._lock:
            while self._recent and self._recent[0].end <= before:
                self._let_go()
        found = _segments(self._files, self._directory)
        chain = _chain(found)
        needed = {each.file for each in chain if each.behind is None or each.behind > before}
        # The number of the last element has to stand somewhere: a driver to come counts on from it.
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
                continue  # nothing of ours
    return sorted(found, key=lambda each: (each.epoch, each.start))


def _chain(segments: list[_Segment]) -> list[_Segment]:
    """Return the segments that count, in order: those of a driver end where the first of a later one begins."""
    chain: list[_Segment] = []
    for segment in reversed(segments):
        behind = chain[-1].start if chain else None
        if behind is None or segment.start < behind:
            chain.append(_Segment(segment.epoch, segment.start, behind))
    return chain[::-1]


def _frames(files: Files, directory: str, segment: _Segment, begin: int = 0) -> Iterator[_Frame]:
    """Return the whole frames that count of a segment, from an offset on; damaged bytes between them are left out."""
    first = max(segment.start, begin)
    data = files.read(f"{directory}/{segment.file}", first - segment.start) or b""
    at: int | None = 0
    while at is not None:
        frame = _frame(data, at, first)
        if frame is None:
            at = _next(data, at + 1)
            continue
        if segment.behind is not None and frame.end > segment.behind:
            return
        yield frame
        at = frame.end - first


def _next(data: bytes, at: int) -> int | None:
    """Return where the next whole frame begins; None if there is none."""
    while (at := data.find(_MAGIC, at)) >= 0:
        if _frame(data, at, 0) is not None:
            return at
        at += 1
    return None


def _frame(data: bytes, at: int, first: int) -> _Frame | None:
    """Return the frame at a place in the bytes, which begin at the offset `first`; None if there is no whole one."""
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
        "bring the file back from a copy, or start with another checkpoint"
    )
