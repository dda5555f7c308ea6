"""The features of a query over data: report by report over recorded streams, or once over static data alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.terms import Triple
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Profile
from hydrograph.windows.report import Range, content_at, domain_tick, reports
from hydrograph.windows.stream import Graph, merged
from hydrograph_gauge.features.averages import Measured, measured
from hydrograph_gauge.features.selectivity import Conjunction, StaticUnit, selectivities, undefined
from hydrograph_gauge.oracle import oxigraph
from hydrograph_gauge.oracle.dataset import StaticData, dataset_of, static_names
from hydrograph_gauge.oracle.evaluate import Streams, placed_windows
from hydrograph_gauge.oracle.prepare import asks_now, at_time, oracle_query


def contents(
    query: ContinuousQuery, streams: Streams, profile: Profile
) -> Iterator[tuple[Instant | None, list[Graph]]]:
    """Return the triples in each window of a query at every report; a query without windows has one, without a time."""
    if not query.windows:
        yield None, []
        return
    profile = profile.of(query)
    start = profile.start((element for window in query.windows for element in streams[window.stream]), None)
    placed = placed_windows(query, streams, profile, start)
    tick = domain_tick(placed, profile.tick)
    for reported in reports(placed, profile.report, profile.tick, Range(None, None), start):
        inside = [merged(content_at(windowed, reported.moment, profile.report, tick)) for windowed in placed]
        yield reported.moment.t, inside


def by_window(
    query: ContinuousQuery,
    streams: Streams,
    static: StaticData,
    profile: Profile,
    *,
    unit: StaticUnit = StaticUnit.PATTERN,
    most: int | None = None,
) -> Iterator[tuple[Instant | None, Measured]]:
    """Return the features of every report, or of the first `most`; once, without a time, for a query without windows.

    Where selectivities are not defined, the cardinality is the number of the oracle's solutions.
    """
    everything = static.default.union(*static.named.values())
    conjunction = None if undefined(query) else Conjunction.of(query)
    count = _counting(query, static, profile)
    for t, inside in islice(contents(query, streams, profile), most):
        graph = frozenset[Triple]().union(everything, *inside)
        if conjunction is None:
            yield t, Measured(len(graph), count(t, inside))
        else:
            yield t, measured(conjunction, selectivities(conjunction, graph), len(graph), unit)


def _counting(
    query: ContinuousQuery, static: StaticData, profile: Profile
) -> Callable[[Instant | None, Sequence[Graph]], int]:
    """Return what counts the solutions of one report."""
    query = replace(query, pattern=profile.of(query).reading(query.pattern))

    def count(t: Instant | None, inside: Sequence[Graph]) -> int:
        plain = oracle_query(query, static_names(query, static))
        text = print_sparql(at_time(plain, t or 0) if asks_now(plain) else plain)
        dataset = dataset_of(query, static, zip(query.windows, inside, strict=True))
        return len(oxigraph.ask(text, oxigraph.store_of(dataset)))

    return count
