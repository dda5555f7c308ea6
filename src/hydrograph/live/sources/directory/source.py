"""Growing directory: complete files of any format appear in it and are read in place; `_END` ends the stream.

A file counts once, when it is first seen, in the order of names among those seen together. The order is written down
before any of them is read, so that it is the same after a restart. Files have to appear complete: write them under a
name that begins with `.` or `_`, and rename them. Each file has numbers and blank nodes of its own, except where the
directory is a recorded stream, whose files have common ones.

A file that can't be read is one rejected element where broken ones are skipped. That too is written down: what has been
reported without it is not reported with it after a restart, even if the file was repaired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from errno import EACCES, EISDIR, ENOENT
from pathlib import Path

import pyarrow as pa

from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.directory.file_index import FileIndex
from hydrograph.live.sources.directory.poll import DirectoryPoll, PollThread
from hydrograph.live.sources.directory.sequence_numbers import FileNumbers, Numbering, number_rows
from hydrograph.live.sources.source import PartitionReader, PartitionSpec, SinglePartitionSource, Wake
from hydrograph.live.sources.validate_rows import check_rows
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.streams import sources
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.format_registry import PARQUET, detect_format, format_of
from hydrograph.streams.formats.parquet import MANIFEST, Manifest
from hydrograph.streams.schema import EVENTS, check_files
from hydrograph.streams.sources import RecordedStream

_END = "_END"
_POLL = 0.01
"""Seconds between two looks into the directory."""


class DirectorySource(SinglePartitionSource):
    """A directory on this machine, or on a file system that all machines share."""

    @property
    def location(self) -> str:
        """The absolute path."""
        return str(_path(self.spec.url).resolve())

    def list_partitions(self) -> Sequence[str]:
        """Return the one partition; raise UsageError if there is no such directory."""
        if not _path(self.spec.url).is_dir():
            raise UsageError(f"{_path(self.spec.url)}: expected a directory in which files appear; make it first")
        return ("",)

    def open(self, partition: PartitionSpec) -> DirectoryPartition:
        """Return the reader."""
        path = _path(partition.url)
        return DirectoryPartition(partition, path, FileIndex(partition.log), DirectoryPoll(path))


def _path(url: str) -> Path:
    return Path(url.removeprefix("dir:").removeprefix("file://"))


@dataclass(slots=True)
class DirectoryPartition(PartitionReader):
    """The files of a directory; an offset is a number of files."""

    partition: PartitionSpec
    path: Path
    index: FileIndex
    poll: DirectoryPoll
    divisible = True
    _known: set[str] = field(init=False, default_factory=set)
    _aside: set[str] = field(init=False, default_factory=set)
    """Files that are ignored, since their format is unknown."""
    _read_once: int = field(init=False, default=0)
    """Files before this one have been read, and have to be what they were."""
    _parts: frozenset[str] | None = field(init=False, default=None)
    """The only files that count, where the directory is a recorded stream."""
    _opened: bool = field(init=False, default=False)
    _over: bool = field(init=False, default=False)
    _watcher: PollThread | None = field(init=False, default=None)

    def resume(self, lease: Lease, known: int) -> None:
        """Continue the index of files; raise DataError if it has fewer than were read."""
        self.index.look_up()
        self.index.check(known, str(self.path))
        recorded = (self.path / MANIFEST).is_file()
        self.index.open(lease, Numbering.of(shared=self.partition.shared and not self.index.names, recorded=recorded))
        self._known, self._opened, self._read_once = set(self.index.names), True, known
        if self._numbering.recorded:
            self._parts = frozenset(Manifest.read(self.path).files)
        self._check_room(0)

    def _check_room(self, more: int) -> None:
        """Raise DataError if the numbers of elements would be those of another partition."""
        most = self._numbering.most_files(shared=self.partition.shared)
        if len(self.index.names) + more > most and not self._numbering.recorded:
            raise DataError(
                f"{self.path}: expected at most {most} files, since the numbers behind them belong to other partitions "
                "of the stream: start with another checkpoint, or write fewer and larger files"
            )

    @property
    def _numbering(self) -> Numbering:
        return self.index.numbering or Numbering()

    def start(self, wake: Wake) -> None:
        """Look for new files from now on."""
        self._watcher = PollThread(f"source {self.partition.url}", _POLL, self.poll.stirs)
        self._watcher.start(wake)

    def stop(self) -> None:
        """Look no more."""
        if self._watcher is not None:
            self._watcher.stop()

    def end(self) -> int:
        """Return how many files are indexed; a reader that was resumed looks for new ones first."""
        if not self._opened:
            self.index.look_up()
            return len(self.index.names)
        try:
            if self.poll.due():
                self._look()
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be read: {error.strerror}; bring the directory back, and start again"
            ) from None
        return len(self.index.names)

    def _look(self) -> None:
        """Write down the files that are new."""
        present = self.poll.names()
        unknown = [name for name in present if name not in self._known and name not in self._aside]
        shown = [name for name in unknown if not name.startswith((".", "_")) and (self.path / name).is_file()]
        new = sorted(name for name in shown if self._counts(name))
        if new:
            self._check_room(len(new))
            self.index.add(new)
            self._known |= set(new)
        self._over = _END in unknown

    def _counts(self, name: str) -> bool:
        """Return True if a new file belongs to the stream; one of an unknown format is ignored."""
        known = self.partition.format or format_of(name) if self._parts is None else name in self._parts
        if not known:
            self._aside.add(name)
        return bool(known)

    @property
    def trouble(self) -> str | None:
        """Files that are ignored or rejected, while the query continues; None if there are none."""
        said = []
        if self._aside:
            said.append(
                f"{len(self._aside)} of its files are left aside, as {min(self._aside)}: their names end like those of "
                "no known format, say which with format="
                if self._parts is None
                else f"{len(self._aside)} of its files are not named in {MANIFEST}, and left aside"
            )
        if self.index.unreadable:
            last = max(self.index.unreadable)
            said.append(f"{len(self.index.unreadable)} files count as rejected, last: {self.index.unreadable[last]}")
        return f"{self.path}: {'; '.join(said)}" if said else None

    def has_ended(self) -> bool:
        """Tell whether the directory is closed."""
        return self._over

    def forget(self, before: int) -> None:
        """Files are not ours to remove."""

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return the files from one to another."""
        if not self._opened:
            self.index.look_up()
        for number in range(start, end):
            events, rejected = self._read(number)
            yield Chunk(events, number, number + 1, rejected)

    def _read(self, number: int) -> tuple[pa.Table, int]:
        """Return the rows of a file, and how many elements of it are rejected."""
        if number in self.index.unreadable:
            return EVENTS.empty_table(), 1
        file = self.path / self.index.names[number]
        try:
            found = self._rows(file, number)
        except DataError as error:
            if number < self._read_once:
                raise DataError(
                    f"{error}; it was read before and is still needed: bring it back as it was, or start with another "
                    "checkpoint"
                ) from None
            if self.partition.bad != "skip":
                raise DataError(
                    f"{error}; put a file that can be read in its place and start again, or say --bad-lines skip, "
                    "which counts it as rejected"
                ) from None
            self.index.reject(number, str(error))
            return EVENTS.empty_table(), 1
        self._read_once = max(self._read_once, number + 1)
        return found

    def _rows(self, file: Path, number: int) -> tuple[pa.Table, int]:
        if not file.is_file():
            raise DataError(f"{file} is gone")
        form = self.partition.format or detect_format(str(file))
        if form is None:
            raise DataError(f"{file}: expected a file of a known format; say which with format=")
        policy = BadLines("skip" if self.partition.bad == "skip" else "fail")
        stream = RecordedStream(str(file), self.partition.stream.value, form, (str(file),), self.partition.salt, policy)
        stream = replace(stream, times=self.partition.times)
        tally = ReadCounts()
        place = FileNumbers.of(self._numbering, self.partition.number, number, self.partition.salt)
        try:
            if form == PARQUET:
                check_files([file], EVENTS)
            table = sources.events_as_arrow(stream, tally).read_all()
            return number_rows(check_rows(table) if form == PARQUET else table, place), tally.bad
        except (pa.ArrowException, OSError, DataError) as error:
            raise _unreadable(file, error) from None


def _unreadable(file: Path, error: Exception) -> Exception:
    """Return why a file can't be read: what is wrong with it, and not with the machine at this moment."""
    cause = error.__cause__ if isinstance(error, DataError) else error
    if isinstance(cause, OSError) and cause.errno not in (None, ENOENT, EACCES, EISDIR):
        return cause
    words = str(error).splitlines()[0]
    return DataError(words if words.startswith(str(file)) else f"{file}: {words}")
