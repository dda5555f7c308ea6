"""Bytes that come when they come, as something a reader of a format can read."""

from __future__ import annotations

import io
import os
import select
import threading
from collections.abc import Callable
from typing import Any

_PATIENCE = 200
"""Milliseconds between two looks whether to stop."""


class Feed(io.RawIOBase):
    """Reads from a socket or a pipe until it ends, or somebody wants to stop."""

    def __init__(self, descriptor: int, stopping: threading.Event) -> None:
        """Read from an open descriptor."""
        self._descriptor = descriptor
        self._stopping = stopping
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self.waiting: Callable[[], None] = lambda: None
        """Called before it has to wait for more, so that what is complete need not."""
        self.ended = False
        """Whether there is nothing more to read."""
        self.cut = False
        """Whether it ended without the other side's saying so: the line was cut, or somebody wanted to stop."""
        self.failure: Exception | None = None
        """What `waiting` raised: nothing is read after it."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, at most as much as fits."""
        data = self.receive(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def receive(self, most: int) -> bytes:
        """Return what is there, when there is something; nothing at the end."""
        if self.ended:
            return b""
        data = self._receive(most)
        self.ended = not data
        return data

    def _receive(self, most: int) -> bytes:
        if not self._poll.poll(0):
            try:
                self.waiting()
            except Exception as error:  # noqa: BLE001 - a parser that reads would make something else of it
                self.failure = error
                return b""
        try:
            while not self._stopping.is_set():
                if self._poll.poll(_PATIENCE):
                    return os.read(self._descriptor, most)
        except OSError:  # a reset
            pass
        self.cut = True
        return b""
