"""Pairing: which answer of an engine belongs to which expected report.

Answers that name a time belong to the report of that time. Answers without a time belong to reports in their order: by
turns, or aligned like two versions of a text where there are more or fewer of them. Rows are compared by value, so that
another way to write a number never pairs an answer with another window.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from hydrograph.temporal import Instant
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport
from hydrograph_gauge.judge.row_compare import RowNumbers
from hydrograph_gauge.oracle.compare import Comparison

Pair: TypeAlias = tuple[ExpectedReport | None, EngineAnswer | None]
"""A report with its answer; one of them is None where nothing came, or nothing was expected."""

_BAND = 60
"""How many answers may be left out or added in a row before the two sequences lose each other."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Every answer once, and every report that must be answered once, in order of the reports."""

    pairs: tuple[Pair, ...]
    disordered: int = 0
    """Answers that came after the answer to a later report."""
    outside: int = 0
    """Reports before the first answer or after the last one, which need none where t0 was searched for."""
    after_last: int = 0
    """Unanswered reports of windows that close after the last element: without it the engine cannot know that they are
    over."""
    by_order: bool = False
    """Whether answers were paired in their order although all of them name a time: no report is due at these."""


def pair_answers(
    due: Sequence[ExpectedReport],
    said: Sequence[EngineAnswer],
    by: Comparison = Comparison.EXACT,
    *,
    searched: bool = False,
    last: float | None = None,
) -> Pairing:
    """Pair reports with answers.

    Where t0 was `searched` for, answers need only be a contiguous part of what was due. `last` is the time of the last
    element, where the stream has no explicit end.
    """
    named = bool(said) and all(each.t is not None for each in said)
    by_order = named and searched and not names_reports(due, said)
    if named and not by_order:
        pairs, disordered = _by_time(due, said), count_disordered(said)
    else:
        pairs, disordered = _by_order(due, said, RowNumbers(by), searched=searched)
    outside = 0
    if searched:
        pairs, outside = _trimmed(pairs)
    kept = [
        (report, answer)
        for report, answer in pairs
        if answer is not None or report is None or last is None or report.t <= last
    ]
    return Pairing(tuple(kept), disordered, outside, len(pairs) - len(kept), by_order)


def names_reports(due: Sequence[ExpectedReport], said: Sequence[EngineAnswer]) -> bool:
    """Tell whether some answer names the time of a report."""
    times = {report.t for report in due}
    return any(each.t in times for each in said)


def count_disordered(said: Sequence[EngineAnswer]) -> int:
    """Return how many answers came after one that names a later time.

    >>> count_disordered([EngineAnswer(n, Counter(), t) for n, t in enumerate([1, 3, 2, 4])])
    1
    """
    times = [each.t for each in said if each.t is not None]
    return sum(t < latest for t, latest in zip(times, accumulate(times, max), strict=True))


def _by_time(due: Sequence[ExpectedReport], said: Sequence[EngineAnswer]) -> list[Pair]:
    """Pair what has the same time; of several with one time the first with the first."""
    waiting: dict[Instant, list[EngineAnswer]] = {}
    for each in said:
        assert each.t is not None
        waiting.setdefault(each.t, []).append(each)
    found: list[tuple[Instant, int, Pair]] = []
    for number, report in enumerate(due):
        same = waiting.get(report.t)
        found.append((report.t, number, (report, same.pop(0) if same else None)))
    for t, left in waiting.items():
        found += [(t, len(due), (None, each)) for each in left]
    return [pair for _, _, pair in sorted(found, key=lambda each: each[:2])]


def _by_order(
    due: Sequence[ExpectedReport], said: Sequence[EngineAnswer], values: RowNumbers, *, searched: bool
) -> tuple[list[Pair], int]:
    """Pair answers in their order, and return how many of them were swapped with others, if nothing else is wrong."""
    expected, actual = [values.numbers(each.rows) for each in due], [values.numbers(each.rows) for each in said]
    if len(said) <= len(due) and not searched:
        turns: list[Pair] = [*zip(due, said, strict=False), *((report, None) for report in due[len(said) :])]
        first = expected[: len(said)]
        wrong = sum(one != other for one, other in zip(first, actual, strict=True))
        if wrong == 0 or _bags(first) == _bags(actual):
            return turns, wrong
        pairs = _align(due, said, expected, actual)
        # As many answers as reports belong together by turns, unless another alignment makes more of them right.
        if len(said) < len(due) or _count_right(pairs, values) > len(said) - wrong:
            return pairs, 0
        return turns, 0
    return _align(due, said, expected, actual), 0


def _bags(rows: Sequence[Counter[int]]) -> Counter[frozenset[tuple[int, int]]]:
    return Counter(frozenset(each.items()) for each in rows)


def _count_right(pairs: Sequence[Pair], values: RowNumbers) -> int:
    return sum(
        values.numbers(report.rows) == values.numbers(answer.rows)
        for report, answer in pairs
        if report is not None and answer is not None
    )


def _align(
    due: Sequence[ExpectedReport],
    said: Sequence[EngineAnswer],
    expected: Sequence[Counter[int]],
    actual: Sequence[Counter[int]],
) -> list[Pair]:
    """Align the two sequences like two versions of a text: what fits best is paired, the rest has no partner."""
    slack = abs(len(due) - len(said)) + _BAND
    best: list[dict[int, tuple[float, int]]] = [{} for _ in range(len(due) + 1)]  # by report and answer: worth, move
    for i in range(len(due), -1, -1):
        for j in range(min(len(said), i + slack), max(i - slack, 0) - 1, -1):
            choices = [(0.0, 0)]
            if i < len(due) and j < len(said) and j + 1 in best[i + 1]:
                choices.append((_worth(expected[i], actual[j]) + best[i + 1][j + 1][0], 3))
            if i < len(due) and j in best[i + 1]:
                choices.append((best[i + 1][j][0], 1))
            if j < len(said) and j + 1 in best[i]:
                choices.append((best[i][j + 1][0], 2))
            best[i][j] = max(choices)
    found: list[Pair] = []
    i = j = 0
    while i < len(due) or j < len(said):
        move = best[i].get(j, (0.0, 0))[1] or (1 if i < len(due) else 2)
        found.append((due[i] if move & 1 else None, said[j] if move & 2 else None))
        i, j = i + (move & 1), j + (move >> 1)
    return found


def _worth(expected: Counter[int], actual: Counter[int]) -> float:
    """Return how well an answer fits, from 0 to 1; two empty ones fit a little."""
    total = expected.total() + actual.total()
    return 2 * (expected & actual).total() / total if total else 0.1


def _trimmed(pairs: list[Pair]) -> tuple[list[Pair], int]:
    """Leave out the reports before the first answer and after the last, and return how many these are."""
    places = [place for place, (_, answer) in enumerate(pairs) if answer is not None]
    if not places:
        return pairs, 0
    inside = pairs[places[0] : places[-1] + 1]
    return inside, len(pairs) - len(inside)
