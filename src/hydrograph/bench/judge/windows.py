"""Window by window: precision, recall, delay and sizes of what an engine reported at window close."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hydrograph.bench.judge.blocks import Block, paired
from hydrograph.bench.judge.score import Score, score
from hydrograph.bench.oracle.evaluate import Report
from hydrograph.temporal import Instant


@dataclass(frozen=True, slots=True)
class Judged:
    """One window as it was answered; a window that nobody expected has no time, one without an answer no delay."""

    t: Instant | None
    open: Instant | None
    close: Instant | None
    score: Score
    delay: float | None
    """Milliseconds from the end of the window, in stream time, to the answer; negative if that came too soon."""


def judge(reports: Sequence[Report], blocks: Sequence[Block], *, speed: float = 1.0) -> list[Judged]:
    """Return the verdict on every window; `speed` is how much faster than event time the stream was played."""
    found = []
    for report, block in paired(reports, blocks):
        rated = score(report.rows if report is not None else Counter(), block.rows if block is not None else Counter())
        if report is None:
            found.append(Judged(block.t if block is not None else None, None, None, rated, None))
            continue
        delay = None if block is None else block.at - report.t / speed
        found.append(Judged(report.t, report.open, report.close, rated, delay))
    return found


@dataclass(frozen=True, slots=True)
class Summary:
    """All windows of a run together."""

    windows: int
    non_empty: int
    right: int
    precision: Fraction
    """Mean over the windows, like recall: each window counts the same."""
    recall: Fraction
    missing: int
    extra: int


def summary(windows: Iterable[Judged]) -> Summary:
    """Return the means and sums over the windows of a run; without windows both means are 1."""
    scores = [window.score for window in windows]
    number = len(scores)
    return Summary(
        number,
        sum(each.expected > 0 for each in scores),
        sum(each.right for each in scores),
        sum((each.precision for each in scores), Fraction(0)) / number if number else Fraction(1),
        sum((each.recall for each in scores), Fraction(0)) / number if number else Fraction(1),
        sum(each.difference.missing.total() for each in scores),
        sum(each.difference.extra.total() for each in scores),
    )
