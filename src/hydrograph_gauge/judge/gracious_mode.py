"""Gracious mode of YABench: the windows that an engine really used, found within a budget.

For reports at window close: if rows are missing, the window may have begun later; if rows are extra, it may have ended
later. The start is moved forward through the times of the content while recall does not fall, then the end while
neither precision nor recall falls. For content change: an extra row may come from elements that should have left, so
the window is widened by up to one slide; a missing row may have lost elements that should have stayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hydrograph.temporal import Duration, Instant, Interval
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.row_compare import Score, score_rows
from hydrograph_gauge.oracle.compare import rows_equal
from hydrograph_gauge.oracle.dataset import Row

GRACIOUS_BUDGET = 20_000_000
"""Cost of the search over all windows of a run, in triples that the evaluator reads."""

Value = TypeVar("Value")
MayAsk = Callable[[], bool]
"""Tells whether the search may continue."""


class GraciousSearch:
    """Search for borders while the budget lasts; evidence is made at first use."""

    def __init__(self, make: Callable[[], Evidence] | None, *, gracious: bool, budget: int) -> None:
        """Take the maker of the evidence, and whether borders are searched for at all."""
        self._make = make
        self._made: Evidence | None = None
        self._gracious = gracious
        self._left = budget
        self._searched = self._strict = 0

    def evidence(self) -> Evidence | None:
        """Return the evidence, None where there is none."""
        if self._made is None and self._make is not None:
            self._made = self._make()
        return self._made

    def asked(self) -> Evidence | None:
        """Return the evidence if borders are to be searched for; without budget a window is counted as left out."""
        if not self._gracious or (evidence := self.evidence()) is None or not evidence.has_borders:
            return None
        if self._left <= 0:
            self._strict += 1
            return None
        return evidence

    def within(self, evidence: Evidence, search: Callable[[MayAsk], Value | None]) -> Value | None:
        """Return what a search finds; one that the budget ends finds nothing."""
        start = evidence.cost
        found = search(lambda: evidence.cost - start < self._left)
        self._left -= evidence.cost - start
        if self._left <= 0:
            self._strict += 1
            return None
        self._searched += 1
        return found

    def notes(self) -> Iterator[str]:
        """Yield a note on the windows that were left out."""
        if self._strict:
            total = self._searched + self._strict
            yield (
                f"gracious judging ran out of its budget: {self._strict} of {total} wrong windows "
                "are judged by the borders that were due"
            )


AnswerOver = Callable[[Interval], Counter[Row]]
"""What the query answers over the elements of an interval."""


@dataclass(frozen=True, slots=True)
class RecoveredBorders:
    """Borders at which an engine's answer fits best, with the score."""

    window: Interval
    score: Score


def recover_borders(
    window: Interval,
    times: Sequence[Instant],
    actual: Counter[Row],
    answer: AnswerOver,
    may_ask: Callable[[], bool] = lambda: True,
) -> RecoveredBorders:
    """Return the borders for an `actual` answer; `times` are those of the stream's elements, each once, ascending.

    The search ends where it may not ask any more.
    """
    first = best = _at(window, actual, answer)
    for start in [time for time in times if window.start < time < window.end]:
        if best.score.recall == 1 or not may_ask():
            break
        moved = _at(Interval(start, window.end), actual, answer)
        if moved.score.recall < best.score.recall:
            break
        best = moved
    # The elements at one time come together, so the window ends after them.
    for end in [time + 1 for time in times if time >= window.end]:
        if best.score.precision == 1 or not may_ask():
            break
        moved = _at(Interval(best.window.start, end), actual, answer)
        if moved.score.precision < best.score.precision or moved.score.recall < best.score.recall:
            break
        best = moved
    gained = best.score.recall > first.score.recall or best.score.precision > first.score.precision
    return best if gained else first


def _at(window: Interval, actual: Counter[Row], answer: AnswerOver) -> RecoveredBorders:
    return RecoveredBorders(window, score_rows(answer(window), actual))


_SAMPLE = 5
"""Rows of a slide by which the border is found; all of them are then looked at."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Wrong row at a time: an extra one, or a missing one."""

    t: Instant
    seq: int | None
    row: Row
    extra: bool


@dataclass(frozen=True, slots=True)
class RecoveredRetention:
    """Window really used for the last row, and the number of wrong rows that it explains."""

    window: Interval
    extra: int
    missing: int


def recover_retention(
    evidence: Evidence, claims: Sequence[Claim], slide: Duration, may_ask: Callable[[], bool]
) -> RecoveredRetention | None:
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
    return RecoveredRetention(Interval(evidence.opens(last) + moved, last + 1), many, len(explained) - many)


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
