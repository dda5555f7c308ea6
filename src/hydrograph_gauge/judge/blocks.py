"""What an engine said and when."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hydrograph.temporal import Instant
from hydrograph_gauge.oracle.dataset import Row


@dataclass(frozen=True, slots=True)
class Block:
    """The answer of one execution; `at` is when it came, in milliseconds since the stream was started."""

    at: float
    rows: Counter[Row]
    t: Instant | None = None
    """The time of the report that it answers, if the engine says so."""
