"""Command queue: commands of other threads, run between two batches by the thread that runs the query."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from hydrograph.errors import RunError, UsageError


class CommandQueue:
    """Commands that wait for the end of a batch, in the order of their submission."""

    def __init__(self, wake: Callable[[], object]) -> None:
        """Call `wake` when a command is submitted; commands are accepted after `open`."""
        self._wake = wake
        self._waiting: list[tuple[Future[None], Callable[[], None]]] = []
        self._lock = threading.Lock()
        self._running = False

    def open(self) -> None:
        """Accept commands from now on."""
        with self._lock:
            self._running = True

    def close(self) -> None:
        """Accept no more commands, and fail those that still wait."""
        with self._lock:
            self._running = False
            waiting, self._waiting = self._waiting, []
        for done, _ in waiting:
            done.set_exception(RunError("the query stopped before this was done"))

    def submit(self, command: Callable[[], None]) -> None:
        """Submit a command and return when it is done; raise the error that it raises."""
        done: Future[None] = Future()

        def run() -> None:
            try:
                command()
            except UsageError as error:  # only the caller's mistake: the driver continues
                done.set_exception(error)
            except BaseException as error:  # raised in the caller and in the driver, which ends
                done.set_exception(error)
                raise
            else:
                done.set_result(None)

        with self._lock:
            if not self._running:
                raise UsageError("the query is not running: start it first")
            self._waiting.append((done, run))
        self._wake()
        done.result()

    def run(self) -> None:
        """Run the waiting commands; if one ends the driver, those after it stay until `close`."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for at, (_, command) in enumerate(waiting):
            try:
                command()
            except BaseException:
                with self._lock:
                    self._waiting = waiting[at + 1 :] + self._waiting
                raise
