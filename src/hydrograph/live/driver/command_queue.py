"""What others ask of a running query, done between two batches by the thread that runs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from hydrograph.errors import RunError, UsageError


class Turns:
    """Work that waits for the end of a batch, in the order in which it was asked for."""

    def __init__(self, wake: Callable[[], object]) -> None:
        """Call `wake` when something waits; nothing is taken before `open`."""
        self._wake = wake
        self._waiting: list[tuple[Future[None], Callable[[], None]]] = []
        self._lock = threading.Lock()
        self._running = False

    def open(self) -> None:
        """Take work from now on."""
        with self._lock:
            self._running = True

    def close(self) -> None:
        """Take no more, and tell those who still wait that it will not happen."""
        with self._lock:
            self._running = False
            waiting, self._waiting = self._waiting, []
        for done, _ in waiting:
            done.set_exception(RunError("the query has stopped before this could be done"))

    def ask(self, turn: Callable[[], None]) -> None:
        """Let something be done between two batches, and return when it is done."""
        done: Future[None] = Future()

        def told() -> None:
            try:
                turn()
            except UsageError as error:  # somebody else was quicker: the one who asked is told, nobody else
                done.set_exception(error)
            except BaseException as error:  # the one who asked is told, and the driver ends by it
                done.set_exception(error)
                raise
            else:
                done.set_result(None)

        with self._lock:
            if not self._running:
                raise UsageError("the query does not run: start it first")
            self._waiting.append((done, told))
        self._wake()
        done.result()

    def run(self) -> None:
        """Do what waits; if something ends the driver, what comes behind it still waits, for `close`."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for at, (_, turn) in enumerate(waiting):
            try:
                turn()
            except BaseException:
                with self._lock:
                    self._waiting = waiting[at + 1 :] + self._waiting
                raise
