"""Files of a checkpoint, an input log or a results directory, on local disk or behind a URL.

A file written as a whole is atomic: it is written under a temporary name and renamed. An append may be torn at its end,
so each appended line carries a checksum (`frame`), which readers verify (`unframe`).
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from hydrograph.atomic_files import atomic_path
from hydrograph.errors import RunError, UsageError
from hydrograph.live.storage.disk_full import DISK_FULL_ERRORS, DiskFullWait
from hydrograph.live.storage.object_store import RemoteFiles

_T = TypeVar("_T")
_OPEN_FILES = 2
"""Files per directory that stay open for appending: indexes and snapshots are written in two copies."""


class Files(Protocol):
    """Files below one directory; `/` separates the parts of a name."""

    def read(self, name: str, start: int = 0) -> bytes | None:
        """Return the bytes of a file from `start`; None if it does not exist."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically."""
        ...

    def claim(self, name: str, data: bytes) -> bool:
        """Create a file exclusively; return False if it exists."""
        ...

    def append(self, name: str, at: int, data: bytes) -> None:
        """Truncate a file to `at` bytes and append `data`."""
        ...

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        ...

    def names(self, directory: str) -> list[str]:
        """Return the sorted names of the files in a directory, without hidden ones; none if it does not exist."""
        ...

    def move(self, name: str, to: str) -> None:
        """Rename a file."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        ...

    def close(self) -> None:
        """Close open file handles; the files stay usable."""
        ...

    @property
    def local_root(self) -> Path | None:
        """The directory on local disk; None for remote files."""
        ...


class LocalFiles:
    """Files on local disk."""

    def __init__(self, root: Path, *, sync: bool = False, disk_full: DiskFullWait | None = None) -> None:
        """Keep files below `root`; `sync` calls fsync after each write, so that data survives a power loss.

        A write to a full disk waits on `disk_full`; without it, it raises RunError.
        """
        self.root = root
        self._sync = sync
        self._disk_full = disk_full
        self._known: set[Path] = set()
        self._open: dict[str, int] = {}
        """File descriptors kept for appending, least recently used first."""
        self._lock = threading.Lock()

    def _path(self, name: str) -> Path:
        path = self.root / name
        if path.parent not in self._known:
            made = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            for each in made:
                self._sync_parent(each)
            self._known.add(path.parent)
        return path

    def _sync_parent(self, path: Path) -> None:
        """Call fsync on the parent directory, which holds the name of a new file."""
        if self._sync:
            descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def read(self, name: str, start: int = 0) -> bytes | None:
        """Return the bytes of a file from `start`; None if it does not exist."""
        try:
            with (self.root / name).open("rb") as file:
                file.seek(start)
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file atomically."""

        def attempt() -> None:
            path = self._path(name)
            with atomic_path(path) as temporary:
                descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
                try:
                    self._write(descriptor, data)
                finally:
                    os.close(descriptor)
            self._close(name)  # an open descriptor still refers to the replaced file
            self._sync_parent(path)

        self._retry_when_full(name, attempt)

    def claim(self, name: str, data: bytes) -> bool:
        """Create a file exclusively; return False if it exists."""

        def attempt() -> bool:
            path = self._path(name)
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
            except FileExistsError:
                return False
            try:
                self._write(descriptor, data)
                self._sync_parent(path)
            except OSError:
                path.unlink()  # created but incomplete: the next attempt creates it again
                raise
            finally:
                os.close(descriptor)
            return True

        return self._retry_when_full(name, attempt)

    def _write(self, descriptor: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if self._sync:
            os.fsync(descriptor)

    def _retry_when_full(self, name: str, attempt: Callable[[], _T]) -> _T:
        """Repeat a write while the disk is full; raise RunError for any other error."""
        try:
            while True:
                try:
                    return attempt()
                except OSError as error:
                    message = f"cannot write {self.root / name}: {os.strerror(error.errno or 0)}"
                    is_full = error.errno in DISK_FULL_ERRORS
                    if self._disk_full is None or not is_full or not self._disk_full.wait(message):
                        raise RunError(f"{message}; no data is lost, restart when it can be written") from error
        finally:
            if self._disk_full is not None:
                self._disk_full.finish()

    def append(self, name: str, at: int, data: bytes) -> None:
        """Truncate a file to `at` bytes and append `data`."""

        def attempt() -> None:
            with self._lock:  # no other thread closes the descriptor meanwhile
                self._append(self._descriptor(name), name, at, data)

        self._retry_when_full(name, attempt)

    def _descriptor(self, name: str) -> int:
        """Return an open descriptor of a file, creating the file if needed; close the least recently used ones."""
        descriptor = self._open.pop(name, None)
        if descriptor is not None:
            self._open[name] = descriptor
            return descriptor
        path = self._path(name)
        new = not path.exists()
        self._open[name] = descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        beside = [each for each in self._open if PurePosixPath(each).parent == PurePosixPath(name).parent]
        for each in beside[:-_OPEN_FILES]:
            os.close(self._open.pop(each))
        if new:
            self._sync_parent(path)
        return descriptor

    def _append(self, descriptor: int, name: str, at: int, data: bytes) -> None:
        size = os.fstat(descriptor).st_size
        if size < at:
            raise RunError(
                f"{self.root / name} has {size} bytes, expected at least {at}: another program has changed it"
            )
        if size > at:
            os.ftruncate(descriptor, at)
        os.lseek(descriptor, at, os.SEEK_SET)
        self._write(descriptor, data)

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        try:
            return (self.root / name).stat().st_size
        except FileNotFoundError:
            return None

    def names(self, directory: str) -> list[str]:
        """Return the sorted names of the files in a directory, without hidden ones; none if it does not exist."""
        try:
            found = [path.name for path in (self.root / directory).iterdir()]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if not name.startswith("."))

    def move(self, name: str, to: str) -> None:
        """Rename a file."""
        self._close(name)
        self._sync_parent((self.root / name).replace(self._path(to)))

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        self._close(name)
        (self.root / name).unlink(missing_ok=True)

    def _close(self, name: str) -> None:
        with self._lock:
            descriptor = self._open.pop(name, None)
            if descriptor is not None:
                os.close(descriptor)

    def close(self) -> None:
        """Close open file handles; the files stay usable."""
        for name in list(self._open):
            self._close(name)

    @property
    def local_root(self) -> Path | None:
        """The directory on local disk."""
        return self.root


