"""Pairing of answers with reports, where answers may be missing, repeated, or without a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from hydrograph.temporal import Instant
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport
from hydrograph_gauge.run_records import RowText

Pair: TypeAlias = tuple[ExpectedReport | None, EngineAnswer | None]
"""A report with its answer; one of them is None where nothing came, or nothing was expected."""

_BAND = 60
"""How many answers may be left out or added in a row before the two sequences lose each other."""


def pair_answers(due: Sequence[ExpectedReport], said: Sequence[EngineAnswer]) -> list[Pair]:
    """Return every report and every answer once, in order of the reports.

    By the time that the answers name, if all do. Otherwise by turns, if there are as many answers as reports; else so
    that as much as possible of what was said was expected, in the order in which it came.
    """
    if said and all(each.t is not None for each in said):
        return _by_time(due, said)
    if len(due) == len(said):
        return list(zip(due, said, strict=True))
    return align_answers(due, said)


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


def align_answers(due: Sequence[ExpectedReport], said: Sequence[EngineAnswer]) -> list[Pair]:
    """Align the two sequences like two versions of a text: what fits best is paired, the rest has no partner."""
    slack = abs(len(due) - len(said)) + _BAND
    best: list[dict[int, tuple[float, int]]] = [{} for _ in range(len(due) + 1)]  # by report and answer: worth, move
    for i in range(len(due), -1, -1):
        for j in range(min(len(said), i + slack), max(i - slack, 0) - 1, -1):
            choices = [(0.0, 0)]
            if i < len(due) and j < len(said) and j + 1 in best[i + 1]:
                choices.append((_worth(due[i].rows, said[j].rows) + best[i + 1][j + 1][0], 3))
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


def pair_contiguous(due: Sequence[ExpectedReport], said: Sequence[EngineAnswer]) -> tuple[list[Pair], int]:
    """Return the best pairs, whatever times are given, and the number of reports left out before and after them.

    Reports before the first answer and after the last are left out.
    """
    pairs = align_answers(due, said)
    places = [place for place, (_, answer) in enumerate(pairs) if answer is not None]
    if not places:
        return pairs, 0
    inside = pairs[places[0] : places[-1] + 1]
    return inside, len(pairs) - len(inside)


def _worth(expected: Counter[RowText], actual: Counter[RowText]) -> float:
    """Return how well an answer fits, from 0 to 1; two empty ones fit a little."""
    total = expected.total() + actual.total()
    return 2 * (expected & actual).total() / total if total else 0.1
