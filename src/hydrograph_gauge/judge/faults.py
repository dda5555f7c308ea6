"""Faults of engines that the judge names: one closed list, each with the words that records and pages show."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hydrograph_gauge.judge.evidence import BorderShift


class FaultKind(StrEnum):
    """Faults that the judge recognises."""

    # The way a run ended.
    CRASHES = "crashes"
    HANGS = "hangs"
    TOO_SLOW = "is too slow"
    FLOODS = "floods"
    GARBAGE = "prints garbage"
    OUT_OF_MEMORY = "runs out of memory"
    FAILS = "fails"

    # Whole answers.
    SILENT = "gives no answer"
    UNANSWERED = "leaves windows unanswered"
    UNEXPECTED = "answers where nothing was asked"
    REPEATS = "duplicates answers"
    DISORDER = "answers out of order"
    STALE = "repeats earlier answers"
    LATE = "answers late"
    EARLY = "answers before the window is over"

    # Terms and rows of an answer.
    DATATYPE = "changes datatypes"
    BLANK_NODES = "confuses blank nodes"
    ROUNDS = "rounds numbers"
    VALUES = "changes numbers"
    SELF_PAIRS = "mistakes pairs of a row with itself"
    LOSES_ROWS = "loses rows"
    INVENTS_ROWS = "makes up rows"

    # Content of windows.
    SHIFTS = "shifts windows"
    EVICTS_LATE = "evicts late"
    NO_EVICTION = "misses evictions"
    OPENS_LATE = "opens windows late"
    CLOSES_LATE = "closes windows late"
    CLOSES_EARLY = "closes windows early"
    WAVERS = "borders of windows waver"
    DROPS = "drops elements"
    SKIPS = "skips input when slow"

    UNKNOWN = "wrong, cause not identified"


BORDER_FAULTS = frozenset(
    {
        FaultKind.SHIFTS,
        FaultKind.EVICTS_LATE,
        FaultKind.NO_EVICTION,
        FaultKind.OPENS_LATE,
        FaultKind.CLOSES_LATE,
        FaultKind.CLOSES_EARLY,
        FaultKind.WAVERS,
    }
)
"""Faults of the borders of windows."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault with its details.

    >>> str(Fault(FaultKind.SHIFTS, "by 400 ms"))
    'shifts windows by 400 ms'
    """

    kind: FaultKind
    how: str = ""
    moved: BorderShift | None = None
    """Where the windows really lie, if that is the fault."""

    def __str__(self) -> str:
        """Return the fault in words."""
        return (
            f"{self.kind} {self.how}" if self.how.startswith("by ") else ": ".join(filter(None, (self.kind, self.how)))
        )
