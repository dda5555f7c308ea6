"""Time in the whole engine: whole milliseconds (S1), intervals closed at the start and open at the end.

>>> 10 in Interval(0, 10), 0 in Interval(0, 10)
(False, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Instant: TypeAlias = int
"""An event time in milliseconds; may be negative."""

Duration: TypeAlias = int
"""A length of time in milliseconds."""

SECOND: Duration = 1000
MINUTE: Duration = 60 * SECOND
HOUR: Duration = 60 * MINUTE
DAY: Duration = 24 * HOUR

END_OF_TIME: Instant = 2**61
"""An instant after all event times, early enough that windows which end after it can still be counted."""


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """The instants `start <= t < end`; the one convention of the whole system."""

    start: Instant
    end: Instant

    def __contains__(self, t: Instant) -> bool:
        """Tell whether `t` lies inside."""
        return self.start <= t < self.end

    def __str__(self) -> str:
        """Return `[start, end)`."""
        return f"[{self.start}, {self.end})"
