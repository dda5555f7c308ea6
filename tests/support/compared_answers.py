"""Answers of the engine over recorded data, compared with those of the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isclose
from pathlib import Path

from hydrograph.api import query as query_of
from hydrograph.rdf.terms import Iri, Literal, Term, Triple
from hydrograph.rdf.vocab import XSD_FLOAT
from hydrograph.streams.sources import open_stream
from hydrograph.streams.static_graphs import read_graphs
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import Row, StaticData, elements_of, graph_of
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from tests.support.replay_adapter import as_expected


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
    rounded: bool = False,
) -> list[Report]:
    """Return the engine's reports, after they were compared with the oracle's.

    With `rounded`, floats may differ by a hundred thousandth: pyoxigraph adds them up in 24 bits, the engine in 53.
    """
    query = query_of(text)
    with query.over(streams, static, placement="local", after=after, until=until) as run:
        got = as_expected(run.reports())
    named = {Iri(name): triples(place) for name, place in static.items() if name is not None}
    known = StaticData(triples(static[None]) if None in static else frozenset(), named)
    wanted = {Iri(iri): elements(place, iri) for iri, place in streams.items()}
    right = evaluate_reports(query.algebra, wanted, known, profile=query.profile, from_=after, until=until)
    if rounded:
        assert [report.t for report in right] == [report.t for report in got]
        for one, other in zip(right, got, strict=True):
            assert _are_near(one, other), f"report at {one.t}: expected {one.rows}, got {other.rows}"
    else:
        assert "\n".join(map(str, compare_reports(right, got))) == ""
    return got


def _are_near(one: Report, other: Report) -> bool:
    """Tell whether rows are the same, apart from the last digits of floats."""
    left, right = (sorted(map(_split, report.rows.elements()), key=repr) for report in (one, other))
    return [exact for exact, _ in left] == [exact for exact, _ in right] and all(
        isclose(a, b, rel_tol=1e-5)
        for (_, some), (_, others) in zip(left, right, strict=True)
        for a, b in zip(some, others, strict=True)
    )


def _split(row: Row) -> tuple[tuple[Term | None, ...], list[float]]:
    """Return the terms of a row that are no floats, and the values of those that are."""
    floats = [isinstance(term, Literal) and term.datatype == XSD_FLOAT for term in row]
    exact = tuple(None if is_float else term for term, is_float in zip(row, floats, strict=True))
    return exact, [float(term.lexical) for term in row if isinstance(term, Literal) and term.datatype == XSD_FLOAT]
