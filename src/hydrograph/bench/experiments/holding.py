"""The highest rate that holds: bisection over rates, and when a delay is one that grows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

_CLOSE = 1.1
"""Two rates this close are one."""
_THIRD = 3
_JITTER = 100.0
"""Milliseconds by which delays may differ without growing."""


def highest(holds: Callable[[float], bool], start: float, end: float) -> tuple[float, tuple[tuple[float, bool], ...]]:
    """Return the highest rate between `start` and `end` that holds, 0 if none does, and all that was tried.

    Rates are halved by their ratio, because what is asked is how many times as fast.

    >>> highest(lambda rate: rate < 500, 10, 1000)[0] > 450
    True
    """
    tried: list[tuple[float, bool]] = []

    def tries(rate: float) -> bool:
        tried.append((rate, holds(rate)))
        return tried[-1][1]

    if not tries(start):
        return 0.0, tuple(tried)
    if tries(end):
        return end, tuple(tried)
    low, high = start, end
    while high / low > _CLOSE:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if tries(middle) else (low, middle)
    return low, tuple(tried)


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
