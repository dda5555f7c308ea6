"""A growing directory: whole files appear in it, of any format, and are read in place; `_END` ends the stream.

A file counts once, when it is first seen, in the order of names among those seen together. The order is written down
before any of them is read, so that it is the same after a restart: twice, since every offset leans on it, and by each
driver in files of its own, which begin with what was seen before it. Files have to appear complete: write them under a
name that begins with `.` or `_`, and rename them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.errors import DataError, UsageError
from hydrograph.live.files import Files
from hydrograph.live.lease import Lease
from hydrograph.live.record import TornError, framed, unframed
from hydrograph.live.sources.source import Chunk, Given, Wake
from hydrograph.live.sources.watcher import Watcher
from hydrograph.rdf.encoding import skolem, unskolem
from hydrograph.streams import sources
from hydrograph.streams.formats.tnt import FILE_BITS, BadLines, Tally, batch
from hydrograph.streams.registry import PARQUET, looked_at
from hydrograph.streams.sources import RecordedStream

_INDEX = "index"
_COPIES = ("one", "two")
_END = "_END"
_POLL = 0.02
"""Seconds between two looks into the directory."""


def open_source(given: Given) -> DirectorySource:
    """Return a directory as a source."""
    path = Path(given.url.removeprefix("dir:").removeprefix("file://"))
    if not path.is_dir():
        raise UsageError(f"{path}: expected a directory in which files appear; make it first")
    return DirectorySource(given, path)


@dataclass(slots=True)
class DirectorySource:
    """The files of a directory; an offset is a number of files."""

    given: Given
    path: Path
    _names: list[str] = field(init=False, default_factory=list)
    _known: set[str] = field(init=False, default_factory=set)
    _lease: Lease | None = field(init=False, default=None)
    _length: int = field(init=False, default=0)
    _over: bool = field(init=False, default=False)
    _watcher: Watcher | None = field(init=False, default=None)

    def open(self, lease: Lease, known: int) -> None:
        """Go on behind the files that were seen before; raise DataError if these are fewer than were read."""
        log = self.given.log
        self._look_up()
        if len(self._names) < known:
            raise DataError(
                f"{self.path}: {known} files were read, but the checkpoint knows the order of {len(self._names)} only: "
                f"both copies of {_INDEX}/ are damaged or missing; bring one back, or start with another checkpoint"
            )
        data = b"".join(framed(json.dumps(each)) for each in (len(self._names), *self._names))
        for copy in _COPIES:
            log.write(_copy(lease.epoch, copy), data)
        self._lease, self._length = lease, len(data)
        for epoch in [each for each in _epochs(log) if each < lease.epoch][:-1]:  # one more, should this be damaged
            for copy in _COPIES:
                log.remove(_copy(epoch, copy))

    def _look_up(self) -> None:
        self._names = seen_files(self.given.log)
        self._known = set(self._names)

    def start(self, wake: Wake) -> None:
        """Look for new files from now on."""
        self._watcher = Watcher(f"source {self.given.url}", _POLL)
        self._watcher.start(wake)

    def stop(self) -> None:
        """Look no more."""
        if self._watcher is not None:
            self._watcher.stop()

    def end(self) -> int:
        """Return how many files there are; if it is not opened, how many have been found by whoever opened it."""
        if self._lease is None:
            self._look_up()
            return len(self._names)
        with os.scandir(self.path) as entries:
            present = {entry.name for entry in entries if entry.name in self._known or entry.is_file()}
        new = sorted(name for name in present - self._known if not name.startswith((".", "_")))
        if new:
            data = b"".join(framed(json.dumps(name)) for name in new)
            for copy in _COPIES:
                self.given.log.append(_copy(self._lease.epoch, copy), self._length, data)
            self._length += len(data)
            self._names += new
            self._known |= set(new)
        self._over = _END in present
        return len(self._names)

    def finished(self) -> bool:
        """Tell whether the directory is closed."""
        return self._over

    def forget(self, before: int) -> None:
        """Files are not ours to remove."""

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return the files from one to another."""
        if self._lease is None:
            self._look_up()
        for index in range(start, end):
            events, rejected = self._read(index)
            yield Chunk(events, index, index + 1, rejected)

    def _read(self, index: int) -> tuple[pa.Table, int]:
        file = self.path / self._names[index]
        if not file.is_file():
            raise DataError(f"{file} is gone, but is still needed: bring it back, or start with another checkpoint")
        form = self.given.format or looked_at(str(file))
        if form is None:
            raise DataError(f"{file}: expected a file of a known format; say which with format=")
        policy = BadLines("skip" if self.given.bad == "skip" else "fail")
        stream = RecordedStream(str(file), self.given.stream.value, form, (str(file),), self.given.salt, policy)
        stream = replace(stream, times=self.given.times)
        tally = Tally()
        table = sources.events_as_arrow(stream, tally).read_all()
        if form == PARQUET or not index:
            return table, tally.bad
        return _placed(table, index, self.given.salt), tally.bad


def seen_files(log: Files) -> list[str]:
    """Return the names of the files that were seen, in their order: as the last driver that wrote it down knows it."""
    for epoch in reversed(_epochs(log)):
        names = max((_read_copy(log.read(_copy(epoch, copy)) or b"") for copy in _COPIES), key=len)
        if names:
            return [str(name) for name in names[1:]]
    return []


def _copy(epoch: int, copy: str) -> str:
    return f"{_INDEX}/{epoch:08d}.{copy}"


def _epochs(log: Files) -> list[int]:
    return sorted({int(name.partition(".")[0]) for name in log.names(_INDEX) if name.endswith(_COPIES)})


def _read_copy(data: bytes) -> list[int | str]:
    """Return the lines that are whole, the first of which says how many were taken over; nothing if not all are."""
    found: list[int | str] = []
    for line in data.splitlines(keepends=True):
        try:
            found.append(json.loads(unframed(line)))
        except TornError:  # whoever wrote it died over it, before any of these files was read
            break
    return found if found and len(found) > int(found[0]) else []


def _placed(table: pa.Table, index: int, salt: str) -> pa.Table:
    """Return the rows with the number of their file in their places, and in the names of blank nodes."""
    seq = table.column("seq").to_numpy() + (index << FILE_BITS)
    blank = [pc.any(pc.starts_with(table.column(name), "_:")).as_py() for name in ("s", "o")]
    if not any(blank):
        return table.set_column(table.schema.get_field_index("seq"), "seq", pa.array(seq))
    rows = []
    columns = (table.column(name).to_pylist() for name in ("t", "seq", "s", "p", "o"))
    for t, old, s, p, o in zip(*columns, strict=True):
        new = old + (index << FILE_BITS)
        subject, thing = (
            skolem(salt, new, unskolem(text, salt, old)[2:]) if text[0] == "_" else text for text in (s, o)
        )
        rows.append((t, new, subject, p, thing))
    return pa.Table.from_batches([batch(rows)])
