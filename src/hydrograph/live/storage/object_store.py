"""Files wherever Arrow finds them by a URL; see `files` for what is done with them."""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.fs as pafs

from hydrograph.errors import RunError
from hydrograph.live.storage.object_append import Parts


class RemoteFiles:
    """Files on any file system that Arrow knows: HDFS, S3 (which can not append: see `parts`), and others by URL."""

    def __init__(self, system: pafs.FileSystem, root: str) -> None:
        """Keep files below `root`."""
        self._system = system
        self._root = PurePosixPath(root)
        self._own = secrets.token_hex(8)
        self._made: set[str] = set()
        self._parts = Parts(self)

    def _path(self, name: str) -> str:
        return str(self._root / name)

    @cached_property
    def _appends(self) -> bool:
        """Whether files can be appended to; one that is not there is asked for, in a directory that is not there."""
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
        """Return a file from a place on, None if there is none."""
        if not self._appends:
            return self._parts.read(name, start)
        try:
            return self.read_object(name, start)
        except FileNotFoundError:
            return None

    def read_object(self, name: str, start: int = 0) -> bytes:
        """Return a file as the file system knows it, from a place on; raise FileNotFoundError if there is none."""
        with self._system.open_input_file(self._path(name)) as file:
            file.seek(min(start, file.size()))
            data: bytes = file.read()
        return data

    def write(self, name: str, data: bytes) -> None:
        """Write a whole file; it appears complete or not at all."""
        if not self._appends:
            self._parts.remove(name)
        self.write_object(name, data)

    def write_object(self, name: str, data: bytes) -> None:
        """Write a file as the file system knows it."""
        path = PurePosixPath(self._path(name))
        if str(path.parent) not in self._made:
            self._system.create_dir(str(path.parent), recursive=True)
            self._made.add(str(path.parent))
        partial = str(path.with_name(f".{path.name}.partial-{self._own}"))
        with self._system.open_output_stream(partial) as stream:
            stream.write(data)
        self._system.move(partial, str(path))

    def claim(self, name: str, data: bytes) -> bool:
        """Write a file that is not there yet; return False if it is.

        Arrow has no way to do both at once. Of two who claim a file at the same time the last one has it, and whoever
        looks again knows: so `data` has to be its own for everybody.
        """
        if self.size(name) is not None:
            return False
        self.write(name, data)
        return self.read(name) == data

    def append(self, name: str, at: int, data: bytes) -> None:
        """Make `data` what follows the first `at` bytes of a file; whatever stood there is gone."""
        size = None if self._appends else self._parts.known_end(name)
        if size is None or size != at:
            size = self.size(name)
        if at and (size is None or size < at):
            raise RunError(f"{self._path(name)} has {size or 0} bytes, expected at least {at}: somebody has changed it")
        if not self._appends:
            self._parts.append(name, at, data, size)
        elif at and size == at:
            with self._system.open_append_stream(self._path(name)) as stream:
                stream.write(data)
        else:
            before = (self.read(name) or b"")[:at] if at else b""
            self.write(name, before + data)

    def size(self, name: str) -> int | None:
        """Return how many bytes a file has, None if there is none."""
        (info,) = self._system.get_file_info([self._path(name)])
        if info.type != pafs.FileType.File:
            return None
        return int(info.size) if self._appends else self._parts.size(name, int(info.size))

    def names(self, directory: str) -> list[str]:
        """Return the names of the files in a directory, in order, without its own; none if it is not there."""
        return sorted(name for name in self.objects(directory) if not name.startswith("."))

    def objects(self, directory: str) -> dict[str, int]:
        """Return the names and sizes of what is in a directory as the file system knows it."""
        selector = pafs.FileSelector(self._path(directory), allow_not_found=True)
        found = self._system.get_file_info(selector)
        return {PurePosixPath(info.path).name: int(info.size or 0) for info in found}

    def move(self, name: str, to: str) -> None:
        """Give a file another name."""
        if not self._appends and self._parts.has_grown(name):
            self.write(to, self.read(name) or b"")
            self.remove(name)
            return
        self._system.create_dir(str(PurePosixPath(self._path(to)).parent), recursive=True)
        self._system.move(self._path(name), self._path(to))

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if not self._appends:
            self._parts.remove(name)
        self.remove_object(name)

    def remove_object(self, name: str) -> None:
        """Remove a file as the file system knows it, if it is there."""
        with suppress(FileNotFoundError):
            self._system.delete_file(self._path(name))

    def remove_directory(self, directory: str) -> None:
        """Remove a directory, if it is there."""
        self._made.discard(self._path(directory))
        with suppress(FileNotFoundError):
            self._system.delete_dir(self._path(directory))
