"""Search for the highest sustained rate, and the definition of growing lag that decides whether a rate is sustained."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

_CLOSE = 1.1
_THIRD = 3
_JITTER = 100.0
"""Milliseconds by which delays may differ without growing."""


class RateTrial(NamedTuple):
    """Rate that was tried, and why it is not sustained; empty if it is."""

    rate: float
    why: str


def find_max_rate(
    why_not: Callable[[float], str], start: float, end: float, *, climb: float = math.inf, close: float = _CLOSE
) -> tuple[float, tuple[RateTrial, ...]]:
    """Return the highest sustained rate from `start` to `end`, 0 if there is none, and all trials.

    The search climbs from `start` by the factor `climb` until a rate fails; without `climb` it tries `end` next. Then
    it bisects by ratio until two rates differ by less than the factor `close`. Climb where a trial far above the limit
    is expensive.

    >>> find_max_rate(lambda rate: "" if rate < 500 else "delay grows", 10, 1000)[0] > 450
    True
    >>> [trial.rate for trial in find_max_rate(lambda rate: "" if rate < 50 else "slow", 10, 1000, climb=2, close=2)[1]]
    [10, 20, 40, 80]
    """
    trials: list[RateTrial] = []

    def is_sustained(rate: float) -> bool:
        trials.append(RateTrial(rate, why_not(rate)))
        return not trials[-1].why

    if not is_sustained(start):
        return 0.0, tuple(trials)
    low, high = start, start
    while high < end:
        high = min(low * climb, end)
        if not is_sustained(high):
            break
        low = high
    while high / low > close:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_sustained(middle) else (low, middle)
    return low, tuple(trials)


def is_growing(delays: Sequence[float]) -> bool:
    """Tell whether delays in milliseconds grow from the first third of a run to the last, by their medians.

    The last third has to exceed the first by 100 ms **and** to be twice as large. Short delays vary by many times
    themselves and long ones by more than 100 ms, so neither condition alone separates growth from noise. The stricter
    sum of both (twice plus 100 ms) would let a delay of 100 ms triple unnoticed.

    >>> is_growing([10, 12, 11, 10, 13, 12]), is_growing([10, 200, 400, 600, 800, 1000])
    (False, True)
    """
    third = len(delays) // _THIRD
    if not third:
        return False
    first, last = statistics.median(delays[:third]), statistics.median(delays[-third:])
    return last > max(first + _JITTER, 2 * first)
