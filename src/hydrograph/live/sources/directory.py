"""A growing directory: whole files appear in it, of any format, and are read in place; `_END` ends the stream.

A file counts once, when it is first seen, in the order of names among those seen together. The order is written down
before any of them is read, so that it is the same after a restart. Files have to appear complete: write them under a
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
from hydrograph.live.record import TornError, framed, unframed
from hydrograph.live.sources.source import Chunk, Given, Wake
from hydrograph.live.sources.watcher import Watcher
from hydrograph.rdf.encoding import skolem, unskolem
from hydrograph.streams import sources
from hydrograph.streams.formats.tnt import FILE_BITS, BadLines, Tally, batch
from hydrograph.streams.registry import PARQUET, looked_at
from hydrograph.streams.sources import RecordedStream

INDEX = "files.index"
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
    _length: int = field(init=False, default=0)
    _over: bool = field(init=False, default=False)
    _watcher: Watcher | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        """Read which files were seen before."""
        data = self.given.log.read(INDEX) or b""
        for line in data.splitlines(keepends=True):
            try:
                self._names.append(json.loads(unframed(line)))
            except TornError:  # whoever wrote it died over it, before any of these files was read
                break
            self._length += len(line)
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
        """Return how many files there are."""
        with os.scandir(self.path) as entries:
            present = {entry.name for entry in entries if entry.name in self._known or entry.is_file()}
        new = sorted(name for name in present - self._known if not name.startswith((".", "_")))
        if new:
            data = b"".join(framed(json.dumps(name)) for name in new)
            self.given.log.append(INDEX, self._length, data)
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
