"""A full disk: whoever writes waits until there is room again, and says so; nothing is lost meanwhile."""

from __future__ import annotations

import errno
import threading

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says of a disk without room; it passes when somebody makes some."""
_LOOK_EVERY = 0.2


class Room:
    """Who waits for room among the writers of one driver."""

    def __init__(self, stopping: threading.Event) -> None:
        """Wait for no longer than until somebody wants to stop."""
        self._stopping = stopping
        self._waiting: dict[int, str] = {}

    def wait(self, words: str) -> bool:
        """Say what can't be written, and wait a moment; return False if that is no use, since all is to stop."""
        self._waiting[threading.get_ident()] = words
        return not self._stopping.wait(_LOOK_EVERY)

    def found(self) -> None:
        """Say that what could not be written now stands, or that nobody tries any more."""
        self._waiting.pop(threading.get_ident(), None)

    @property
    def paused(self) -> str | None:
        """What waits for room; None if nothing does."""
        return next(iter([*self._waiting.values()]), None)
