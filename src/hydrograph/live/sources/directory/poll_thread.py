"""A thread that wakes the driver now and then, to look for what nobody says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from hydrograph.live.sources.source import Wake


@dataclass(slots=True)
class Watcher:
    """Wakes somebody every so many seconds, from `start` to `stop`, unless it knows that there is nothing to see."""

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
        """Wake nobody any more; returns when the thread has ended.

        A thread that still runs when Python ends holds on to modules, and DuckDB then complains about what it finds.
        """
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
