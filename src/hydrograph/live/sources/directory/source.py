"""Growing directory: complete files of any format appear in it and are read in place; `_END` ends the stream.

A file counts once, when it is first seen. Files seen together count in the order that replay plays them in: that of the
times in their names where names give them, else that of names. The order is written down before any of them is read, so
that it is the same after a restart; a file that appears later counts later, whatever time it has. Files have to appear
complete: write them under a name that begins with `.` or `_`, and rename them. Each file has numbers and blank nodes of
its own, except where the directory is a recorded stream, whose files have common ones.

A file that can't be read is one rejected element where broken ones are skipped. That too is written down: what has been
reported without it is not reported with it after a restart, even if the file was repaired.

`FileIndex` holds that order. Every offset depends on it, so it is stored twice, by each driver in files of its own that
start with the entries of earlier drivers. A process that reads for a driver and finds an unreadable file writes a note
beside the index, with the number of the driver in its name; the next driver copies it into its index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from errno import EACCES, EISDIR, ENOENT
from pathlib import Path
from typing import Any

import pyarrow as pa

from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.directory.poll import DirectoryPoll, PollThread
from hydrograph.live.sources.directory.sequence_numbers import FileNumbers, Numbering, number_rows
from hydrograph.live.sources.source import PartitionReader, PartitionSpec, SinglePartitionSource, Wake
from hydrograph.live.sources.validate_rows import check_rows
from hydrograph.live.storage.files import Files, TornError, frame, unframe
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.streams import sources
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.event_time import order_by_time
from hydrograph.streams.format_registry import PARQUET, TNT, detect_format, format_of
from hydrograph.streams.formats.parquet import MANIFEST, Manifest
from hydrograph.streams.schema import EVENTS, check_files
from hydrograph.streams.sources import RecordedStream

_INDEX = "index"
_COPIES = ("one", "two")
_NOTES = "unreadable"

Entry = str | dict[str, Any]
"""The name of a file; or, with a name for each value, how files are numbered, or one that can't be read."""


@dataclass(slots=True)
class FileIndex:
    """The files of a directory, as the last driver that wrote them down knows them."""

    log: Files
    names: list[str] = field(init=False, default_factory=list)
    unreadable: dict[int, str] = field(init=False, default_factory=dict)
    """Why a file can't be read, by its number."""
    numbering: Numbering | None = field(init=False, default=None)
    """How elements are numbered; None before it is decided."""
    _epoch: int = field(init=False, default=0)
    _lease: Lease | None = field(init=False, default=None)
    _length: int = field(init=False, default=0)

    def look_up(self) -> None:
        """Take up what is written down."""
        self.names, self.unreadable, self.numbering = [], {}, None
        for epoch in reversed(_epochs(self.log)):
            entries = max((_read_copy(self.log.read(_copy(epoch, copy)) or b"") for copy in _COPIES), key=len)
            if entries:
                self._epoch = epoch
                self._take_up(entries[1:])
                self.unreadable |= _notes(self.log, epoch)
                return

    def _take_up(self, entries: Sequence[Any]) -> None:
        for entry in entries:
            match entry:
                case {"unreadable": int(number), "reason": str(reason)}:
                    self.unreadable[number] = reason
                case {"bits": int(bits), "recorded": bool(recorded)}:
                    self.numbering = Numbering(bits, recorded=recorded)
                case _:
                    self.names.append(str(entry))

    def open(self, lease: Lease, numbering: Numbering) -> None:
        """Continue the stored index under a new lease; `numbering` applies if no file was indexed yet."""
        self.numbering = self.numbering or numbering
        entries: list[Entry] = [{"bits": self.numbering.bits, "recorded": self.numbering.recorded}, *self.names]
        entries += [_unreadable_entry(number, reason) for number, reason in sorted(self.unreadable.items())]
        data = b"".join(frame(json.dumps(each)) for each in (len(entries), *entries))
        for copy in _COPIES:
            self.log.write(_copy(lease.epoch, copy), data)
        self._lease, self._epoch, self._length = lease, lease.epoch, len(data)
        self._forget(
            [each for each in _epochs(self.log) if each < lease.epoch][:-1]
        )  # one more, should this be damaged

    def _forget(self, epochs: Sequence[int]) -> None:
        for epoch in epochs:
            for copy in _COPIES:
                self.log.remove(_copy(epoch, copy))
            for number in _notes(self.log, epoch):
                self.log.remove(_note(epoch, number))

    def add(self, names: Sequence[str]) -> None:
        """Write down files that are new, in this order."""
        self._append(names)
        self.names += names

    def reject(self, number: int, reason: str) -> None:
        """Write down that a file can't be read, and why; it stays so whatever becomes of the file."""
        entry = _unreadable_entry(number, reason)
        if self._lease is None:
            self.log.claim(_note(self._epoch, number), frame(json.dumps(entry)))
        else:
            self._append([entry])
        self.unreadable[number] = reason

    def _append(self, entries: Sequence[Entry]) -> None:
        assert self._lease is not None, "the index is opened before it is written"
        data = b"".join(frame(json.dumps(entry)) for entry in entries)
        for copy in _COPIES:
            self.log.append(_copy(self._lease.epoch, copy), self._length, data)
        self._length += len(data)

    def check(self, known: int, place: str) -> None:
        """Raise DataError if fewer files are written down than were read."""
        if len(self.names) < known:
            raise DataError(
                f"{place}: {known} files were read, but the checkpoint knows the order of {len(self.names)} only: "
                f"both copies of {_INDEX}/ are damaged or missing; bring one back, or start with another checkpoint"
            )


def _unreadable_entry(number: int, reason: str) -> dict[str, Any]:
    return {"unreadable": number, "reason": reason}


def _copy(epoch: int, copy: str) -> str:
    return f"{_INDEX}/{epoch:08d}.{copy}"


def _note(epoch: int, number: int) -> str:
    return f"{_NOTES}/{epoch:08d}.{number}"


def _notes(log: Files, epoch: int) -> dict[int, str]:
    """Return what processes that read for a driver could not read."""
    return dict(_found_notes(log, epoch))


def _found_notes(log: Files, epoch: int) -> Iterator[tuple[int, str]]:
    for name in log.names(_NOTES):
        of, _, number = name.partition(".")
        if int(of) == epoch:
            try:
                entry = json.loads(unframe(log.read(f"{_NOTES}/{name}") or b""))
            except TornError:  # its existence is enough
                entry = _unreadable_entry(int(number), "its note is torn")
            yield int(number), entry["reason"]


def _epochs(log: Files) -> list[int]:
    return sorted({int(name.partition(".")[0]) for name in log.names(_INDEX) if name.endswith(_COPIES)})


def _read_copy(data: bytes) -> list[Any]:
    """Return the intact entries; nothing if fewer are intact than the first one announces."""
    found: list[Any] = []
    for line in data.splitlines(keepends=True):
        try:
            found.append(json.loads(unframe(line)))
        except TornError:  # the writer died while appending, before any of these files was read
            break
    return found if found and len(found) > int(found[0]) else []


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
        new = self._order([name for name in shown if self._counts(name)])
        if new:
            self._check_room(len(new))
            self.index.add(new)
            self._known |= set(new)
        self._over = _END in unknown

    def _order(self, names: list[str]) -> list[str]:
        """Return files that are seen together in the order in which they count."""
        formats = {self.partition.format or format_of(name) for name in names}
        return sorted(names) if formats & {TNT, PARQUET} else order_by_time(names, self.partition.times)

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
