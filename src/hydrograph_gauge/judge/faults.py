"""What may be wrong with an engine, in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hydrograph_gauge.judge.evidence import Moved


class Kind(StrEnum):
    """The faults that the judge knows."""

    CRASHES = "crashes"
    HANGS = "hangs"
    TOO_SLOW = "is too slow"
    FLOODS = "floods"
    GARBAGE = "prints garbage"
    OUT_OF_MEMORY = "runs out of memory"
    FAILS = "fails"
    SILENT = "gives no answer"
    UNANSWERED = "leaves windows unanswered"
    REPEATS = "duplicates answers"
    ROUNDS = "rounds numbers"
    SHIFTS = "shifts windows"
    EVICTS_LATE = "evicts late"
    OPENS_LATE = "opens windows late"
    CLOSES_LATE = "closes windows late"
    CLOSES_EARLY = "closes windows early"
    WAVERS = "borders of windows waver"
    DROPS = "drops elements"
    SKIPS = "skips input when slow"
    UNEXPECTED = "answers where nothing was asked"
    UNKNOWN = "is wrong for no reason that was recognised"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and its particulars.

    >>> str(Fault(Kind.SHIFTS, "by 400 ms"))
    'shifts windows by 400 ms'
    """

    kind: Kind
    how: str = ""
    moved: Moved | None = None
    """Where the windows really lie, if that is the fault."""

    def __str__(self) -> str:
        """Say it."""
        return (
            f"{self.kind} {self.how}" if self.how.startswith("by ") else ": ".join(filter(None, (self.kind, self.how)))
        )
