"""Stateless random draws: a draw is a pure function of the seed, its purpose, and the keys of the entity it is for.

Every draw exists as a Spark column for rows and as a number for tests and for the driver; some also as NumPy arrays.
All forms agree to the bit: they hash with xxHash64 as Spark does, and continue with operations that IEEE 754 defines
exactly (sums, products, floors, table lookups; no logarithm or cosine, whose results differ between libraries).

>>> draws = Draws(1024)
>>> draws.uniform("age").value(7)
0.6392079244008296
>>> draws.below("die", 6).value(7)
2
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from hydrograph.rdf.encoding import term_id
from hydrograph_gauge.worlds.hashing import NumberArray, hash_long_arrays, hash_longs
from hydrograph_gauge.worlds.spark import constant_numbers, to_bigint

if TYPE_CHECKING:
    from pyspark.sql import Column


_ULP = 2.0**-53  # of a draw from [0, 1)
_KNOTS = 256
_HEAD = 128
_SHIFT = 2.0**26  # half of the bits of a draw
_EXACT = 3  # the exponent of a power law whose quantiles are square roots


@dataclass(frozen=True, slots=True)
class Bits:
    """64 random bits as a signed number; the base may be a column if rows draw for different purposes."""

    base: int | Column

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row; the keys are whole numbers."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.xxhash64(*to_bigint(self.base, *keys))

    def value(self, *keys: int) -> int:
        """Return the draw for these keys."""
        assert isinstance(self.base, int)
        return hash_longs(self.base, *keys)


@dataclass(frozen=True, slots=True)
class Uniform:
    """A number from [0, 1), one of 2**53."""

    bits: Bits

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.shiftrightunsigned(self.bits.column(*keys), 11).cast("double") * F.lit(_ULP)

    def value(self, *keys: int) -> float:
        """Return the draw for these keys."""
        return (self.bits.value(*keys) % 2**64 >> 11) * _ULP


@dataclass(frozen=True, slots=True)
class UniformInteger:
    """A whole number from [0, n), each equally likely."""

    uniform: Uniform
    n: int

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.floor(self.uniform.column(*keys) * F.lit(float(self.n)))

    def value(self, *keys: int) -> int:
        """Return the draw for these keys."""
        return math.floor(self.uniform.value(*keys) * float(self.n))


@dataclass(frozen=True, slots=True)
class Chance:
    """True with a given probability."""

    uniform: Uniform
    probability: float

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row; a probability of 1 needs no draw."""
        from pyspark.sql import functions as F  # noqa: N812

        if self.probability >= 1:
            return F.lit(True)  # noqa: FBT003
        return self.uniform.column(*keys) < F.lit(self.probability)

    def value(self, *keys: int) -> bool:
        """Return the draw for these keys."""
        return self.probability >= 1 or self.uniform.value(*keys) < self.probability


