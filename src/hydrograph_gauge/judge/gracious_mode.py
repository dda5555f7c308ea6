"""Gracious mode of YABench: the windows that an engine really used, found within a budget.

For reports at window close the borders are moved until precision and recall are highest: start and end in turn, each to
later and to earlier times, element by element, while the harmonic mean of precision and recall does not fall; a window
that begins early holds stale content, one that ends early misses the newest. Borders are searched for within one width
of those that were due. For content change: an extra row may come from elements that should have left, so the window is
widened by up to one slide; a missing row may have lost elements that should have stayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby, product
from typing import TypeVar

from hydrograph.temporal import Duration, Instant, Interval
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.row_compare import Score, score_rows
from hydrograph_gauge.oracle.compare import Comparison, rows_equal
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

_ROUNDS = 4
"""How often start and end are moved in turn."""

_NEAREST = 10
"""Places of each border that are tried together, where neither helps alone."""


@dataclass(frozen=True, slots=True)
class RecoveredBorders:
    """Borders at which an engine's answer fits best, with the score."""

    window: Interval
    score: Score

    @property
    def fit(self) -> Fraction:
        """The harmonic mean of precision and recall: the highest one is searched for."""
        total = self.score.expected + self.score.actual
        return Fraction(2 * self.score.hits, total) if total else Fraction(1)


def recover_borders(
    window: Interval,
    times: Sequence[Instant],
    actual: Counter[Row],
    answer: AnswerOver,
    may_ask: Callable[[], bool] = lambda: True,
    by: Comparison = Comparison.EXACT,
) -> RecoveredBorders:
    """Return the borders for an `actual` answer; `times` are those of the stream's elements, each once, ascending.

    The search ends where it may not ask any more.
    """
    return _BorderSearch(window, times, actual, answer, may_ask, by).run()


class _BorderSearch:
    """Hill climbing over start and end of a window; no window is asked about twice."""

    def __init__(
        self,
        window: Interval,
        times: Sequence[Instant],
        actual: Counter[Row],
        answer: AnswerOver,
        may_ask: MayAsk,
        by: Comparison,
    ) -> None:
        self._window = window
        # A window begins with the first element that it holds, and ends behind the last one.
        self._starts = sorted({window.start, *times})
        self._ends = sorted({window.end, *(time + 1 for time in times)})
        self._actual, self._answer, self._may_ask, self._by = actual, answer, may_ask, by
        self._known: dict[Interval, RecoveredBorders] = {}

    def run(self) -> RecoveredBorders:
        """Move one border after the other, then both together where that alone helps, while the fit rises."""
        first = best = self._at(self._window)
        for _ in range(_ROUNDS):
            before = best.fit
            best = self._better(best, [self._climb(best, self._starts, _with_start)])
            best = self._better(best, [self._climb(best, self._ends, _with_end)])
            if best.fit == before and best.fit < 1:
                best = self._better(best, self._shifted(best))
            if best.fit == before and best.fit < 1:
                best = self._better(best, self._around(best))
            if best.fit in (1, before) or not self._may_ask():
                break
        return best if best.fit > first.fit else first

    def _climb(self, best: RecoveredBorders, places: Sequence[Instant], move: _Move) -> RecoveredBorders:
        """Move one border both ways, place by place, as long as the fit does not fall."""
        found = best
        current = best.window.start if move is _with_start else best.window.end
        later = [place for place in places if place > current]
        earlier = [place for place in reversed(places) if place < current]
        for direction in (later, earlier):
            last = best.fit
            for place in direction:
                if found.fit == 1 or not self._may_ask():
                    return found
                moved = move(best.window, place)
                if moved.start >= moved.end:
                    break
                there = self._at(moved)
                if there.fit < last:
                    break
                last = there.fit
                found = self._better(found, [there])
        return found

    def _shifted(self, best: RecoveredBorders) -> Iterator[RecoveredBorders]:
        """Yield windows of the same width: an aggregate over a shifted window is wrong while one border is."""
        window = best.window
        width = window.end - window.start
        for start in sorted(self._starts, key=lambda place: abs(place - window.start)):
            if not self._may_ask():
                return
            last = max((end for end in self._ends if end <= start + width), default=start + width)
            if last > start:
                yield (there := self._at(Interval(start, last)))
                if there.fit == 1:
                    return

    def _around(self, best: RecoveredBorders) -> Iterator[RecoveredBorders]:
        """Yield windows with both borders among the nearest: an aggregate needs both of them at once."""
        window = best.window
        starts = sorted(self._starts, key=lambda place: abs(place - window.start))[:_NEAREST]
        ends = sorted(self._ends, key=lambda place: abs(place - window.end))[:_NEAREST]
        for start, end in product(starts, ends):
            if not self._may_ask():
                return
            if start < end:
                yield (there := self._at(Interval(start, end)))
                if there.fit == 1:
                    return

    def _better(self, best: RecoveredBorders, others: Iterable[RecoveredBorders]) -> RecoveredBorders:
        """Return the best fit; of equal ones that with the borders nearest to those that were due."""
        return max([best, *others], key=lambda each: (each.fit, -self._distance(each.window)))

    def _distance(self, window: Interval) -> int:
        return abs(window.start - self._window.start) + abs(window.end - self._window.end)

    def _at(self, window: Interval) -> RecoveredBorders:
        if window not in self._known:
            score = score_rows(self._answer(window), self._actual, self._by)
            self._known[window] = RecoveredBorders(window, score)
        return self._known[window]


_Move = Callable[[Interval, Instant], Interval]


def _with_start(window: Interval, start: Instant) -> Interval:
    return Interval(start, window.end)


def _with_end(window: Interval, end: Instant) -> Interval:
    return Interval(window.start, end)


_SAMPLE = 5
"""Rows of a slide by which the border is found; all of them are then looked at."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Wrong row at a time: an extra one, or a missing one."""

    t: Instant
    seq: int | None
    row: Row
    extra: bool
    by: Comparison = Comparison.EXACT


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
    explained = [claim for claim in claims if may_ask() and is_explained(evidence, claim, moved)]
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
    if not is_explained(evidence, claim, moves[-1]):
        # Answers such as a mean come and go with what is counted in.
        return next((m for m in moves if may_ask() and is_explained(evidence, claim, m)), 0)
    low, high = 0, len(moves) - 1
    while low < high and may_ask():
        middle = (low + high) // 2
        low, high = (low, middle) if is_explained(evidence, claim, moves[middle]) else (middle + 1, high)
    return moves[high]


def _holds(evidence: Evidence, claim: Claim, moved: int) -> bool:
    held = evidence.held(evidence.seen(claim.t, moved, claim.seq))
    return any(rows_equal(claim.row, row, claim.by) for row in evidence.solutions(held, claim.t))


def is_explained(evidence: Evidence, claim: Claim, moved: int) -> bool:
    """Tell whether a wrong row is as it should be if windows begin `moved` milliseconds later."""
    return _holds(evidence, claim, moved) is claim.extra


def explain_claims(evidence: Evidence, claims: Iterable[Claim], moved: int) -> Iterator[bool]:
    """Yield whether each of several wrong rows is explained, in order of time; each window is asked about once."""
    ordered = sorted(claims, key=lambda claim: (claim.t, -1 if claim.seq is None else claim.seq))
    for (t, seq), same in groupby(ordered, key=lambda claim: (claim.t, claim.seq)):
        rows = evidence.solutions(evidence.held(evidence.seen(t, moved, seq)), t)
        for claim in same:
            yield any(rows_equal(claim.row, row, claim.by) for row in rows) is claim.extra
