"""How a live query is doing: counts, rates, lag, and the milliseconds of each step."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hydrograph.live.step.input_batch import Arrival
from hydrograph.live.step.records import Counts, Record
from hydrograph.live.step.state import State
from hydrograph.live.step.units import Unit
from hydrograph.live.step.watermark import FOREVER

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
    """What is known of the batches of this process; read by other threads."""

    batch: int = 0
    triples: int = 0
    """Since the start of this process."""
    rows: int = 0
    steps: dict[str, float] = field(default_factory=dict)
    """Milliseconds in each step of the last batch."""
    totals: dict[str, float] = field(default_factory=dict)
    """Milliseconds in each step since the start of this process."""
    _wait: float = 0.0
    _recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def worked(self, batch: int, arrivals: Sequence[Arrival], units: Sequence[Unit], watch: Stopwatch) -> None:
        """Count a batch."""
        with self._lock:
            self.batch = batch
            triples = sum(arrival.events.num_rows for arrival in arrivals)
            self.triples += triples
            self.rows += sum(len(unit.report.rows) for unit in units)
            for name in STEPS[1:]:
                self.totals[name] = self.totals.get(name, 0.0) + watch.laps.get(name, 0.0)
            self.steps = {name: watch.laps.get(name, 0.0) for name in STEPS} | {"wait": self._wait}
            self._wait = 0.0
            self._recent.append((time.monotonic(), triples))

    def waited(self, milliseconds: float) -> None:
        """Count time in which nothing came."""
        with self._lock:
            self.totals["wait"] = self.totals.get("wait", 0.0) + milliseconds
            self._wait += milliseconds

    def rate(self, now: float | None = None) -> float:
        """Return how many triples a second came lately; silence since then counts."""
        with self._lock:
            if len(self._recent) < 2:
                return 0.0
            spent = (time.monotonic() if now is None else now) - self._recent[0][0]
            return sum(number for _, number in list(self._recent)[1:]) / spent if spent > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        rate = self.rate()
        with self._lock:
            return {
                "batch": self.batch,
                "rows": self.rows,
                "triples": self.triples,
                "triples_per_second": round(rate, 1),
                "milliseconds": {name: round(value, 3) for name, value in self.steps.items()},
            }


def query_status(record: Record, state: State, version: int, placement: str) -> dict[str, Any]:
    """Return how one query is doing, as plain values."""
    decision = record.decision
    newest = max(decision.newest.values(), default=None)
    return {
        "version": version,
        "static": decision.static,
        "placement": placement,
        "reports": record.reports,
        "watermark": None if decision.watermark == FOREVER else decision.watermark,
        "ended": decision.watermark == FOREVER,
        "newest": newest,
        "last_report": record.last,
        "lag_ms": None if newest is None or record.last is None else max(0, newest - record.last),
        **asdict(record.counts),
        "quarantined": sum(map(len, decision.held_back.values())),
        "state_rows": state.size,
    }


def together(queries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how several queries are doing as if they were one: numbers in sum, times of the one that is last."""
    found: dict[str, Any] = {"placement": ", ".join(sorted({each["placement"] for each in queries})) or "none"}
    for name in ("reports", *(each.name for each in fields(Counts)), "quarantined", "state_rows"):
        found[name] = sum(each[name] for each in queries)
    for name, worst in (("watermark", min), ("newest", max), ("last_report", min), ("lag_ms", max)):
        found[name] = worst((each[name] for each in queries if each[name] is not None), default=None)
    return found | {"ended": bool(queries) and all(each["ended"] for each in queries)}
