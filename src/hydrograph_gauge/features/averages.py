"""Mean and deviation of what was measured: over the patterns of a query in a window, and over the windows of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, pstdev

from hydrograph_gauge.features.selectivity import Conjunction, Selectivities, StaticUnit


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of a value."""

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: Sequence[float | Fraction]) -> Spread:
        """Return both; the deviation is that of the whole population."""
        numbers = [float(value) for value in values]
        return cls(fmean(numbers), pstdev(numbers)) if numbers else cls(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Averages:
    """The three selectivities of a query in one graph, each over its patterns."""

    patterns: Spread
    restricted: Spread
    joined: Spread


@dataclass(frozen=True, slots=True)
class Measured:
    """What a query is like over one graph: the content of its windows at one report, and the static data."""

    triples: int
    """The size of the graph."""
    cardinality: int
    each: Selectivities | None = None
    """The values of each pattern; None where they are not defined."""
    averages: Averages | None = None


@dataclass(frozen=True, slots=True)
class Selectivity:
    """A selectivity over a run: its mean over patterns and windows, and how it differs among both."""

    mean: float
    deviation: float
    """Over the patterns, as a query has it in one window: the mean over the windows."""
    over_windows: float
    """Over the windows: the deviation of the means over the patterns."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a query is like over the windows of a run; selectivities are None where they are not defined."""

    windows: int
    cardinality: float
    """The mean over the windows, and with it their deviation."""
    cardinality_deviation: float
    patterns: Selectivity | None
    restricted: Selectivity | None
    joined: Selectivity | None


def measured(
    found: Conjunction, values: Selectivities, triples: int, unit: StaticUnit = StaticUnit.PATTERN
) -> Measured:
    """Return mean and deviation over the patterns; static components count once, with the mean of their patterns."""
    units = found.units(unit)

    def spread(of: Callable[[int], float]) -> Spread:
        return Spread.of([fmean([of(number) for number in numbers]) for numbers in units])

    def joined(number: int) -> float:
        shares = values.joined[number].values()
        return fmean(map(float, shares)) if shares else 1.0

    averages = Averages(
        spread(lambda number: float(values.patterns[number])),
        spread(lambda number: float(values.restricted[number])),
        spread(joined),
    )
    return Measured(triples, values.cardinality, values, averages)


def over_the_run(windows: Sequence[Measured]) -> Run:
    """Return mean and deviation over the windows of a run, of which there is one at least."""
    known = [window.averages for window in windows if window.averages is not None]

    def over(of: Callable[[Averages], Spread]) -> Selectivity | None:
        if not known:
            return None
        means = Spread.of([of(one).mean for one in known])
        return Selectivity(means.mean, fmean([of(one).deviation for one in known]), means.deviation)

    solutions = Spread.of([window.cardinality for window in windows])
    return Run(
        len(windows),
        solutions.mean,
        solutions.deviation,
        over(lambda one: one.patterns),
        over(lambda one: one.restricted),
        over(lambda one: one.joined),
    )
