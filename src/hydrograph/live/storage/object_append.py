"""Files that grow where a file system can't append, as S3: a first object, and one more for each time that they grow.

The objects that follow stand in a hidden directory beside the first, named by the place at which their bytes begin.
What counts of each are the bytes in front of the next one. So nothing is written again where a file grows by a little,
and it is cut by an object that begins where it is to end. An object that is missing reads as zeros: whoever reads has
checksums.

Of many short objects one is made now and then, under the name of the first of them: it says the same, so it does not
matter when the others go, or who reads meanwhile. Each byte is written twice at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Protocol

_MANY = 256
"""Objects of which one is made."""
_SHORT = 8 * 1024 * 1024
"""Bytes of such an object at most; longer ones are few enough."""
_ABREAST = 16
"""Objects that are read at the same time: each takes a while to answer."""
_TRIES = 5
"""Times that a file is read while its objects change."""
_KNOWN = 64
"""Files whose ends are remembered."""


class Objects(Protocol):
    """Whole objects by their names."""

    def read_object(self, name: str, start: int = 0) -> bytes:
        """Return an object from a place on; raise FileNotFoundError if there is none."""
        ...

    def write_object(self, name: str, data: bytes) -> None:
        """Write a whole object."""
        ...

    def remove_object(self, name: str) -> None:
        """Remove an object, if it is there."""
        ...

    def objects(self, directory: str) -> Mapping[str, int]:
        """Return the names and sizes of what is in a directory; nothing if it is not there."""
        ...

    def remove_directory(self, directory: str) -> None:
        """Remove a directory, if it is there."""
        ...


@dataclass(frozen=True, slots=True)
class _Part:
    """An object, and the bytes `[start, end)` of the file that it holds."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class _Tail:
    """What a writer knows of the end of a file."""

    end: int
    run: list[tuple[int, bytes]] = field(default_factory=list)
    """The short objects at the end, of which one may be made: where they begin, and their bytes."""


class Parts:
    """The files of one file system, as far as they have grown."""

    def __init__(self, objects: Objects) -> None:
        """Know of none yet."""
        self._objects = objects
        self._tails: dict[str, _Tail] = {}

    def _found(self, name: str) -> list[_Part]:
        """Return the objects behind the first, in order."""
        directory = _directory(name)
        listed = self._objects.objects(directory)
        found = [
            _Part(f"{directory}/{each}", int(each), int(each) + size) for each, size in listed.items() if each.isdigit()
        ]
        return sorted(found, key=lambda part: part.start)

    def size(self, name: str, first: int) -> int:
        """Return how long a file is, of which the first object has so many bytes."""
        found = self._found(name)
        return found[-1].end if found else first

    def read(self, name: str, start: int) -> bytes | None:
        """Return a file from a place on, None if there is none."""
        for left in reversed(range(_TRIES)):
            try:
                return self._read(name, start)
            except FileNotFoundError:  # one was made of many meanwhile, or the file was removed
                if not left:
                    raise
        raise AssertionError

    def _read(self, name: str, start: int) -> bytes | None:
        found = self._found(name)
        try:
            first = self._objects.read_object(name, start) if not found or start < found[0].start else b""
        except FileNotFoundError:
            return None
        if not found:
            return first
        places = [*(part.start for part in found), found[-1].end]
        wanted = [(part, behind) for part, behind in zip(found, places[1:], strict=True) if behind > start]
        with ThreadPoolExecutor(_ABREAST) as pool:
            read = pool.map(lambda each: self._bytes(each[0], each[1], start), wanted)
            return _filled(first, max(0, places[0] - start)) + b"".join(read)

    def _bytes(self, part: _Part, behind: int, start: int) -> bytes:
        skipped = max(0, start - part.start)
        return _filled(self._objects.read_object(part.name, skipped), behind - part.start - skipped)

    def append(self, name: str, at: int, data: bytes, size: int | None) -> None:
        """Make `data` what follows the first `at` bytes of a file that is `size` bytes long."""
        tail = self._tails[name] = self._tails.pop(name, _Tail(at))
        if len(self._tails) > _KNOWN:
            self._tails.pop(next(iter(self._tails)), None)
        if size != at:
            self._cut(name, at)
            tail.run = []
        if at == 0:
            self._objects.write_object(name, data)
        elif data or size != at:
            self._objects.write_object(_place(name, at), data)
            self._grow(name, tail, at, data)
        tail.end = at + len(data)

    def has_grown(self, name: str) -> bool:
        """Tell whether there is more of a file than its first object."""
        return bool(self._found(name))

    def known_end(self, name: str) -> int | None:
        """Return how long a file is that was appended to here, None if it was not."""
        return self._tails[name].end if name in self._tails else None

    def _cut(self, name: str, at: int) -> None:
        """Remove what begins behind a place, the last first: whoever dies over it leaves no gap."""
        for part in reversed(self._found(name)):
            if part.start > at or at == 0:
                self._objects.remove_object(part.name)

    def _grow(self, name: str, tail: _Tail, at: int, data: bytes) -> None:
        tail.run.append((at, data))
        length = at + len(data) - tail.run[0][0]
        if length > _SHORT:
            tail.run = []
        elif len(tail.run) >= _MANY:
            first, *others = tail.run
            self._objects.write_object(_place(name, first[0]), b"".join(each for _, each in tail.run))
            for place, _ in others:
                self._objects.remove_object(_place(name, place))
            tail.run = []

    def remove(self, name: str) -> None:
        """Remove what stands behind the first object of a file."""
        self._tails.pop(name, None)
        if self.has_grown(name):
            self._cut(name, 0)
            self._objects.remove_directory(_directory(name))


def _directory(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f".{path.name}.parts"))


def _place(name: str, at: int) -> str:
    return f"{_directory(name)}/{at:020d}"


def _filled(data: bytes, length: int) -> bytes:
    """Return so many bytes, zeros where there are none."""
    return data[:length] + bytes(max(0, length - len(data)))
