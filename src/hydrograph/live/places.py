"""Where the queries of a driver are evaluated: each in a place of its own, beside the driver or on Spark."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import psutil

from hydrograph.live.settings import Settings
from hydrograph.live.state import State
from hydrograph.live.step import Stepper
from hydrograph.runtime.given import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEED = 2.0
"""Times the bytes of a window's rows that the process grows by, for each row of the window or of those kept for it.

Measured with `python -m hydrograph.bench.live.need join aggregate` on 145,000 rows of 136 bytes, twice: a row of the
join took 441 and 491 bytes (3.2 and 3.6 times, with one kept row for each: 1.6 and 1.8 for each of both), one of the
aggregate 332 and 430 (1.3 and 1.6 for each of both). The constant is the next round number above.
"""
_SHARE = 2
"""One part in so many of the machine's memory is what a query may need in the driver."""


class Places:
    """The places of queries, by the names of the queries."""

    def __init__(self, settings: Settings) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._open: dict[str, ExitStack] = {}

    def session(self) -> SparkSession:
        """Return the session to run in."""
        return self._settings.session or spark_session(self._settings.master, self._settings.memory)

    def first(self, name: str) -> Local | Spark:
        """Return the place in which a query begins."""
        if self._settings.placement is Placement.SPARK:
            return self.on_spark(name)
        stack = ExitStack()
        placed = stack.enter_context(Local(self._settings.threads, small=True))
        self._take(name, stack)
        return placed

    def on_spark(self, name: str) -> Spark:
        """Return a place on Spark, instead of the one that the query had."""
        stack = ExitStack()
        placed = stack.enter_context(Spark(self.session(), moving=True))
        self._take(name, stack)
        return placed

    def is_outgrown(self, stepper: Stepper, state: State) -> bool:
        """Tell whether a query that may run anywhere holds more than the driver should."""
        if self._settings.placement is not Placement.AUTO or not isinstance(stepper.placed, Local):
            return False
        most = self._settings.local_bytes
        return need(state, stepper.kept_rows) > (psutil.virtual_memory().total // _SHARE if most is None else most)

    def leave(self, name: str) -> None:
        """Close the place of a query, if it has one."""
        before = self._open.pop(name, None)
        if before is not None:
            before.close()

    def close(self) -> None:
        """Close all places."""
        for name in [*self._open]:
            self.leave(name)

    def _take(self, name: str, stack: ExitStack) -> None:
        self.leave(name)
        self._open[name] = stack


def need(state: State, kept: int) -> int:
    """Return how many bytes a query needs beside the driver: its rows, and those that are kept of its steps."""
    rows = max(1, state.size)
    return int(_NEED * state_bytes(state) * (rows + kept) / rows)


def state_bytes(state: State) -> int:
    """Return how many bytes the rows of a state take themselves."""
    return sum(int(piece.events.nbytes) for pieces in state.pieces.values() for piece in pieces)
