"""Status of live queries: progress counters and step times, and the status file in the checkpoint."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from hydrograph.errors import RunError, UsageError
from hydrograph.live.step.records import ElementCounts, InputBatch, QueryRecord, ResultUnit
from hydrograph.live.step.state import State
from hydrograph.live.storage.files import files_at
from hydrograph.temporal import END_OF_TIME

STATUS = "status.json"


def read_status(location: str) -> dict[str, Any]:
    """Return the status that a query has last written to its checkpoint."""
    data = files_at(location).read(STATUS)
    if data is None:
        raise UsageError(
            f"{location}: expected the checkpoint of a live query, got none; see run --follow --checkpoint"
        )
    try:
        status: dict[str, Any] = json.loads(data)
    except ValueError:
        raise RunError(f"{location}/{STATUS} is torn: the running driver writes it again within a second") from None
    return status


STEPS = ("wait", "read", "decode", "plan", "execute", "write", "commit")
_RECENT = 256
"""Batches that rates are averaged over."""


class Stopwatch:
    """Timer of the steps of one batch, in milliseconds."""

    def __init__(self) -> None:
        """Start the timer."""
        self.laps: dict[str, float] = {}
        self.started = self._at = time.perf_counter()

    def lap(self, step: str) -> None:
        """Add the time since the last lap to a step."""
        now = time.perf_counter()
        self.laps[step] = self.laps.get(step, 0.0) + 1000 * (now - self._at)
        self._at = now

    @property
    def total(self) -> float:
        """Milliseconds since the start."""
        return 1000 * (time.perf_counter() - self.started)


@dataclass(slots=True)
class Progress:
    """Counters of the batches of this process; read by other threads."""

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

    def count_batch(
        self, batch: int, arrivals: Sequence[InputBatch], units: Sequence[ResultUnit], watch: Stopwatch
    ) -> None:
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

    def count_wait(self, milliseconds: float) -> None:
        """Count time without input."""
        with self._lock:
            self.totals["wait"] = self.totals.get("wait", 0.0) + milliseconds
            self._wait += milliseconds

    def rate(self, now: float | None = None) -> float:
        """Return the recent number of triples per second, including the time since the last batch."""
        with self._lock:
            if len(self._recent) < 2:
                return 0.0
            spent = (time.monotonic() if now is None else now) - self._recent[0][0]
            return sum(number for _, number in list(self._recent)[1:]) / spent if spent > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the counters as plain values."""
        rate = self.rate()
        with self._lock:
            return {
                "batch": self.batch,
                "rows": self.rows,
                "triples": self.triples,
                "triples_per_second": round(rate, 1),
                "milliseconds": {name: round(value, 3) for name, value in self.steps.items()},
            }


def query_status(record: QueryRecord, state: State, version: int, placement: str) -> dict[str, Any]:
    """Return the status of one query as plain values."""
    decision = record.decision
    newest = max(decision.newest.values(), default=None)
    return {
        "version": version,
        "static": decision.static,
        "placement": placement,
        "reports": record.reports,
        "watermark": None if decision.watermark == END_OF_TIME else decision.watermark,
        "ended": decision.watermark == END_OF_TIME,
        "newest": newest,
        "last_report": record.last,
        "lag_ms": None if newest is None or record.last is None else max(0, newest - record.last),
        **asdict(record.counts),
        "quarantined": sum(map(len, decision.held_back.values())),
        "state_rows": state.size,
    }


def combined_status(queries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the status of several queries as if they were one: counts are sums, times those of the slowest query."""
    found: dict[str, Any] = {"placement": ", ".join(sorted({each["placement"] for each in queries})) or "none"}
    for name in ("reports", *(each.name for each in fields(ElementCounts)), "quarantined", "state_rows"):
        found[name] = sum(each[name] for each in queries)
    for name, worst in (("watermark", min), ("newest", max), ("last_report", min), ("lag_ms", max)):
        found[name] = worst((each[name] for each in queries if each[name] is not None), default=None)
    return found | {"ended": bool(queries) and all(each["ended"] for each in queries)}
