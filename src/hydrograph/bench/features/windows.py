"""The features of a query over recorded data: window by window, and over the run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.bench.features.selectivity import Conjunction, Measured, StaticUnit, measured, selectivities
from hydrograph.bench.oracle.evaluate import Streams, placed_windows
from hydrograph.rdf.terms import Triple
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Profile
from hydrograph.windows.report import Range, content_at, domain_tick, reports
from hydrograph.windows.stream import Graph, merged


def contents(query: ContinuousQuery, streams: Streams, profile: Profile) -> Iterator[tuple[Instant, Graph]]:
    """Return the triples in all windows of a query together, at every report."""
    profile = profile.of(query)
    start = profile.start((element for window in query.windows for element in streams[window.stream]), None)
    placed = placed_windows(query, streams, profile, start)
    tick = domain_tick(placed, profile.tick)
    for reported in reports(placed, profile.report, profile.tick, Range(None, None), start):
        inside = [merged(content_at(windowed, reported.moment, profile.report, tick)) for windowed in placed]
        yield reported.moment.t, frozenset[Triple]().union(*inside)


def by_window(
    query: ContinuousQuery,
    streams: Streams,
    static: Graph,
    profile: Profile,
    *,
    unit: StaticUnit = StaticUnit.PATTERN,
    most: int | None = None,
) -> Iterator[tuple[Instant, Measured]]:
    """Return the features of every report, or of the first `most`."""
    conjunction = Conjunction.of(query)
    for t, inside in islice(contents(query, streams, profile), most):
        yield t, measured(conjunction, selectivities(conjunction, inside | static), unit)
