"""The borders of the window that an engine really used: YABench's gracious mode.

If rows are missing, the window may have begun later; if rows are too many, it may have ended later. So the start is
moved forward through the times of the content while recall does not fall, then the end while neither falls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hydrograph.temporal import Instant, Interval
from hydrograph_gauge.judge.score import Score, score
from hydrograph_gauge.oracle.dataset import Row

Answer = Callable[[Interval], Counter[Row]]
"""What the query answers over the elements of an interval."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """The borders at which an engine's answer fits best, and how well."""

    window: Interval
    score: Score


def recover(
    window: Interval,
    times: Sequence[Instant],
    actual: Counter[Row],
    answer: Answer,
    may_ask: Callable[[], bool] = lambda: True,
) -> Recovered:
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


def _at(window: Interval, actual: Counter[Row], answer: Answer) -> Recovered:
    return Recovered(window, score(answer(window), actual))
