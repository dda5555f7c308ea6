"""Bytes that come when they come, as something a reader of a format can read."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any


class Feed(io.RawIOBase):
    """Reads from something open, and tells before it may have to wait, so that what is complete need not."""

    def __init__(self, raw: IO[bytes], waiting: Callable[[], None]) -> None:
        """Read from `raw`."""
        self._raw = raw
        self._waiting = waiting

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, at most as much as fits."""
        self._waiting()
        read1 = getattr(self._raw, "read1", None)
        data = read1(len(buffer)) if read1 is not None else self._raw.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
