"""Change detection of a directory: its modification time is cheap to read, a list of many files is not.

A file that appears in the same tick of the file system's clock as the one before does not show in the time of the last
change, so the directory is listed once more a little later. And it is listed now and then in any case, seldom enough
to cost next to nothing: there are file systems whose clocks are coarse, or that do not keep this time at all.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hydrograph.live.sources.source import Wake

_TICK = 0.02
"""Seconds after which another change shows as another time, on file systems of this machine."""
_REST = 200.0
"""How much longer than it took to list a directory it is left alone, where nothing seems to have changed."""


@dataclass(slots=True)
class DirectoryPoll:
    """Knows when a directory is worth a look."""

    path: Path
    clock: Callable[[], float] = time.monotonic
    _changed: tuple[int, int] | None = field(init=False, default=None)
    _settled: float = field(init=False, default=0.0)
    _looked: float = field(init=False, default=0.0)
    _rests: float = field(init=False, default=0.0)

    def due(self) -> bool:
        """Return True if the directory has to be listed now."""
        now, changed = self.clock(), self._stamp()
        if changed != self._changed:
            self._changed, self._settled = changed, now + _TICK
            return True
        return self._looked < self._settled <= now or now >= self._rests

    def stirs(self) -> bool:
        """Return True if the directory seems to have changed since it was listed."""
        try:
            return self._stamp() != self._changed or self._looked < self._settled <= self.clock()
        except OSError:
            return True  # listing it raises the error

    def _stamp(self) -> tuple[int, int]:
        found = os.stat(self.path)  # noqa: PTH116 - asked many times a second
        return found.st_mtime_ns, found.st_ino

    def names(self) -> list[str]:
        """Return the names of what is in the directory now."""
        begun = self.clock()
        found = os.listdir(self.path)  # noqa: PTH208 - half the time of what gives paths
        now = self.clock()
        self._looked, self._rests = begun, now + _REST * (now - begun)
        return found


@dataclass(slots=True)
class PollThread:
    """Thread that wakes the driver at an interval, for sources that cannot notify it."""

    name: str
    every: float
    stirs: Callable[[], bool] = lambda: True
    """Tells whether there may be something to see."""
    _stopping: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)

    def start(self, wake: Wake) -> None:
        """Begin to wake."""

        def watch() -> None:
            while not self._stopping.wait(self.every):
                if self.stirs():
                    wake()

        self._thread = threading.Thread(target=watch, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop waking; returns when the thread has ended.

        A thread that still runs when Python ends holds on to modules, and DuckDB then complains about what it finds.
        """
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