def files_at(location: str, *, sync: bool = False, disk_full: DiskFullWait | None = None) -> Files:
    """Return the files below a local directory, or below a URL that Arrow can open."""
    if "://" not in location:
        return LocalFiles(Path(location), sync=sync, disk_full=disk_full)
    try:
        system, root = pafs.FileSystem.from_uri(location)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UsageError(f"cannot open {location}: {str(error).splitlines()[0]}") from None
    if isinstance(system, pafs.LocalFileSystem):
        return LocalFiles(Path(root), sync=sync, disk_full=disk_full)
    return RemoteFiles(system, root)


class TornError(RunError):
    """A file does not hold what was written to it."""


def frame(body: str) -> bytes:
    """Return a line with its checksum in front."""
    data = body.encode()
    return b"%08x " % zlib.crc32(data) + data + b"\n"


def unframe(line: bytes) -> str:
    """Return a line without its checksum; raise TornError if it is not what was written."""
    if len(line) < 10 or not line.endswith(b"\n") or line[8:9] != b" ":
        raise TornError("expected a line with a checksum, got a part of one")
    try:
        expected = int(line[:8], 16)
    except ValueError:
        raise TornError("expected a line with a checksum, got other bytes") from None
    if zlib.crc32(line[9:-1]) != expected:
        raise TornError("the checksum of a line is wrong")
    return line[9:-1].decode()
