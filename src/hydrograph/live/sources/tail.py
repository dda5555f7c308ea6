"""Growing text files: `tail:GLOB` follows every file that matches, one partition for each.

Files hold timed N-Triples and only grow, like the logs that `tail -f` follows. An offset is a position in bytes behind
a whole element: a last line without a newline, or an element of several lines (`ms:n`) that may continue, is read when
it is complete. `?end=eof` takes the files as complete: each partition ends where its file ends.

A file has to stay what it was, since a restart reads parts of it again. Rotation is refused: a file that became shorter
or was replaced ends the query with a message that names it. Write to files with new names instead; a file that appears
later is read from the next start on. The first line tells a file from another of the same name.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.decoder import LineBuffer, Numbered, decode_lines, element_group
from hydrograph.live.sources.directory.poll import PollThread
from hydrograph.live.sources.source import PartitionReader, PartitionSpec, Source, Wake
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.format_registry import TNT
from hydrograph.streams.schema import EVENTS, Row, encode_events

_PREFIX = "tail:"
_POLL = 0.02
"""Seconds between two checks of a file's size."""
_BLOCK = 64 * 1024
"""Bytes read at once when lines are looked for."""
CHUNK_BYTES = 1024 * 1024
"""Bytes after which a chunk ends."""
_FIRST_LINE = "first-line"
_FIRST_BYTES = 4096
"""Bytes of the first line that identify a file."""


class TailSource(Source):
    """The files that match a pattern; the key of a partition is the absolute path of its file."""

    def list_partitions(self) -> Sequence[str]:
        """Return the files that match now, in order; raise UsageError if there is none."""
        if self.spec.format not in (None, TNT):
            raise UsageError(f"{self.spec.url}: expected timed N-Triples (format={TNT}), got format={self.spec.format}")
        if (ends := self.spec.option("end", "never")) not in ("never", "eof"):
            raise UsageError(f"{self.spec.url}: expected end=never or eof, got end={ends}")
        pattern = self.spec.url.removeprefix(_PREFIX)
        # Path.glob takes no absolute patterns. Links are not resolved: the name is the key.
        files = sorted(str(Path(name).absolute()) for name in glob(pattern, recursive=True))  # noqa: PTH207
        files = [file for file in files if Path(file).is_file()]
        if not files:
            raise UsageError(f"no file matches {pattern}; make it first, it may be empty")
        return files

    def open(self, partition: PartitionSpec) -> TailPartition:
        """Return the reader of one file."""
        return TailPartition(partition, Path(partition.key), partition.option("end") == "eof")


