"""Where the queries of a driver are evaluated: each in a place of its own, beside the driver or on Spark.

A query that may run anywhere begins beside the driver and moves to Spark once, and not back: when it needs more memory
than there is, or when the driver can't keep up with its queries and Spark has more cores. The latter only if whole
windows are evaluated anyhow: rows that are kept are not kept on Spark, and it would have more to do there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import psutil

from hydrograph.live.driver.load_meter import Pace
from hydrograph.live.evaluate.whole_windows import INCREMENTAL
from hydrograph.live.settings import Settings
from hydrograph.live.step.state import State
from hydrograph.live.step.stepper import Stepper
from hydrograph.runtime.options import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEED = 2.0
"""Times the bytes of a window's rows that the process grows by, for each row of the window or of those kept for it.

Measured with `python -m hydrograph_gauge.live_load.memory_per_row join aggregate` on 145,000 rows of 136 bytes, twice: a row of the
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
        self._reasons: dict[str, str] = {}

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

    def on_spark(self, name: str, reason: str | None = None) -> Spark:
        """Return a place on Spark, instead of the one that the query had."""
        if reason is not None:
            self._reasons[name] = reason
        stack = ExitStack()
        placed = stack.enter_context(Spark(self.session(), moving=True))
        self._take(name, stack)
        return placed

    def reason(self, name: str) -> str:
        """Return why a query is where it is, for people."""
        if self._settings.placement is not Placement.AUTO:
            return "asked for"
        return self._reasons.get(name, "it fits beside the driver")

    def outgrown(self, stepper: Stepper, state: State) -> str | None:
        """Return why a query that may run anywhere holds more than the driver should; None if it does not."""
        if not self._may_move(stepper):
            return None
        most, needed = most_bytes(self._settings), need(state, stepper.kept_rows)
        return None if needed <= most else f"it needs {_gigabytes(needed)}, {_gigabytes(most)} are for it here"

    def overtaken(self, queries: Mapping[str, tuple[Stepper, Pace]]) -> tuple[str, str] | None:
        """Return which query is to leave a driver that can't keep up, and why; None if none would help by that."""
        here = {name: pace.load for name, (stepper, pace) in queries.items() if isinstance(stepper.placed, Local)}
        whole = [name for name in here if self._may_move(queries[name][0]) and not queries[name][0].keeps_rows]
        if sum(here.values()) <= 1 or not whole or not self._has_more_cores():
            return None
        name = max(whole, key=here.__getitem__)
        if not here[name]:
            return None
        return name, f"a second of the stream took {here[name]:.1f} s here, {sum(here.values()):.1f} s with all queries"

    def _may_move(self, stepper: Stepper) -> bool:
        return self._settings.placement is Placement.AUTO and isinstance(stepper.placed, Local)

    def _has_more_cores(self) -> bool:
        """Tell whether Spark has more cores than this machine, as far as can be known without starting it."""
        session = self._settings.session
        if session is not None:
            return session.sparkContext.defaultParallelism > (os.cpu_count() or 1)
        return not (self._settings.master or "local").startswith("local")

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


def most_bytes(settings: Settings | None = None) -> int:
    """Return how many bytes a query may need beside the driver."""
    most = None if settings is None else settings.local_bytes
    return int(psutil.virtual_memory().total // _SHARE) if most is None else most


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"


def placement_of(evaluation: str) -> str:
    """Return where a query that may run anywhere is evaluated, and why, for people; see `evaluation_of`."""
    words = f"local; it moves to Spark if it needs more than {_gigabytes(most_bytes())}, half of the memory"
    if evaluation.startswith(INCREMENTAL):
        return f"{words}, and not for speed, since rows are not kept there"
    return f"{words}, or if the driver can't keep up and Spark has more cores"


def need(state: State, kept: int) -> int:
    """Return how many bytes a query needs beside the driver: its rows, and those that are kept of its steps."""
    rows = max(1, state.size)
    return int(_NEED * state_bytes(state) * (rows + kept) / rows)


def state_bytes(state: State) -> int:
    """Return how many bytes the rows of a state take themselves."""
    return sum(int(piece.events.nbytes) for pieces in state.pieces.values() for piece in pieces)
