"""What an eager engine really kept: YABench's gracious mode for content change.

A row that nothing expected may come of elements that should have left: the window is widened by up to one slide, and
taken as wide as the row needs it. A row that is missing may have lost elements that should have stayed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hydrograph.temporal import Duration, Instant, Interval
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.oracle.compare import rows_equal
from hydrograph_gauge.oracle.dataset import Row

_SAMPLE = 5
"""Rows of a slide by which the border is found; all of them are then looked at."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A row that came and should not have (`extra`), or should have and did not, at a time."""

    t: Instant
    seq: int | None
    row: Row
    extra: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """The window that was really used for the last row, and how many of the wrong rows it explains."""

    window: Interval
    extra: int
    missing: int


def recover(evidence: Evidence, claims: Sequence[Claim], slide: Duration, may_ask: Callable[[], bool]) -> Kept | None:
    """Return where windows really began, if that explains a wrong row of a slide; None too if it may not ask on."""
    extra = [claim for claim in claims if claim.extra]
    found = [moved for claim in (extra or claims)[:_SAMPLE] if (moved := _moved(evidence, claim, slide, may_ask))]
    if not found:
        return None
    moved = min(found) if extra else max(found)
    explained = [claim for claim in claims if may_ask() and _holds(evidence, claim, moved) is claim.extra]
    if not explained:
        return None
    last = max(claim.t for claim in explained)
    many = sum(claim.extra for claim in explained)
    return Kept(Interval(evidence.opens(last) + moved, last + 1), many, len(explained) - many)


def _moved(evidence: Evidence, claim: Claim, slide: Duration, may_ask: Callable[[], bool]) -> int:
    """Return the least distance of the start that explains a row, in milliseconds, 0 if none does."""
    opens = evidence.opens(claim.t)
    if claim.extra:
        moves = [t - opens for t in reversed(evidence.times(opens - slide, opens))]
    else:
        moves = [t + 1 - opens for t in evidence.times(opens, claim.t + 1)]
    if not moves or not may_ask():
        return 0
    if _holds(evidence, claim, moves[-1]) is not claim.extra:
        # Answers such as a mean come and go with what is counted in.
        return next((m for m in moves if may_ask() and _holds(evidence, claim, m) is claim.extra), 0)
    low, high = 0, len(moves) - 1
    while low < high and may_ask():
        middle = (low + high) // 2
        low, high = (low, middle) if _holds(evidence, claim, moves[middle]) is claim.extra else (middle + 1, high)
    return moves[high]


def _holds(evidence: Evidence, claim: Claim, moved: int) -> bool:
    held = evidence.held(evidence.seen(claim.t, moved, claim.seq))
    return any(rows_equal(claim.row, row) for row in evidence.solutions(held, claim.t))
