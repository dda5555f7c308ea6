"""The few things that a checkpoint, a log and results do with files, on this machine or wherever a URL points.

Everything that is written whole appears whole: under another name first, then renamed. What is appended may be torn at
its end, and is checked line by line by whoever reads it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Protocol, TypeVar

import pyarrow as pa
import pyarrow.fs as pafs

from hydrograph.errors import RunError, UsageError
from hydrograph.live.storage.disk_full import FULL, Room
from hydrograph.live.storage.object_store import RemoteFiles

_T = TypeVar("_T")
_OPEN = 2
"""Files of a directory that stay open to be appended to: indexes and snapshots grow in two copies at once."""


class Files(Protocol):
    """Files below one directory; names have `/` between their parts."""

    def read(self, name: str, start: int = 0) -> bytes | None:
        """Return a file from a place on, None if there is none."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; it appears complete or not at all."""
        ...

    def claim(self, name: str, data: bytes) -> bool:
        """Write a file that is not there yet; return False if it is."""
        ...

    def append(self, name: str, at: int, data: bytes) -> None:
        """Make `data` what follows the first `at` bytes of a file; whatever stood there is gone."""
        ...

    def size(self, name: str) -> int | None:
        """Return how many bytes a file has, None if there is none."""
        ...

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory, in order, without its own; none if it is not there."""
        ...

    def move(self, name: str, to: str) -> None:
        """Give a file another name."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        ...


class LocalFiles:
    """Files on this machine."""

    def __init__(self, root: Path, *, sync: bool = False, room: Room | None = None) -> None:
        """Keep files below `root`; `sync` waits until the disk has them, which survives a loss of power too.

        Where there is no room on the disk, `room` is waited for; without it that is an error like any other.
        """
        self.root = root
        self._sync = sync
        self._room = room
        self._known: set[Path] = set()
        self._open: dict[str, int] = {}
        """Those that were used last come last."""
        self._lock = threading.Lock()

    def _path(self, name: str) -> Path:
        path = self.root / name
        if path.parent not in self._known:
            made = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            for each in made:
                self._named(each)
            self._known.add(path.parent)
        return path

    def _named(self, path: Path) -> None:
        """Wait until the disk has the name of something new: it stands in the directory, not in the file."""
        if self._sync:
            descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def read(self, name: str, start: int = 0) -> bytes | None:
        """Return a file from a place on, None if there is none."""
        try:
            with (self.root / name).open("rb") as file:
                file.seek(start)
                return file.read()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; it appears complete or not at all."""

        def attempt() -> None:
            path = self._path(name)
            partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
            try:
                self._put(partial, data, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
                partial.replace(path)
                self._forget(name)  # what is open under this name is no more
            except OSError:
                partial.unlink(missing_ok=True)  # where there is no room it only takes some
                raise
            self._named(path)

        self._with_room(name, attempt)

    def claim(self, name: str, data: bytes) -> bool:
        """Write a file that is not there yet; return False if it is."""

        def attempt() -> bool:
            path = self._path(name)
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
            except FileExistsError:
                return False
            try:
                self._write(descriptor, data)
                self._named(path)
            except OSError:
                path.unlink()  # claimed, but not said by whom: claimed anew when there is room
                raise
            finally:
                os.close(descriptor)
            return True

        return self._with_room(name, attempt)

    def _put(self, path: Path, data: bytes, flags: int) -> None:
        descriptor = os.open(path, flags, 0o644)
        try:
            self._write(descriptor, data)
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if self._sync:
            os.fsync(descriptor)

    def _with_room(self, name: str, attempt: Callable[[], _T]) -> _T:
        """Try to write until there is room; raise RunError if it can't be done for another reason."""
        try:
            while True:
                try:
                    return attempt()
                except OSError as error:
                    words = f"{self.root / name} can not be written: {os.strerror(error.errno or 0)}"
                    if self._room is None or error.errno not in FULL or not self._room.wait(words):
                        raise RunError(f"{words}; nothing is lost, start again when it can") from error
        finally:
            if self._room is not None:
                self._room.found()

    def append(self, name: str, at: int, data: bytes) -> None:
        """Make `data` what follows the first `at` bytes of a file; whatever stood there is gone."""

        def attempt() -> None:
            with self._lock:  # nobody closes what is written to
                self._append(self._opened(name), name, at, data)

        self._with_room(name, attempt)

    def _opened(self, name: str) -> int:
        """Return the handle of a file, which may be new; of its directory no more than some stay open."""
        descriptor = self._open.pop(name, None)
        if descriptor is not None:
            self._open[name] = descriptor
            return descriptor
        path = self._path(name)
        new = not path.exists()
        self._open[name] = descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        beside = [each for each in self._open if PurePosixPath(each).parent == PurePosixPath(name).parent]
        for each in beside[:-_OPEN]:
            os.close(self._open.pop(each))
        if new:
            self._named(path)
        return descriptor

    def _append(self, descriptor: int, name: str, at: int, data: bytes) -> None:
        size = os.fstat(descriptor).st_size
        if size < at:
            raise RunError(f"{self.root / name} has {size} bytes, expected at least {at}: somebody has changed it")
        if size > at:
            os.ftruncate(descriptor, at)
        os.lseek(descriptor, at, os.SEEK_SET)
        self._write(descriptor, data)

    def size(self, name: str) -> int | None:
        """Return how many bytes a file has, None if there is none."""
        try:
            return (self.root / name).stat().st_size
        except FileNotFoundError:
            return None

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory, in order, without its own; none if it is not there."""
        try:
            found = [path.name for path in (self.root / directory).iterdir()]
        except FileNotFoundError:
            return []
        return sorted(name for name in found if not name.startswith("."))

    def move(self, name: str, to: str) -> None:
        """Give a file another name."""
        self._forget(name)
        self._named((self.root / name).replace(self._path(to)))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        self._forget(name)
        (self.root / name).unlink(missing_ok=True)

    def _forget(self, name: str) -> None:
        with self._lock:
            descriptor = self._open.pop(name, None)
            if descriptor is not None:
                os.close(descriptor)

    def close(self) -> None:
        """Close what is open."""
        for name in list(self._open):
            self._forget(name)


def files_at(location: str, *, sync: bool = False, room: Room | None = None) -> LocalFiles | RemoteFiles:
    """Return the files below a directory on this machine, or below a URL that Arrow can open."""
    if "://" not in location:
        return LocalFiles(Path(location), sync=sync, room=room)
    try:
        system, root = pafs.FileSystem.from_uri(location)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UsageError(f"{location} can not be opened: {str(error).splitlines()[0]}") from None
    if isinstance(system, pafs.LocalFileSystem):
        return LocalFiles(Path(root), sync=sync, room=room)
    return RemoteFiles(system, root)
