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

_SHARE = 8
"""One part in so many of the machine's memory is what the state of a query may take in the driver."""


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
        placed = stack.enter_context(Spark(self.session()))
        self._take(name, stack)
        return placed

    def is_outgrown(self, stepper: Stepper, state: State) -> bool:
        """Tell whether a query that may run anywhere holds more than the driver should."""
        if self._settings.placement is not Placement.AUTO or not isinstance(stepper.placed, Local):
            return False
        most = self._settings.local_bytes
        return _bytes(state) > (psutil.virtual_memory().total // _SHARE if most is None else most)

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


def _bytes(state: State) -> int:
    """Return how many bytes the rows of a state take."""
    return sum(int(piece.events.nbytes) for pieces in state.pieces.values() for piece in pieces)
