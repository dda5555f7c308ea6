"""Snapshots in the checkpoint: what changed is appended, and a whole one now and then begins a new file (S35).

A record says in which file its snapshot stands and how many bytes of it count. Each file is there twice, since records
of many batches lean on it: one that is torn or missing is no loss. What is behind the last record does not count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hydrograph.errors import RunError
from hydrograph.live.step.records import TornError, framed, unframed
from hydrograph.live.step.snapshot import NOTHING, Snapshot, whole
from hydrograph.live.storage.files import Files
from hydrograph.runtime.reports import Row

_DIRECTORY = "snapshots"
_COPIES = ("one", "two")


class Place(NamedTuple):
    """Where a snapshot stands: the first bytes of a file."""

    file: str
    length: int


@dataclass(slots=True)
class SnapshotLog:
    """The snapshots below one directory; each driver writes files of its own."""

    files: Files
    epoch: int
    _known: dict[str, tuple[Snapshot, Place]] = field(default_factory=dict)
    """The last snapshot of each query, and where it stands."""
    _number: int = 0

    def write(self, query: str, snapshot: Snapshot) -> Place | None:
        """Write what has changed in the solutions of a query; return where they stand, None if there is nothing."""
        known, place = self._known.get(query, (None, None))
        if snapshot is known:
            return place
        added = None if known is None or place is None else snapshot.since(known)
        if added is None or place is None:
            if snapshot is NOTHING:
                return None
            self._number += 1
            place = Place(f"{self.epoch:08d}-{self._number:08d}", 0)
            added = [snapshot if snapshot.before is None else whole(snapshot.counts())]
        data = b"".join(_line(each) for each in added)
        for copy in _COPIES:
            self.files.append(f"{_DIRECTORY}/{place.file}.{copy}", place.length, data)
        place = Place(place.file, place.length + len(data))
        self._known[query] = (snapshot, place)
        return place

    def stands(self, place: Place) -> bool:
        """Tell whether a snapshot can be read."""
        return self._read(place) is not None

    def read(self, place: Place) -> Snapshot:
        """Return a snapshot."""
        found = self._read(place)
        if found is None:
            raise RunError(f"the snapshot {place.file} is damaged: its first {place.length} bytes were written")
        return found

    def _read(self, place: Place) -> Snapshot | None:
        for copy in _COPIES:
            data = self.files.read(f"{_DIRECTORY}/{place.file}.{copy}") or b""
            try:
                return whole(_counts(data, place.length))
            except TornError:
                continue
        return None

    def keep(self, files: Collection[str], queries: Collection[str]) -> None:
        """Remove all files but some, and know nothing more of queries that are no longer there.

        Files of a later driver are left alone: this one may have slept while it took over.
        """
        self._known = {query: each for query, each in self._known.items() if query in queries}
        for name in self.files.names(_DIRECTORY):
            if name.partition(".")[0] not in files and name < f"{self.epoch + 1:08d}":
                self.files.remove(f"{_DIRECTORY}/{name}")


def _line(snapshot: Snapshot) -> bytes:
    body = [snapshot.entered, snapshot.left]
    return framed(json.dumps(body, separators=(",", ":"), ensure_ascii=False))


def _counts(data: bytes, length: int) -> Counter[Row]:
    if len(data) < length:
        raise TornError("a snapshot is shorter than what was written")
    found: Counter[Row] = Counter()
    for line in data[:length].splitlines(keepends=True):
        entered, left = (map(_row, rows) for rows in json.loads(unframed(line)))
        found.update(entered)
        found.subtract(left)
    return +found


def _row(texts: list[Any]) -> Row:
    return tuple(texts)
