"""Answers of the engine over recorded data, compared with those of the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from hydrograph.api import query as query_of
from hydrograph.bench.engines.replay import as_expected
from hydrograph.bench.oracle.compare import compare_reports
from hydrograph.bench.oracle.dataset import StaticData
from hydrograph.bench.oracle.evaluate import Report, expected
from hydrograph.bench.oracle.recorded import elements_of, graph_of
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.streams.sources import open_stream
from hydrograph.streams.static import read_graphs
from hydrograph.windows.stream import Element


@cache
def elements(place: Path, iri: str) -> tuple[Element, ...]:
    return elements_of(open_stream(str(place), name=iri))


@cache
def triples(place: Path) -> frozenset[Triple]:
    return frozenset(triple for table in read_graphs([(None, str(place))]).tables for triple in graph_of(table))


def compared(
    text: str,
    streams: Mapping[str, Path],
    static: Mapping[str | None, Path],
    *,
    after: int | None = None,
    until: int | None = None,
) -> list[Report]:
    """Return the engine's reports, after they were compared with the oracle's."""
    query = query_of(text)
    with query.over(streams, static, placement="local", after=after, until=until) as run:
        got = as_expected(run.reports())
    named = {Iri(name): triples(place) for name, place in static.items() if name is not None}
    known = StaticData(triples(static[None]) if None in static else frozenset(), named)
    wanted = {Iri(iri): elements(place, iri) for iri, place in streams.items()}
    right = expected(query.algebra, wanted, known, profile=query.profile, from_=after, until=until)
    assert "\n".join(map(str, compare_reports(right, got))) == ""
    return got
