"""Handling of a full disk: writers wait until there is space again, and the status names the pending write."""

from __future__ import annotations

import errno
import threading

DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors that pass when space is freed."""
_RETRY_SECONDS = 0.2


class DiskFullWait:
    """Writers of one driver that wait for disk space."""

    def __init__(self, stopping: threading.Event) -> None:
        """Wait until there is space or `stopping` is set."""
        self._stopping = stopping
        self._waiting: dict[int, str] = {}

    def wait(self, message: str) -> bool:
        """Register a write that failed and pause before the next attempt; return False if the driver stops."""
        self._waiting[threading.get_ident()] = message
        return not self._stopping.wait(_RETRY_SECONDS)

    def finish(self) -> None:
        """Mark the pending write of this thread as finished or abandoned."""
        self._waiting.pop(threading.get_ident(), None)

    @property
    def paused(self) -> str | None:
        """Message of a write that waits for disk space; None if no write waits."""
        return next(iter([*self._waiting.values()]), None)
