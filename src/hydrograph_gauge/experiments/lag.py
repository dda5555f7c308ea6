"""The highest rate that holds: bisection over rates, and what tells that an engine does not keep up."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

from hydrograph_gauge.engines.verdict import Verdict
from hydrograph_gauge.results import Outcome

_CLOSE = 1.1
"""Two rates this close are one."""
_THIRD = 3
_JITTER = 100.0
"""Milliseconds by which delays may differ without growing."""


class Tried(NamedTuple):
    """A rate, and why it is not held; nothing if it is."""

    rate: float
    why: str


def highest(why_not: Callable[[float], str], start: float, end: float) -> tuple[float, tuple[Tried, ...]]:
    """Return the highest rate between `start` and `end` that holds, 0 if none does, and all that was tried.

    Rates are halved by their ratio, because what is asked is how many times as fast.

    >>> highest(lambda rate: "" if rate < 500 else "delay grows", 10, 1000)[0] > 450
    True
    """
    tried: list[Tried] = []

    def holds(rate: float) -> bool:
        tried.append(Tried(rate, why_not(rate)))
        return not tried[-1].why

    if not holds(start):
        return 0.0, tuple(tried)
    if end <= start or holds(end):
        return max(start, end), tuple(tried)
    low, high = start, end
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, tuple(tried)


def why_not(outcome: Outcome, delays: Sequence[float], late: Sequence[float], played: float) -> str:
    """Return why an engine does not hold the rate of a run; nothing if it does.

    `delays` are those of the windows that closed while the stream was played, `late` by how much elements were handed
    over later than due, because the engine did not take them, `played` is how long all of it took; in milliseconds.
    """
    if outcome.verdict != Verdict.OK:
        return outcome.verdict
    if not outcome.non_empty:
        return "no window has an answer"
    if grows(late):
        return "elements are taken later and later"
    if not delays:
        return "no window closed while the stream was played"
    if statistics.median(delays) > played / 2:
        return "answers wait for the end of the stream"
    return "delay grows" if grows(delays) else ""


def grows(delays: Sequence[float]) -> bool:
    """Tell whether answers come later and later: the last third against the first.

    >>> grows([10, 12, 11, 10, 13, 12]), grows([10, 200, 400, 600, 800, 1000])
    (False, True)
    """
    third = len(delays) // _THIRD
    if not third:
        return False
    first, last = statistics.median(delays[:third]), statistics.median(delays[-third:])
    return last > max(first + _JITTER, 2 * first)
