"""Index of a directory: its files in the order in which they were first seen, and which could not be read.

Every offset leans on it, so it is kept twice, and by each driver in files of its own, which begin with what drivers
before it knew. A process that reads for a driver and finds a file that can't be read leaves a note beside the index,
with the number of the driver in its name: the next driver takes it over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from hydrograph.errors import DataError
from hydrograph.live.sources.directory.sequence_numbers import Numbering
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.framing import TornError, frame, unframe
from hydrograph.live.storage.lease import Lease

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
        entries += [_unreadable(number, reason) for number, reason in sorted(self.unreadable.items())]
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
        entry = _unreadable(number, reason)
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


def _unreadable(number: int, reason: str) -> dict[str, Any]:
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
                entry = _unreadable(int(number), "its note is torn")
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