@dataclass(frozen=True, slots=True)
class Normal:
    """A number from [0, 1]: normal with mean 1/2 and standard deviation 1/6, clamped at both ends.

    Quantiles are interpolated between 256 exact ones.
    """

    uniform: Uniform

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row."""
        return normal_column(self.uniform.column(*keys))

    def value(self, *keys: int) -> float:
        """Return the draw for these keys."""
        return _between(normal_quantiles(), self.uniform.value(*keys))


def normal_column(u: Column) -> Column:
    """Map a uniform draw to a normal one."""
    return _between_column(normal_quantiles(), u)


@dataclass(frozen=True, slots=True)
class Weighted:
    """An integer from [0, number of weights), drawn by weight in constant time (Walker's alias method)."""

    uniform: Uniform
    weights: tuple[float, ...]

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row."""
        return _weighted_column(self.weights, self.uniform.column(*keys))

    def value(self, *keys: int) -> int:
        """Return the draw for these keys."""
        return _weighted(self.weights, self.uniform.value(*keys))


@dataclass(frozen=True, slots=True)
class Zipf:
    """An integer k from [0, n) with a probability proportional to 1 / (k + 1).

    The first 128 are exact. All others share one more weight and are log-uniform, which approximates 1 / k for large k;
    they are interpolated between 256 exact quantiles. So tables stay small for any n.
    """

    uniform: Uniform
    n: int

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row."""
        return zipf_column(self.n, self.uniform.column(*keys))

    def value(self, *keys: int) -> int:
        """Return the draw for these keys."""
        u = self.uniform.value(*keys)
        drawn = _weighted(_zipf_weights(self.n), u)
        if self.n <= _HEAD or drawn < _HEAD:
            return drawn
        shifted = u * _SHIFT
        return math.floor(_between(_tail(self.n), shifted - math.floor(shifted)))


def zipf_column(n: int, u: Column) -> Column:
    """Map a uniform draw to a Zipf-distributed integer."""
    from pyspark.sql import functions as F  # noqa: N812

    drawn = _weighted_column(_zipf_weights(n), u)
    if n <= _HEAD:
        return drawn
    # The upper bits selected the tail; the lower bits select the position in it.
    shifted = u * F.lit(_SHIFT)
    tail = F.floor(_between_column(_tail(n), shifted - F.floor(shifted).cast("double")))
    return F.when(drawn < F.lit(_HEAD), drawn).otherwise(tail)


@dataclass(frozen=True, slots=True)
class Pareto:
    """A number from [least, most] with a power-law tail: its density falls with x**-exponent up to `most`.

    A share of (least / x)**(exponent - 1) lies above x; draws beyond `most` are `most`. The exponent 3 needs a square
    root and a quotient, which are the same to the last bit everywhere; other powers may differ in it.
    """

    uniform: Uniform
    least: float
    exponent: float
    most: float

    def column(self, *keys: Column | int) -> Column:
        """Return the draw of each row."""
        from pyspark.sql import functions as F  # noqa: N812

        above = F.lit(1.0) - self.uniform.column(*keys)
        shrunk = F.sqrt(above) if self.exponent == _EXACT else F.pow(above, F.lit(1 / (self.exponent - 1)))
        return F.least(F.lit(self.least) / shrunk, F.lit(self.most))

    def value(self, *keys: int) -> float:
        """Return the draw for these keys."""
        above = 1.0 - self.uniform.value(*keys)
        shrunk = math.sqrt(above) if self.exponent == _EXACT else above ** (1 / (self.exponent - 1))
        return min(self.least / shrunk, self.most)


def _between(knots: tuple[float, ...], u: float) -> float:
    """Return the linear interpolation of the knots at the fraction `u`."""
    place = u * float(len(knots) - 1)
    cell = math.floor(place)
    return knots[cell] + (knots[cell + 1] - knots[cell]) * (place - float(cell))


def _between_column(knots: tuple[float, ...], u: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    known = constant_numbers(knots)
    place = u * F.lit(float(len(knots) - 1))
    cell = F.floor(place)
    low, high = F.get(known, cell.cast("int")), F.get(known, cell.cast("int") + 1)
    return low + (high - low) * (place - cell.cast("double"))


def _weighted(weights: tuple[float, ...], u: float) -> int:
    keep, alias = _alias(weights)
    place = u * float(len(keep))
    cell = math.floor(place)
    return cell if place - float(cell) < keep[cell] else alias[cell]


def _weighted_column(weights: tuple[float, ...], u: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    keep, alias = _alias(weights)
    place = u * F.lit(float(len(keep)))
    cell = F.floor(place)
    own = place - cell.cast("double") < F.get(constant_numbers(keep), cell.cast("int"))
    return F.when(own, cell).otherwise(F.get(constant_numbers(alias, "bigint"), cell.cast("int")))


@dataclass(frozen=True, slots=True)
class Draws:
    """All randomness of one generated world."""

    seed: int

    def bits(self, purpose: str) -> Bits:
        """Return 64 random bits; draws for different purposes are independent."""
        return Bits(term_id(f"{self.seed} {purpose}"))

    def uniform(self, purpose: str) -> Uniform:
        """Return a number from [0, 1)."""
        return Uniform(self.bits(purpose))

    def below(self, purpose: str, n: int) -> UniformInteger:
        """Return a whole number from [0, n)."""
        return UniformInteger(self.uniform(purpose), n)

    def chance(self, purpose: str, probability: float) -> Chance:
        """Return true with this probability."""
        return Chance(self.uniform(purpose), probability)

    def normal(self, purpose: str) -> Normal:
        """Return a number from [0, 1] around 1/2."""
        return Normal(self.uniform(purpose))

    def weighted(self, purpose: str, weights: Sequence[float]) -> Weighted:
        """Return a whole number below the number of weights."""
        return Weighted(self.uniform(purpose), tuple(weights))

    def pareto(self, purpose: str, mean: float, exponent: float, most: float) -> Pareto:
        """Return a number with a power-law tail up to `most`, of this mean where nothing lies beyond `most`."""
        return Pareto(
            self.uniform(purpose), float(mean) * (exponent - 2) / (exponent - 1), float(exponent), float(most)
        )

    def zipf(self, purpose: str, n: int) -> Zipf:
        """Return a whole number k from [0, n) with a probability proportional to 1 / (k + 1)."""
        return Zipf(self.uniform(purpose), n)


@lru_cache(64)
def _zipf_weights(n: int) -> tuple[float, ...]:
    """Return 1, 1/2, … 1/128, and the sum of the rest."""
    head = tuple(1.0 / rank for rank in range(1, min(n, _HEAD) + 1))
    return head if n <= _HEAD else (*head, _harmonic(n) - _harmonic(_HEAD))


def _harmonic(n: int) -> float:
    """Return 1 + 1/2 + … + 1/n."""
    if n <= 10_000:
        return math.fsum(1.0 / rank for rank in range(1, n + 1))
    return math.log(n) + 0.5772156649015329 + 1 / (2 * n) - 1 / (12 * n * n)


@lru_cache(64)
def _tail(n: int) -> tuple[float, ...]:
    """Return log-spaced quantiles from the end of the exact head to `n`."""
    return (*(_HEAD * (n / _HEAD) ** (knot / _KNOTS) for knot in range(_KNOTS)), float(n))


@lru_cache(1)
def normal_quantiles() -> tuple[float, ...]:
    """Return the quantiles of `Normal` at equal steps from 0 to 1."""
    normal = NormalDist(0.5, 1 / 6)
    inner = (min(1.0, max(0.0, normal.inv_cdf(knot / _KNOTS))) for knot in range(1, _KNOTS))
    return (0.0, *inner, 1.0)


@lru_cache(64)
def _alias(weights: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Return the alias table: for each cell its own share, and the number that the rest belongs to."""
    total = math.fsum(weights)
    if not weights or min(weights) < 0 or total <= 0:
        raise ValueError("expected weights that are not negative and not all zero")
    scaled = [weight * len(weights) / total for weight in weights]
    keep, alias = [1.0] * len(weights), list(range(len(weights)))
    small = [cell for cell, share in enumerate(scaled) if share < 1]
    large = [cell for cell, share in enumerate(scaled) if share >= 1]
    while small and large:
        cell, giver = small.pop(), large[-1]
        keep[cell], alias[cell] = scaled[cell], giver
        scaled[giver] -= 1 - scaled[cell]
        if scaled[giver] < 1:
            small.append(large.pop())
    return tuple(keep), tuple(alias)


def draw_uniform_array(*keys: NumberArray | int) -> NumberArray:
    """Return a number from [0, 1) for each row; the first key is the base of the draw."""
    shares: NumberArray = (hash_long_arrays(*keys).view(np.uint64) >> np.uint64(11)).astype(np.float64) * _ULP
    return shares


def map_to_normal(u: NumberArray) -> NumberArray:
    """Map uniform draws to normal ones; the array form of `normal_column`."""
    knots = np.array(normal_quantiles())
    place = u * float(len(knots) - 1)
    cell = np.floor(place).astype(np.int64)
    result: NumberArray = knots[cell] + (knots[cell + 1] - knots[cell]) * (place - cell.astype(np.float64))
    return result
