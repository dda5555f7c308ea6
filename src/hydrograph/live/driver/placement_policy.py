"""Placement policy: chooses where each query is evaluated, in the driver's process or on Spark.

With automatic placement a query starts in the driver's process. It moves to Spark, once and for good, if it needs more
memory than the driver may use, or if the driver cannot keep up and Spark has more cores. The latter applies only to
queries that evaluate whole windows: Spark does not evaluate incrementally, so an incremental query would be slower
there.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from hydrograph.live.settings import Settings
from hydrograph.live.step.state import State
from hydrograph.live.step.step import Stepper
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.session import spark_session
from hydrograph.temporal import Instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SUSTAINED = 10_000.0
"""Milliseconds of work that a load is averaged over, at least."""
_LEAST_BATCHES = 8
"""Batches that a load is averaged over, at least."""
_GRAIN = SUSTAINED / 100
"""Milliseconds of work below which successive batches are counted as one."""


@dataclass(slots=True)
class LoadMeter:
    """Load average of a query: processing time of its latest batches per event time of their reports."""

    _worked: deque[tuple[float, Instant]] = field(default_factory=deque)
    """Milliseconds of work of each batch, and the event time of the last report after it."""

    def count_batch(self, milliseconds: float, last: Instant | None) -> None:
        """Count a batch; those before the first report are ignored."""
        if last is None:
            return
        if self._worked and self._worked[-1][0] < _GRAIN:
            milliseconds += self._worked.pop()[0]
        self._worked.append((milliseconds, last))
        while len(self._worked) > _LEAST_BATCHES and self._busy - self._worked[0][0] >= SUSTAINED:
            self._worked.popleft()

    @property
    def _busy(self) -> float:
        return sum(milliseconds for milliseconds, _ in self._worked)

    @property
    def load(self) -> float:
        """Milliseconds of work per millisecond of event time, without the slowest batch; 0 until there is enough data.

        >>> slow = LoadMeter()
        >>> for second in range(12):
        ...     slow.count_batch(9_000 if second == 8 else 1_500, 1_000 * second)
        >>> slow.load
        1.5
        """
        if self._busy < SUSTAINED or len(self._worked) < _LEAST_BATCHES:
            return 0.0
        (_, since), *following = self._worked  # the first batch only marks the start
        rest = sorted(milliseconds for milliseconds, _ in following)[:-1]
        return sum(rest) * len(following) / len(rest) / max(1, following[-1][1] - since)


_NEED = 2.0
"""Memory that the process grows by per row of a window, or per row kept for it, in multiples of the row's size.

Measured with `python -m tests.support.memory_per_row join aggregate` on 145,000 rows of 136 bytes, twice: a
row of the join took 441 and 491 bytes (3.2 and 3.6 times, with one kept row for each: 1.6 and 1.8 for each of both), a
row of the aggregate 332 and 430 (1.3 and 1.6 for each of both). The constant is the next round number above.
"""
_SHARE = 2
"""A query may use 1/n of the machine's memory in the driver."""