@dataclass(slots=True)
class TailPartition(PartitionReader):
    """One growing file."""

    partition: PartitionSpec
    path: Path
    until_eof: bool
    _resumed: bool = field(init=False, default=False)
    _file: tuple[int, int] | None = field(init=False, default=None)
    """Device and inode of the file that is followed."""
    _known: int = field(init=False, default=0)
    """The offset at which it was resumed."""
    _size: int = field(init=False, default=0)
    """Bytes of the file that were searched for lines."""
    _end: int = field(init=False, default=0)
    _final: int | None = field(init=False, default=None)
    """The end of the partition, once it has ended."""
    _first_line: bytes | None = field(init=False, default=None)
    """Digest of the first line, as it was first read."""
    _poll: PollThread | None = field(init=False, default=None)

    def resume(self, lease: Lease, known: int) -> None:  # noqa: ARG002 - its one file is written once, by a claim
        """Begin behind what was read; raise DataError if the file is shorter, or another one."""
        self._resumed, self._known, self._size, self._end = True, known, known, known
        if known:
            self.end()

    def start(self, wake: Wake) -> None:
        """Wake the driver when the size of the file changes."""
        self._poll = PollThread(f"source {self.path}", _POLL, self._has_changed)
        self._poll.start(wake)

    def stop(self) -> None:
        """Stop polling."""
        if self._poll is not None:
            self._poll.stop()

    def _has_changed(self) -> bool:
        try:
            return self.path.stat().st_size != self._size
        except OSError:
            return True  # `end` raises it

    def end(self) -> int:
        """Return the position behind the last whole element; raise DataError if the file is not the same any more."""
        if self._final is not None:
            return self._final
        with self._open() as file:
            status = os.fstat(file.fileno())
            if self._file not in (None, (status.st_dev, status.st_ino)):
                raise self._rotated("was replaced")
            if status.st_size < self._size:
                raise self._rotated(f"has {status.st_size} bytes, expected at least {self._size}")
            self._file = status.st_dev, status.st_ino
            if self.until_eof:
                self._end = self._final = status.st_size
            elif status.st_size > self._size:
                self._end = self._last_boundary(file.fileno(), status.st_size)
            self._size = status.st_size
            if self._end:
                self._check_first_line(file.fileno())
        return self._end

    def _last_boundary(self, file: int, size: int) -> int:
        """Return the end of the last whole element; the bytes before `_size` end inside a line or in an element."""
        newline = _last_newline(file, self._size, size)
        if newline is None:
            return self._end
        behind = newline + 1
        group = None
        while behind > self._end:
            newline = _last_newline(file, self._end, behind - 1)
            start = self._end if newline is None else newline + 1
            own = element_group(os.pread(file, _BLOCK, start)[: behind - start].decode("utf-8", "replace"))
            if own is None or group not in (None, own):
                break  # behind this line a new element begins, or may begin
            group, behind = own, start
        return behind

    def has_ended(self) -> bool:
        """Return True if the file was taken as complete."""
        return self._final is not None

    def finish(self) -> None:
        """End where the query has recorded the end, even if the file has grown since."""
        self._final = self._known

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Yield the elements between two positions; `seq` counts from the position of an element's first byte."""
        with self._open() as file:
            self._check_first_line(file.fileno())
            file.seek(start)
            buffer, lines = LineBuffer(), list[Numbered]()
            begun = line = at = start
            while at < end:
                part = file.readline(min(_BLOCK, end - at))
                if not part:
                    raise self._rotated(f"has {at} bytes, expected at least {end}")
                ready, _ = buffer.add(part, line)  # the line gets the number `line + 1`
                lines += ready
                before, at = line, at + len(part)
                if not part.endswith(b"\n"):
                    continue
                line = at
                behind = at if buffer.is_empty else before if ready and buffer.group is not None else begun
                if behind - begun >= CHUNK_BYTES:
                    yield self._chunk(lines, begun, behind)
                    lines, begun = [], behind
            rest, _ = buffer.whole(line)
            yield self._chunk(lines + rest, begun, end)

    def _chunk(self, lines: Sequence[Numbered], start: int, end: int) -> Chunk:
        rows: list[Row] = []
        rejected = 0
        for part in _apart(lines):
            found, bad = decode_lines(self.partition, part, self.partition.bad)
            rows += found
            rejected += bad
        return Chunk(
            pa.Table.from_batches([encode_events(rows)]) if rows else EVENTS.empty_table(), start, end, rejected
        )

    def _open(self) -> BinaryIO:
        try:
            return self.path.open("rb")
        except OSError as error:
            raise DataError(f"{self.path}: {error.strerror or error}; bring the file back, and start again") from None

    def _check_first_line(self, file: int) -> None:
        """Raise DataError if the file is not the one that was read first."""
        line = os.pread(file, _FIRST_BYTES, 0).partition(b"\n")[0]
        digest = sha256(line).hexdigest().encode()
        if self._first_line is None and self._resumed:
            self.partition.log.claim(_FIRST_LINE, digest)
        self._first_line = self._first_line or self.partition.log.read(_FIRST_LINE)
        if self._first_line not in (None, digest):
            raise self._rotated("begins with another line than before")

    def _rotated(self, reason: str) -> DataError:
        return DataError(
            f"{self.path} {reason}: a followed file must only grow; bring it back, or start with another checkpoint, "
            "and write to files with new names instead of rotating"
        )


def _last_newline(file: int, low: int, high: int) -> int | None:
    """Return the position of the last newline in `[low, high)`, None if there is none."""
    while high > low:
        start = max(low, high - _BLOCK)
        at = os.pread(file, high - start, start).rfind(b"\n")
        if at >= 0:
            return start + at
        high = start
    return None


def _apart(lines: Sequence[Numbered]) -> Iterator[Sequence[Numbered]]:
    """Yield parts of lines in which no number of an element occurs twice, except in lines that follow each other.

    So rows do not depend on where a range was cut.
    """
    begun, last = 0, None
    seen: set[str] = set()
    for place, (_, line) in enumerate(lines):
        group = element_group(line)
        if group is not None and group != last:
            if group in seen:
                yield lines[begun:place]
                begun = place
                seen.clear()
            seen.add(group)
        last = group
    yield lines[begun:]
