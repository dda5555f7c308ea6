"""Measurement of a query's features on data, and their means over patterns and windows.

A query is measured at each report over recorded streams, or once over static data if it has no windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from statistics import fmean, pstdev

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.terms import Triple
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Profile
from hydrograph.windows.report import Range, content_at, domain_tick, reports
from hydrograph.windows.stream import Graph, merged
from hydrograph_gauge.features.selectivity import (
    Conjunction,
    Selectivities,
    StaticUnit,
    compute_selectivities,
    explain_undefined,
)
from hydrograph_gauge.oracle.dataset import StaticData, dataset_of, static_names
from hydrograph_gauge.oracle.evaluate import Streams, place_windows
from hydrograph_gauge.oracle.plain_sparql import asks_now, at_time, evaluator_query
from hydrograph_gauge.oracle.window_store import load_dataset


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
class MeanSelectivities:
    """The three selectivities of a query in one graph, each over its patterns."""

    patterns: Spread
    restricted: Spread
    joined: Spread


@dataclass(frozen=True, slots=True)
class WindowFeatures:
    """Features of a query over one graph: the content of its windows at one report, and the static data."""

    triples: int
    """The size of the graph."""
    cardinality: int
    each: Selectivities | None = None
    """The values of each pattern; None where they are not defined."""
    averages: MeanSelectivities | None = None


@dataclass(frozen=True, slots=True)
class RunSelectivity:
    """Selectivity over a run: its mean over patterns and windows, and its deviation over each."""

    mean: float
    deviation: float
    """Over the patterns, as a query has it in one window: the mean over the windows."""
    over_windows: float
    """Over the windows: the deviation of the means over the patterns."""


@dataclass(frozen=True, slots=True)
class RunFeatures:
    """Features of a query over the windows of a run; selectivities are None if they are undefined."""

    windows: int
    cardinality: float
    """The mean over the windows, and with it their deviation."""
    cardinality_deviation: float
    patterns: RunSelectivity | None
    restricted: RunSelectivity | None
    joined: RunSelectivity | None


def average_patterns(
    found: Conjunction, values: Selectivities, triples: int, unit: StaticUnit = StaticUnit.PATTERN
) -> WindowFeatures:
    """Return mean and deviation over the patterns; static components count once, with the mean of their patterns."""
    units = found.units(unit)

    def spread(of: Callable[[int], float]) -> Spread:
        return Spread.of([fmean([of(number) for number in numbers]) for numbers in units])

    def joined(number: int) -> float:
        shares = values.joined[number].values()
        return fmean(map(float, shares)) if shares else 1.0

    averages = MeanSelectivities(
        spread(lambda number: float(values.patterns[number])),
        spread(lambda number: float(values.restricted[number])),
        spread(joined),
    )
    return WindowFeatures(triples, values.cardinality, values, averages)


def average_windows(windows: Sequence[WindowFeatures]) -> RunFeatures:
    """Return mean and deviation over the windows of a run, which has at least one window."""
    known = [window.averages for window in windows if window.averages is not None]

    def over(of: Callable[[MeanSelectivities], Spread]) -> RunSelectivity | None:
        if not known:
            return None
        means = Spread.of([of(one).mean for one in known])
        return RunSelectivity(means.mean, fmean([of(one).deviation for one in known]), means.deviation)

    solutions = Spread.of([window.cardinality for window in windows])
    return RunFeatures(
        len(windows),
        solutions.mean,
        solutions.deviation,
        over(lambda one: one.patterns),
        over(lambda one: one.restricted),
        over(lambda one: one.joined),
    )


def list_window_contents(
    query: ContinuousQuery, streams: Streams, profile: Profile
) -> Iterator[tuple[Instant | None, list[Graph]]]:
    """Return the triples in each window of a query at every report; a query without windows has one, without a time."""
    if not query.windows:
        yield None, []
        return
    profile = profile.of(query)
    start = profile.start((element for window in query.windows for element in streams[window.stream]), None)
    placed = place_windows(query, streams, profile, start)
    tick = domain_tick(placed, profile.tick)
    for reported in reports(placed, profile.report, profile.tick, Range(None, None), start):
        inside = [merged(content_at(windowed, reported.moment, profile.report, tick)) for windowed in placed]
        yield reported.moment.t, inside


def measure_windows(
    query: ContinuousQuery,
    streams: Streams,
    static: StaticData,
    profile: Profile,
    *,
    unit: StaticUnit = StaticUnit.PATTERN,
    most: int | None = None,
) -> Iterator[tuple[Instant | None, WindowFeatures]]:
    """Return the features of every report, or of the first `most`; once, without a time, for a query without windows.

    Where selectivities are not defined, the cardinality is the number of the oracle's solutions.
    """
    everything = static.default.union(*static.named.values())
    conjunction = None if explain_undefined(query) else Conjunction.of(query)
    count = _counting(query, static, profile)
    for t, inside in islice(list_window_contents(query, streams, profile), most):
        graph = frozenset[Triple]().union(everything, *inside)
        if conjunction is None:
            yield t, WindowFeatures(len(graph), count(t, inside))
        else:
            yield t, average_patterns(conjunction, compute_selectivities(conjunction, graph), len(graph), unit)


def _counting(
    query: ContinuousQuery, static: StaticData, profile: Profile
) -> Callable[[Instant | None, Sequence[Graph]], int]:
    """Return a function that counts the solutions of one report."""
    query = replace(query, pattern=profile.of(query).reading(query.pattern))

    def count(t: Instant | None, inside: Sequence[Graph]) -> int:
        plain = evaluator_query(query, static_names(query, static))
        text = print_sparql(at_time(plain, t or 0) if asks_now(plain) else plain)
        dataset = dataset_of(query, static, zip(query.windows, inside, strict=True))
        return len(load_dataset(dataset).answer(text))

    return count