class PlacementPolicy:
    """Placements of the queries of one driver, by query name."""

    def __init__(self, settings: Settings) -> None:
        """Open no placement yet."""
        self._settings = settings
        self._open: dict[str, ExitStack] = {}
        self._reasons: dict[str, str] = {}

    def session(self) -> SparkSession:
        """Return the Spark session, starting it if needed."""
        return self._settings.session or spark_session(self._settings.master, self._settings.memory)

    def first(self, name: str) -> Local | Spark:
        """Return the placement in which a query starts."""
        if self._settings.placement is PlacementChoice.SPARK:
            return self.on_spark(name)
        stack = ExitStack()
        placed = stack.enter_context(Local(self._settings.threads, small=True))
        self._use(name, stack)
        return placed

    def on_spark(self, name: str, reason: str | None = None) -> Spark:
        """Return a placement on Spark, and close the one that the query had."""
        if reason is not None:
            self._reasons[name] = reason
        stack = ExitStack()
        placed = stack.enter_context(Spark(self.session(), moving=True))
        self._use(name, stack)
        return placed

    def reason(self, name: str) -> str:
        """Return the reason for the placement of a query, for the status."""
        if self._settings.placement is not PlacementChoice.AUTO:
            return "requested"
        return self._reasons.get(name, "fits in the driver")

    def choose_moves(self, queries: Mapping[str, tuple[Stepper, State, LoadMeter]]) -> dict[str, str]:
        """Return the queries to move to Spark, each with the reason: all that need too much memory, else one."""
        reasons = {name: self.memory_reason(stepper, state) for name, (stepper, state, _) in queries.items()}
        moves = {name: reason for name, reason in reasons.items() if reason is not None}
        if moves:
            return moves
        return self.overload_moves({name: (stepper, load) for name, (stepper, _, load) in queries.items()})

    def memory_reason(self, stepper: Stepper, state: State) -> str | None:
        """Return why a query needs more memory than the driver may use; None if it fits or may not move."""
        if not self._may_move(stepper):
            return None
        most, needed = most_bytes(self._settings), needed_bytes(state, stepper.evaluation.kept_rows)
        return None if needed <= most else f"needs {_gigabytes(needed)}, limit in the driver is {_gigabytes(most)}"

    def overload_moves(self, queries: Mapping[str, tuple[Stepper, LoadMeter]]) -> dict[str, str]:
        """Return the query to move if the driver cannot keep up, with the reason; none if a move would not help."""
        here = {name: meter.load for name, (stepper, meter) in queries.items() if stepper.placement.in_process}
        whole = [
            name for name in here if self._may_move(queries[name][0]) and not queries[name][0].evaluation.keeps_rows
        ]
        if sum(here.values()) <= 1 or not whole or not self._has_more_cores():
            return {}
        name = max(whole, key=here.__getitem__)
        if not here[name]:
            return {}
        total = sum(here.values())
        return {name: f"one second of the stream took {here[name]:.1f} s in the driver, {total:.1f} s with all queries"}

    def _may_move(self, stepper: Stepper) -> bool:
        return self._settings.placement is PlacementChoice.AUTO and stepper.placement.in_process

    def _has_more_cores(self) -> bool:
        """Return whether Spark has more cores than this machine, as far as is known without starting it."""
        session = self._settings.session
        if session is not None:
            return session.sparkContext.defaultParallelism > (os.cpu_count() or 1)
        return not (self._settings.master or "local").startswith("local")

    def release(self, name: str) -> None:
        """Close the placement of a query, if it has one."""
        before = self._open.pop(name, None)
        if before is not None:
            before.close()

    def close(self) -> None:
        """Close all placements."""
        for name in [*self._open]:
            self.release(name)

    def _use(self, name: str, stack: ExitStack) -> None:
        self.release(name)
        self._open[name] = stack


def most_bytes(settings: Settings | None = None) -> int:
    """Return how many bytes of memory a query may use in the driver."""
    most = None if settings is None else settings.local_bytes
    return int(psutil.virtual_memory().total // _SHARE) if most is None else most


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.3g} GB"


def describe_placement(*, keeps_rows: bool) -> str:
    """Return the automatic placement of a live query, and when it changes, in words."""
    text = f"local; moves to Spark if it needs more than {_gigabytes(most_bytes())}, half of the memory"
    if keeps_rows:
        return f"{text}; not for speed, because Spark does not evaluate incrementally"
    return f"{text}, or if the driver cannot keep up and Spark has more cores"


def needed_bytes(state: State, kept: int) -> int:
    """Return how many bytes of memory a query needs in the driver, for its state and its `kept` intermediate rows."""
    rows = max(1, state.size)
    return int(_NEED * state_bytes(state) * (rows + kept) / rows)


def state_bytes(state: State) -> int:
    """Return how many bytes the rows of a state take."""
    return sum(int(run.events.nbytes) for runs in state.runs.values() for run in runs)
