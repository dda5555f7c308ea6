"""Means of repeated measurements, with their 95 % confidence intervals by Student's t distribution.

The interval of n values is mean ± t · s / √n, with the standard deviation s over n - 1 and the quantile t of n - 1
degrees of freedom. It holds for repetitions that are independent and roughly normal. Two repetitions give an interval
that is usually too wide to be of use (t = 12.7), which is what two repetitions tell.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95
LABEL = "95 % Student t"


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """Mean of repeated values; `half` is half of the width of its interval, None for a single value."""

    mean: float
    half: float | None
    count: int


def mean_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> MeanInterval:
    """Return the mean of values with its confidence interval.

    >>> mean_interval([1, 2, 3]).mean, round(mean_interval([1, 2, 3]).half, 3)
    (2, 2.484)
    """
    mean = statistics.mean(values)
    if len(values) < 2:
        return MeanInterval(mean, None, len(values))
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return MeanInterval(mean, t_quantile((1 + confidence) / 2, len(values) - 1) * spread, len(values))


def format_interval(interval: MeanInterval) -> str:
    """Return an interval as text, with as many digits of the mean as its width justifies.

    >>> format_interval(MeanInterval(0.98765, 0.0123, 5)), format_interval(MeanInterval(3.0, None, 1))
    ('0.988 ± 0.012', '3')
    """
    if interval.half is None:
        return f"{interval.mean:.6g}"
    if interval.half == 0:
        return f"{interval.mean:.6g} ± 0"
    digits = max(0, 1 - math.floor(math.log10(interval.half)))
    return f"{interval.mean:.{digits}f} ± {interval.half:.{digits}f}"


def t_quantile(probability: float, freedom: int) -> float:
    """Return the value below which a variable of Student's t distribution lies with a probability of at least 1/2.

    >>> round(t_quantile(0.975, 4), 3)
    2.776
    """
    if not 0.5 <= probability < 1 or freedom < 1:
        raise ValueError(f"expected a probability of 1/2 to 1 and a degree of freedom, got {probability}, {freedom}")
    # P(T > t) = I_x(freedom/2, 1/2) / 2 with x = freedom / (freedom + t²), and I_x rises with x.
    tail = 2 * (1 - probability)
    x = _bisect(lambda x: incomplete_beta(x, freedom / 2, 0.5) < tail)
    return math.sqrt(freedom * (1 - x) / x)


def _bisect(is_below: Callable[[float], bool]) -> float:
    """Return the border of a condition that holds for small values, between 0 and 1."""
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high


_STEPS = 10_000
_TINY = 1e-300


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22).

    >>> round(incomplete_beta(0.25, 1, 1), 12), round(incomplete_beta(0.5, 3, 3), 12)
    (0.25, 0.5)
    """
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly on the other side
        return 1 - incomplete_beta(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) - math.log(a)
    log_front += math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    # Lentz's method: h = c1·d1 · c2·d2 · …
    h = c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    h = d
    for m in range(1, _STEPS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            h *= c * d
        if abs(c * d - 1) < 1e-16:
            return math.exp(log_front) * h
    raise ArithmeticError(f"the incomplete beta function of {x}, {a}, {b} does not converge")


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
