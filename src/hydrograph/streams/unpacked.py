"""What a zstd file holds, read to its end: the library's own reader takes a file that was cut off for a shorter one."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_CHUNK = 1 << 17


class Unpacked(io.RawIOBase):
    """The bytes of all frames of a file, one after the other."""

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
