"""Files of streams: plain, gzip, zstd, standard input and output; numbered lines of bounded length; atomic outputs."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO

import zstandard

from hydrograph.atomic_files import atomic_path
from hydrograph.errors import DataError, RunError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


STDIN = "-"


@contextmanager
def open_text(name: str) -> Iterator[TextIO]:
    """Open a file or standard input as text; bytes that are not UTF-8 become surrogates."""
    with open_binary(name) as binary:
        # The default of Spark's text source too: any of LF, CR and CR LF ends a line, a byte order mark is skipped.
        yield io.TextIOWrapper(binary, "utf-8-sig", errors="surrogateescape", newline=None)


@contextmanager
def open_binary(name: str) -> Iterator[IO[bytes]]:
    """Open a file or standard input as its decompressed bytes."""
    try:
        with _opened(name) as binary:
            yield binary
    except (EOFError, zlib.error, gzip.BadGzipFile, zstandard.ZstdError) as error:
        raise DataError(f"{name}: the compressed file is damaged: {error}") from error
    except FileNotFoundError as error:
        raise DataError(f"{name}: no such file") from error
    except (PermissionError, IsADirectoryError) as error:
        raise DataError(f"{name} cannot be read: {error.strerror}") from error


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == STDIN:
        yield sys.stdin.buffer
    elif name.endswith(".gz"):
        with gzip.open(name, "rb") as unzipped:
            yield unzipped  # type: ignore[misc]
    elif name.endswith(".zst"):
        with Path(name).open("rb") as raw:
            yield io.BufferedReader(ZstdReader(raw), 1 << 20)
    else:
        with Path(name).open("rb") as raw:
            yield raw


def copy_stdin(target: Path) -> None:
    """Copy standard input to `target`."""
    with target.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy, 1 << 20)


ELEMENT_LIMIT = 16 * 1024 * 1024
"""How long a line may be, and all of an element that comes through a line without end: in bytes, or in characters where
it has become text. Parsers keep as much of a term, and the longest literal that is taken fits in however it is escaped.
"""
SHOWN = 120
"""How much of a longer one is kept, to be shown."""
_SKIPPED = 1 << 16


@dataclass(frozen=True, slots=True)
class Overlong:
    """The beginning of a line, or of an element of several lines, that exceeds the length limit."""

    start: str

    @property
    def reason(self) -> str:
        """Why it is broken."""
        return too_long("a line or an element")


Line = str | Overlong


def too_long(what: str) -> str:
    """Return the reason to reject something that exceeds the length limit."""
    return f"expected {what} of at most {ELEMENT_LIMIT} bytes, got a longer one: does it ever end?"


def number_lines(text: TextIO) -> Iterator[tuple[int, Line]]:
    """Return the lines with their ends and numbers; a line that is too long becomes an `Overlong`."""
    number = 0
    while line := text.readline(ELEMENT_LIMIT):
        number += 1
        if len(line) < ELEMENT_LIMIT or line[-1] == "\n":
            yield number, line
            continue
        yield number, Overlong(line[:SHOWN])  # at once: its end may never come
        while line and line[-1] != "\n":
            line = text.readline(_SKIPPED)


_CHUNK = 1 << 17


class ZstdReader(io.RawIOBase):
    """Decompressor of all zstd frames of a file; the library's own reader accepts a truncated file as a shorter one."""

    def __init__(self, packed: IO[bytes]) -> None:
        """Read from `packed`, which stays open."""
        self._packed = packed
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._left = b""
        self._held = memoryview(b"")

    def readable(self) -> bool:
        """Tell that this can be read."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill `buffer`; raise EOFError if the file ends inside a frame."""
        view = memoryview(buffer).cast("B")
        while not self._held:
            data = self._left or self._packed.read(_CHUNK)
            self._left = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("the file ends before its last frame does")
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._held = memoryview(self._frame.decompress(data))
            if self._frame.eof:
                self._left, self._frame = self._frame.unused_data, None
        count = min(len(view), len(self._held))
        view[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


@contextmanager
def atomic_output(target: str) -> Iterator[IO[bytes]]:
    """Yield standard output for `-`, or a file that appears under its name when it is complete.

    Files named `.gz` and `.zst` are compressed.
    """
    if target == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with atomic_path(Path(target)) as temporary:
        try:
            opened = temporary.open("wb")
        except OSError as error:
            raise RunError(f"{target} cannot be written: {error.strerror or error}") from None
        with opened as raw:
            if target.endswith(".gz"):
                with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=6) as zipped:
                    yield zipped  # type: ignore[misc]
            elif target.endswith(".zst"):
                with zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as zipped:
                    yield zipped
            else:
                yield raw
