"""How a live query is doing: counts, rates, lag, and the milliseconds of each step."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from hydrograph.live.arrivals import Arrival
from hydrograph.live.record import Counts, Record
from hydrograph.live.state import State
from hydrograph.live.units import Unit
from hydrograph.live.watermark import FOREVER

STEPS = ("wait", "read", "decode", "plan", "execute", "write", "commit")
_RECENT = 256
"""Batches that rates and medians are taken over."""


class Stopwatch:
    """Milliseconds of the steps of one batch."""

    def __init__(self) -> None:
        """Start now."""
        self.laps: dict[str, float] = {}
        self.started = self._at = time.perf_counter()

    def lap(self, step: str) -> None:
        """End a step here."""
        now = time.perf_counter()
        self.laps[step] = self.laps.get(step, 0.0) + 1000 * (now - self._at)
        self._at = now

    def add(self, step: str, milliseconds: float) -> None:
        """Count time that passed elsewhere."""
        self.laps[step] = self.laps.get(step, 0.0) + milliseconds

    @property
    def total(self) -> float:
        """Milliseconds since the start."""
        return 1000 * (time.perf_counter() - self.started)


@dataclass(slots=True)
class Progress:
    """What is known of a query that runs; read by other threads."""

    placement: str = "local"
    batch: int = 0
    triples: int = 0
    """Since the start of this process."""
    reports: int = 0
    rows: int = 0
    watermark: int | None = None
    newest: int | None = None
    settled: int | None = None
    last: int | None = None
    """The time of the last report."""
    counts: Counts = field(default_factory=Counts)
    held_back: int = 0
    state_rows: int = 0
    steps: dict[str, float] = field(default_factory=dict)
    """Milliseconds in each step of the last batch."""
    totals: dict[str, float] = field(default_factory=dict)
    """Milliseconds in each step since the start of this process."""
    _wait: float = 0.0
    _recent: deque[tuple[float, int, float]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def resumed(self, record: Record) -> None:
        """Take over what stood before this process."""
        with self._lock:
            self._take(record)

    def worked(
        self, arrivals: Sequence[Arrival], units: Sequence[Unit], record: Record, state: State, watch: Stopwatch
    ) -> None:
        """Count a batch."""
        with self._lock:
            self._take(record)
            triples = sum(arrival.events.num_rows for arrival in arrivals)
            self.triples += triples
            self.rows += sum(len(unit.report.rows) for unit in units)
            self.state_rows = state.size
            for name in STEPS[1:]:
                self.totals[name] = self.totals.get(name, 0.0) + watch.laps.get(name, 0.0)
            self.steps = {name: watch.laps.get(name, 0.0) for name in STEPS} | {"wait": self._wait}
            self._wait = 0.0
            self._recent.append((time.monotonic(), triples, watch.total))

    def waited(self, milliseconds: float) -> None:
        """Count time in which nothing came."""
        with self._lock:
            self.totals["wait"] = self.totals.get("wait", 0.0) + milliseconds
            self._wait += milliseconds

    def _take(self, record: Record) -> None:
        decision = record.decision
        self.batch, self.counts, self.reports = decision.batch, record.counts, record.reports
        self.watermark = decision.watermark
        self.newest = max(decision.newest.values(), default=None)
        self.settled, self.last = record.settled, record.last
        self.held_back = sum(map(len, decision.held_back.values()))

    def rate(self) -> float:
        """Return how many triples a second came lately."""
        with self._lock:
            if len(self._recent) < 2:
                return 0.0
            spent = self._recent[-1][0] - self._recent[0][0]
            return sum(number for _, number, _ in list(self._recent)[1:]) / spent if spent > 0 else 0.0

    @property
    def lag(self) -> int | None:
        """How many milliseconds of event time the last report is behind the newest element."""
        if self.newest is None or self.last is None:
            return None
        return max(0, self.newest - self.last)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        rate, lag = self.rate(), self.lag
        with self._lock:
            return {
                "placement": self.placement,
                "batch": self.batch,
                "reports": self.reports,
                "rows": self.rows,
                "triples": self.triples,
                "triples_per_second": round(rate, 1),
                "watermark": None if self.watermark == FOREVER else self.watermark,
                "ended": self.watermark == FOREVER,
                "newest": self.newest,
                "last_report": self.last,
                "lag_ms": lag,
                **asdict(self.counts),
                "quarantined": self.held_back,
                "state_rows": self.state_rows,
                "milliseconds": {name: round(value, 3) for name, value in self.steps.items()},
            }
