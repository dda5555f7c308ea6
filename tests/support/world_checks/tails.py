"""Fit of a power law to counts: exponent by maximum likelihood, where its tail begins, and how good the fit is.

The method of Clauset, Shalizi and Newman (SIAM Review 51, 2009): for each possible beginning of the tail the exponent
of greatest likelihood of a discrete power law; of these the one whose distribution is nearest to the data (by the
distance of Kolmogorov and Smirnov); and the share of samples of the fitted law that are farther from their own fits
than the data are from theirs. If that is less than a tenth, the data do not follow the law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hydrograph_gauge.worlds.hashing import NumberArray

_TAIL = 100
"""Counts that a tail has at least."""
_EXPONENTS = np.linspace(1.5, 8.0, 651)
_TERMS = 200
_BEGINNINGS = 40


@dataclass(frozen=True, slots=True)
class TailFit:
    """A power law fitted to the tail of counts."""

    exponent: float
    begins: int
    """The smallest count of the tail."""
    size: int
    """How many counts the tail has."""
    distance: float
    """The largest difference of the two distributions."""

    def __str__(self) -> str:
        """Return the fit in words."""
        return f"exponent {self.exponent:.2f} from {self.begins} on ({self.size} of them)"


def fit_tail(counts: NumberArray) -> TailFit:
    """Return the best fit; counts of 0 are no part of it."""
    found = np.sort(counts[counts > 0])
    values = np.unique(found)
    beginnings = [int(value) for value in values if np.count_nonzero(found >= value) >= _TAIL][:_BEGINNINGS]
    if not beginnings:
        raise ValueError(f"expected at least {_TAIL} counts above 0, got {len(found)}")
    return min((_fit(found[found >= begin], begin) for begin in beginnings), key=lambda fit: fit.distance)


def _fit(tail: NumberArray, begin: int) -> TailFit:
    likelihood = -len(tail) * _log_zetas(begin) - _EXPONENTS * np.log(tail).sum()
    exponent = float(_EXPONENTS[np.argmax(likelihood)])
    values, numbers = np.unique(tail, return_counts=True)
    seen = np.cumsum(numbers[::-1])[::-1] / len(tail)
    total = float(zeta(np.array([exponent]), begin)[0])
    before = np.cumsum(np.arange(begin, int(values[-1]) + 1, dtype=np.float64) ** -exponent)
    fitted = 1 - np.concatenate([[0.0], before])[values - begin] / total
    return TailFit(exponent, begin, len(tail), float(np.abs(seen - fitted).max()))


@lru_cache(1000)
def _log_zetas(begin: int) -> NumberArray:
    """Return the logarithms of the sums of all exponents that are tried."""
    result: NumberArray = np.log(zeta(_EXPONENTS, begin))
    return result


def zeta(exponents: NumberArray, begin: int) -> NumberArray:
    """Return the sum of k**-exponent for all k from `begin` on: terms, and Euler's and Maclaurin's rest."""
    terms = np.arange(begin, begin + _TERMS, dtype=np.float64)
    end = float(begin + _TERMS)
    head = (terms[:, None] ** -exponents).sum(axis=0)
    result: NumberArray = head + end ** (1 - exponents) / (exponents - 1) + end**-exponents / 2
    return result


def goodness(counts: NumberArray, fit: TailFit, rng: np.random.Generator, samples: int = 50) -> float:
    """Return the share of samples of the law that fit worse than the counts do; below 0.1 the law is refused."""
    found = counts[counts > 0]
    below = found[found < fit.begins]
    worse = 0
    for _ in range(samples):
        in_tail = rng.random(len(found)) < fit.size / len(found)
        number = int(in_tail.sum())
        rest = rng.choice(below, len(found) - number) if len(below) else np.zeros(0, np.int64)
        drawn = np.concatenate([rest, draw_power_law(fit.exponent, fit.begins, number, rng)])
        worse += fit_tail(drawn).distance > fit.distance
    return worse / samples


def draw_power_law(exponent: float, begin: int, number: int, rng: np.random.Generator) -> NumberArray:
    """Return counts of a discrete power law: exact up to a bound, rounded from a continuous one beyond."""
    values = np.arange(begin, begin + 10_000)
    shares = values**-exponent / float(zeta(np.array([exponent]), begin)[0])
    places = np.searchsorted(np.cumsum(shares), rng.random(number))
    beyond = (begin + 10_000 - 0.5) * rng.random(number) ** (-1 / (exponent - 1)) + 0.5
    result: NumberArray = np.where(places < len(values), begin + places, np.floor(beyond)).astype(np.int64)
    return result


def top_share(counts: NumberArray, part: float = 0.01) -> float:
    """Return which share of all belongs to the largest counts, a `part` of them.

    >>> top_share(np.array([1] * 99 + [101]))
    0.505
    """
    largest = np.sort(counts)[::-1][: max(1, round(len(counts) * part))]
    return float(largest.sum() / counts.sum())
