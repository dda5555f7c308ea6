"""Snapshot log of a checkpoint: changes are appended, and a full snapshot starts a new file from time to time (S35).

A batch record names the file of its snapshot and how many bytes of it count. Each file is written twice, because the
records of many batches depend on it: if one copy is torn or missing, the other is used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hydrograph.errors import RunError
from hydrograph.live.step.records import EMPTY_SNAPSHOT, Snapshot, full_snapshot
from hydrograph.live.storage.files import Files, TornError, frame, unframe
from hydrograph.runtime.reports import Row

_DIRECTORY = "snapshots"
_COPIES = ("one", "two")


class SnapshotPosition(NamedTuple):
    """Position of a snapshot: the first `length` bytes of a file."""

    file: str
    length: int


@dataclass(slots=True)
class SnapshotLog:
    """Snapshots below one directory; each driver writes files of its own."""

    files: Files
    epoch: int
    _known: dict[str, tuple[Snapshot, SnapshotPosition]] = field(default_factory=dict)
    """The last snapshot of each query, and its position."""
    _number: int = 0

    def write(self, query: str, snapshot: Snapshot) -> SnapshotPosition | None:
        """Append the changes of a query's snapshot; return its position, None if it is empty."""
        known, position = self._known.get(query, (None, None))
        if snapshot is known:
            return position
        added = None if known is None or position is None else snapshot.since(known)
        if added is None or position is None:
            if snapshot is EMPTY_SNAPSHOT:
                return None
            self._number += 1
            position = SnapshotPosition(f"{self.epoch:08d}-{self._number:08d}", 0)
            added = [snapshot if snapshot.before is None else full_snapshot(snapshot.counts())]
        data = b"".join(_line(each) for each in added)
        for copy in _COPIES:
            self.files.append(f"{_DIRECTORY}/{position.file}.{copy}", position.length, data)
        position = SnapshotPosition(position.file, position.length + len(data))
        self._known[query] = (snapshot, position)
        return position

    def is_intact(self, position: SnapshotPosition) -> bool:
        """Return whether a snapshot can be read."""
        return self._read(position) is not None

    def read(self, position: SnapshotPosition) -> Snapshot:
        """Return a snapshot; raise RunError if both copies are damaged."""
        found = self._read(position)
        if found is None:
            raise RunError(f"the snapshot {position.file} is damaged: its first {position.length} bytes were written")
        return found

    def _read(self, position: SnapshotPosition) -> Snapshot | None:
        for copy in _COPIES:
            data = self.files.read(f"{_DIRECTORY}/{position.file}.{copy}") or b""
            try:
                return full_snapshot(_counts(data, position.length))
            except TornError:
                continue
        return None

    def keep(self, files: Collection[str], queries: Collection[str]) -> None:
        """Remove all files except `files`, and drop the snapshots of queries that no longer run.

        Files of a later driver stay: this driver may be fenced without knowing yet.
        """
        self._known = {query: each for query, each in self._known.items() if query in queries}
        for name in self.files.names(_DIRECTORY):
            if name.partition(".")[0] not in files and name < f"{self.epoch + 1:08d}":
                self.files.remove(f"{_DIRECTORY}/{name}")


def _line(snapshot: Snapshot) -> bytes:
    body = [snapshot.entered, snapshot.left]
    return frame(json.dumps(body, separators=(",", ":"), ensure_ascii=False))


def _counts(data: bytes, length: int) -> Counter[Row]:
    if len(data) < length:
        raise TornError("a snapshot file is shorter than recorded")
    found: Counter[Row] = Counter()
    for line in data[:length].splitlines(keepends=True):
        entered, left = (map(_row, rows) for rows in json.loads(unframe(line)))
        found.update(entered)
        found.subtract(left)
    return +found


def _row(texts: list[Any]) -> Row:
    return tuple(texts)
