"""Files in an object store or on another remote file system that Arrow opens by URL: S3, HDFS and others.

Stores such as S3 cannot append. There a file is a first object and one more object per append. The further objects are
in a hidden directory beside the first, each named by the offset of its first byte. An object counts up to the start of
the next one, so an append rewrites nothing, and a file is truncated by an object that starts at the new end. A missing
object reads as zeros; readers verify checksums.

Many short objects are compacted into one from time to time, under the name of the first of them. Its content is the
same, so concurrent readers are not disturbed and the others can be removed at any time. Each byte is written at most
twice.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Protocol

import pyarrow as pa
import pyarrow.fs as pafs

from hydrograph.errors import RunError

COMPACTED_OBJECTS = 256
"""Short objects that are compacted into one."""
SHORT_OBJECT_BYTES = 8 * 1024 * 1024
"""Largest size of a compacted object."""
_PARALLEL_READS = 16
"""Objects read at the same time; each request has a high latency."""
_READ_ATTEMPTS = 5
"""Attempts to read a file while its objects are compacted."""
CACHED_TAILS = 64
"""Files whose end is remembered."""


class ObjectStore(Protocol):
    """Store of whole objects, addressed by name."""

    def read_object(self, name: str, start: int = 0) -> bytes:
        """Return the bytes of an object from `start`; raise FileNotFoundError if it does not exist."""
        ...

    def write_object(self, name: str, data: bytes) -> None:
        """Write a whole object."""
        ...

    def remove_object(self, name: str) -> None:
        """Remove an object if it exists."""
        ...

    def objects(self, directory: str) -> Mapping[str, int]:
        """Return the names and sizes of the objects in a directory; none if it does not exist."""
        ...

    def remove_directory(self, directory: str) -> None:
        """Remove a directory if it exists."""
        ...


@dataclass(frozen=True, slots=True)
class _ObjectPart:
    """Object that holds the bytes `[start, end)` of a file."""

    name: str
    start: int
    end: int


@dataclass(slots=True)
class _Tail:
    """End of a file as its writer knows it."""

    end: int
    run: list[tuple[int, bytes]] = field(default_factory=list)
    """Short objects at the end that may be compacted: their offsets and bytes."""


class ObjectAppender:
    """Append, truncate and read of files in a store that only writes whole objects."""

    def __init__(self, objects: ObjectStore) -> None:
        """Append to files of `objects`."""
        self._objects = objects
        self._tails: dict[str, _Tail] = {}

    def _parts(self, name: str) -> list[_ObjectPart]:
        """Return the objects after the first, in order."""
        directory = _parts_directory(name)
        listed = self._objects.objects(directory)
        parts = [
            _ObjectPart(f"{directory}/{each}", int(each), int(each) + size)
            for each, size in listed.items()
            if each.isdigit()
        ]
        return sorted(parts, key=lambda part: part.start)

    def size(self, name: str, first: int) -> int:
        """Return the size of a file whose first object has `first` bytes."""
        parts = self._parts(name)
        return parts[-1].end if parts else first

    def read(self, name: str, start: int) -> bytes | None:
        """Return the bytes of a file from `start`; None if it does not exist."""
        for left in reversed(range(_READ_ATTEMPTS)):
            try:
                return self._read(name, start)
            except FileNotFoundError:  # compacted or removed meanwhile
                if not left:
                    raise
        raise AssertionError

    def _read(self, name: str, start: int) -> bytes | None:
        parts = self._parts(name)
        try:
            first = self._objects.read_object(name, start) if not parts or start < parts[0].start else b""
        except FileNotFoundError:
            return None
        if not parts:
            return first
        places = [*(part.start for part in parts), parts[-1].end]
        wanted = [(part, behind) for part, behind in zip(parts, places[1:], strict=True) if behind > start]
        with ThreadPoolExecutor(_PARALLEL_READS) as pool:
            read = pool.map(lambda each: self._bytes(each[0], each[1], start), wanted)
            return _padded(first, max(0, places[0] - start)) + b"".join(read)

    def _bytes(self, part: _ObjectPart, behind: int, start: int) -> bytes:
        skipped = max(0, start - part.start)
        return _padded(self._objects.read_object(part.name, skipped), behind - part.start - skipped)

    def append(self, name: str, at: int, data: bytes, size: int | None) -> None:
        """Truncate a file of `size` bytes to `at` bytes and append `data`."""
        tail = self._tails[name] = self._tails.pop(name, _Tail(at))
        if len(self._tails) > CACHED_TAILS:
            self._tails.pop(next(iter(self._tails)), None)
        if size != at:
            self._cut(name, at)
            tail.run = []
        if at == 0:
            self._objects.write_object(name, data)
        elif data or size != at:
            self._objects.write_object(_part_name(name, at), data)
            self._grow(name, tail, at, data)
        tail.end = at + len(data)

    def has_grown(self, name: str) -> bool:
        """Return whether a file consists of more than its first object."""
        return bool(self._parts(name))

    def known_end(self, name: str) -> int | None:
        """Return the size of a file that this process has appended to; None for other files."""
        return self._tails[name].end if name in self._tails else None

    def _cut(self, name: str, at: int) -> None:
        """Remove the objects that start after an offset, the last first, so that a crash leaves no gap."""
        for part in reversed(self._parts(name)):
            if part.start > at or at == 0:
                self._objects.remove_object(part.name)

    def _grow(self, name: str, tail: _Tail, at: int, data: bytes) -> None:
        tail.run.append((at, data))
        length = at + len(data) - tail.run[0][0]
        if length > SHORT_OBJECT_BYTES:
            tail.run = []
        elif len(tail.run) >= COMPACTED_OBJECTS:
            first, *others = tail.run
            self._objects.write_object(_part_name(name, first[0]), b"".join(each for _, each in tail.run))
            for place, _ in others:
                self._objects.remove_object(_part_name(name, place))
            tail.run = []

    def remove(self, name: str) -> None:
        """Remove the objects of a file after the first."""
        self._tails.pop(name, None)
        if self.has_grown(name):
            self._cut(name, 0)
            self._objects.remove_directory(_parts_directory(name))


def _parts_directory(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(f".{path.name}.parts"))


def _part_name(name: str, at: int) -> str:
    return f"{_parts_directory(name)}/{at:020d}"


def _padded(data: bytes, length: int) -> bytes:
    """Return `length` bytes, padded with zeros."""
    return data[:length] + bytes(max(0, length - len(data)))


class RemoteFiles:
    """Files on a remote file system that Arrow opens by URL."""

    def __init__(self, system: pafs.FileSystem, root: str) -> None:
        """Store files below `root`."""
        self._system = system
        self._root = PurePosixPath(root)
        self._own = secrets.token_hex(8)
        self._made: set[str] = set()
        self._appender = ObjectAppender(self)

    def _path(self, name: str) -> str:
        return str(self._root / name)

    @cached_property
    def _appends(self) -> bool:
        """Whether the file system can append, tested with a file in a directory that does not exist."""
        try:
            with self._system.open_append_stream(self._path(f".{self._own}/{self._own}")):
                pass
        except (pa.ArrowNotImplementedError, NotImplementedError):
            return False
        except OSError:
            return True
        self._system.delete_file(self._path(f".{self._own}/{self._own}"))
        return True

    def read(self, name: str, start: int = 0) -> bytes | None:
        """Return the bytes of a file from `start`; None if it does not exist."""
        if not self._appends:
            return self._appender.read(name, start)
        try:
            return self.read_object(name, start)
        except FileNotFoundError:
            return None

    def read_object(self, name: str, start: int = 0) -> bytes:
        """Return the bytes of one object from `start`; raise FileNotFoundError if it does not exist."""
        with self._system.open_input_file(self._path(name)) as file:
            file.seek(min(start, file.size()))
            data: bytes = file.read()
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically."""
        if not self._appends:
            self._appender.remove(name)
        self.write_object(name, data)

    def write_object(self, name: str, data: bytes) -> None:
        """Write one object atomically."""
        path = PurePosixPath(self._path(name))
        if str(path.parent) not in self._made:
            self._system.create_dir(str(path.parent), recursive=True)
            self._made.add(str(path.parent))
        partial = str(path.with_name(f".{path.name}.partial-{self._own}"))
        with self._system.open_output_stream(partial) as stream:
            stream.write(data)
        self._system.move(partial, str(path))

    def claim(self, name: str, data: bytes) -> bool:
        """Create a file if it does not exist; return False if it does.

        Arrow cannot create exclusively. If two drivers create a file at the same time, the last one has it, and each
        finds out by reading it again. So every driver must write different `data`.
        """
        if self.size(name) is not None:
            return False
        self.write(name, data)
        return self.read(name) == data

    def append(self, name: str, at: int, data: bytes) -> None:
        """Truncate a file to `at` bytes and append `data`."""
        size = None if self._appends else self._appender.known_end(name)
        if size is None or size != at:
            size = self.size(name)
        if at and (size is None or size < at):
            raise RunError(
                f"{self._path(name)} has {size or 0} bytes, expected at least {at}: another program has changed it"
            )
        if not self._appends:
            self._appender.append(name, at, data, size)
        elif at and size == at:
            with self._system.open_append_stream(self._path(name)) as stream:
                stream.write(data)
        else:
            before = (self.read(name) or b"")[:at] if at else b""
            self.write(name, before + data)

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        (info,) = self._system.get_file_info([self._path(name)])
        if info.type != pafs.FileType.File:
            return None
        return int(info.size) if self._appends else self._appender.size(name, int(info.size))

    def names(self, directory: str) -> list[str]:
        """Return the sorted names of the files in a directory, without hidden ones; none if it does not exist."""
        return sorted(name for name in self.objects(directory) if not name.startswith("."))

    def objects(self, directory: str) -> dict[str, int]:
        """Return the names and sizes of the objects in a directory, hidden ones included."""
        selector = pafs.FileSelector(self._path(directory), allow_not_found=True)
        listed = self._system.get_file_info(selector)
        return {PurePosixPath(info.path).name: int(info.size or 0) for info in listed}

    def move(self, name: str, to: str) -> None:
        """Rename a file."""
        if not self._appends and self._appender.has_grown(name):
            self.write(to, self.read(name) or b"")
            self.remove(name)
            return
        self._system.create_dir(str(PurePosixPath(self._path(to)).parent), recursive=True)
        self._system.move(self._path(name), self._path(to))

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        if not self._appends:
            self._appender.remove(name)
        self.remove_object(name)

    def remove_object(self, name: str) -> None:
        """Remove one object if it exists."""
        with suppress(FileNotFoundError):
            self._system.delete_file(self._path(name))

    def remove_directory(self, directory: str) -> None:
        """Remove a directory if it exists."""
        self._made.discard(self._path(directory))
        with suppress(FileNotFoundError):
            self._system.delete_dir(self._path(directory))

    def close(self) -> None:
        """Do nothing: no handles stay open."""

    @property
    def local_root(self) -> Path | None:
        """None: the files are remote."""
        return None
