"""Windows that lie elsewhere than they should: moved as a whole, or at one border, by a distance that is searched for.

Content changes only where an element enters or leaves, so all distances between two such places are one guess. Windows
are asked one after the other, each only about the distances that are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from hydrograph_gauge.judge.evidence import Evidence, Moved
from hydrograph_gauge.judge.faults import Fault, Kind
from hydrograph_gauge.judge.judge_input import Due, Said
from hydrograph_gauge.judge.row_compare import terms_of
from hydrograph_gauge.judge.score import Score
from hydrograph_gauge.oracle.compare import compare
from hydrograph_gauge.oracle.dataset import Row

BUDGET = 1_000_000
"""What one search may cost, in triples that the evaluator is asked over: some seconds."""

_WINDOWS = 60
"""Windows that a guess has to explain; those that are wrong come first."""


class Answered(Protocol):
    """A report that was answered."""

    @property
    def due(self) -> Due:
        """The report."""

    @property
    def said(self) -> Said:
        """Its answer."""

    @property
    def score(self) -> Score:
        """How they compare."""

    @property
    def before(self) -> Due | None:
        """The report before it."""


@dataclass(frozen=True, slots=True)
class Distances:
    """Distances `first <= d <= last` in milliseconds that can not be told apart."""

    first: int
    last: int

    @property
    def nearest(self) -> int:
        """The smallest of them."""
        return min(self.first, self.last, key=abs)

    def __str__(self) -> str:
        """Say how far."""
        near, far = sorted((abs(self.first), abs(self.last)))
        return f"by {near} ms" if near == far else f"by {near} to {far} ms"


Family = Callable[[int], Moved]
_SHIFT: Family = lambda d: Moved(d, d)  # noqa: E731
_START: Family = lambda d: Moved(d, 0)  # noqa: E731
_END: Family = lambda d: Moved(0, d)  # noqa: E731


def moved(evidence: Evidence, answered: Sequence[Answered], wrong: Sequence[Answered]) -> Fault | None:
    """Return which borders an engine moves and how far, if that explains all windows."""
    known = set(map(id, wrong))
    windows = [*wrong, *(each for each in answered if id(each) not in known)][:_WINDOWS]
    missing = any(each.score.difference.missing for each in wrong)
    extra = any(each.score.difference.extra for each in wrong)
    first = wrong[0].due.t
    if evidence.cost_of(first, Moved(None)) < BUDGET and all(
        _fits(evidence, each, terms_of(each.said.rows), Moved(None)) for each in wrong
    ):
        return Fault(Kind.EVICTS_LATE, "elements never leave", Moved(None))
    if not missing and (fault := _late_eviction(evidence, windows, wrong)) is not None:
        return fault
    # A window that only lacks rows may have lost something at a border, but did not win anything at the other.
    ways = [
        (_SHIFT, Kind.SHIFTS, missing and extra, Kind.SHIFTS, missing and extra),
        (_START, Kind.OPENS_LATE, True, Kind.EVICTS_LATE, extra),
        (_END, Kind.CLOSES_LATE, extra, Kind.CLOSES_EARLY, True),
    ]
    for family, later, forward, earlier, backward in ways:
        found = _common(evidence, windows, family, forward=forward, backward=backward)
        if found is not None:
            kind = later if found.first > 0 else earlier
            side = ", to later times" if found.first > 0 else ", to earlier times"
            return Fault(kind, f"{found}{side if kind is Kind.SHIFTS else ''}", family(found.nearest))
    return None


def wavering(evidence: Evidence, wrong: Sequence[Answered]) -> Fault | None:
    """Tell whether every window lies a little elsewhere, each by a distance of its own, as clocks make them."""
    limit = evidence.width // 4
    budget = evidence.cost + BUDGET
    farthest = 0
    for each in wrong:
        near = [Distances(1, limit), Distances(-limit, -1)]
        some = [
            abs(found.nearest)
            for family in (_SHIFT, _START, _END)
            for found in _explaining(evidence, each, family, near, budget - evidence.cost)
        ]
        if not some:
            return None
        farthest = max(farthest, min(some))
    return Fault(Kind.WAVERS, f"by up to {farthest} ms")


def _late_eviction(evidence: Evidence, windows: Sequence[Answered], wrong: Sequence[Answered]) -> Fault | None:
    """Tell whether elements stay too long: always as long, or for every window some time."""
    found = _common(evidence, windows, _START, forward=False, backward=True)
    if found is not None:
        how = f"elements stay {str(found).removeprefix('by ')} too long"
        return Fault(Kind.EVICTS_LATE, how, _START(found.nearest))
    longest = 0
    for each in wrong:
        some = _explaining(evidence, each, _START, [Distances(-_FAR, -1)], BUDGET)
        if not some:
            return None
        longest = max(longest, min(-distances.last for distances in some))
    return Fault(Kind.EVICTS_LATE, f"elements stay up to {longest} ms too long")


_FAR = 10**15


def _common(
    evidence: Evidence, windows: Sequence[Answered], family: Family, *, forward: bool, backward: bool
) -> Distances | None:
    """Return the distances by which moving all windows explains all answers, the smallest if there are several."""
    limit = evidence.width
    left = [Distances(1, limit)] * forward + [Distances(-limit, -1)] * backward
    if not left:
        return None
    budget = evidence.cost + BUDGET
    for each in windows:
        left = _explaining(evidence, each, family, left, budget - evidence.cost)
        if not left:
            return None
    return min(left, key=lambda distances: abs(distances.nearest))


def _explaining(
    evidence: Evidence, each: Answered, family: Family, left: Sequence[Distances], budget: int
) -> list[Distances]:
    """Return those of the distances left that explain an answer; none if there are too many to try."""
    guesses = [part for distances in left for part in _parts(evidence, each.due, family, distances)]
    if len(guesses) * evidence.cost_of(each.due.t) > budget:
        return []
    found: list[Distances] = []
    actual = terms_of(each.said.rows)
    for guess in guesses:
        if _fits(evidence, each, actual, family(guess.first)):
            joined = bool(found) and found[-1].last + 1 == guess.first
            found[-1:] = [Distances(found[-1].first, guess.last)] if joined else [*found[-1:], guess]
    return found


def _parts(evidence: Evidence, due: Due, family: Family, within: Distances) -> list[Distances]:
    """Cut distances where the content changes: an element at τ leaves or enters after τ - border."""
    cuts = {within.first}
    one, two = family(1), family(2)
    for start, end in evidence.borders(due.t):
        for border, moves in ((start, one.start != two.start), (end, one.end != two.end)):
            if moves:
                times = evidence.times(border + within.first, border + within.last + 1)
                cuts |= {cut for time in times if within.first < (cut := time - border + 1) <= within.last}
    ordered = sorted(cuts)
    return [
        Distances(first, following - 1)
        for first, following in zip(ordered, [*ordered[1:], within.last + 1], strict=True)
    ]


def _fits(evidence: Evidence, each: Answered, actual: Counter[Row], moved: Moved) -> bool:
    """Tell whether an answer is right for windows that were moved."""
    before = None if each.before is None else each.before.t
    rows = evidence.answer(each.due.t, before, moved)
    return rows.total() == actual.total() and not compare(rows, actual)
