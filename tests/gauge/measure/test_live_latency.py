"""`make bench-live`: all engines read one stream, and each latency belongs to the report it is measured for."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hydrograph.language import parse
from hydrograph.rdf.nquads import term_text
from hydrograph_gauge.features.structure import QueryKind
from hydrograph_gauge.measure import live_latency
from hydrograph_gauge.measure.latency import WARM_UP, LatencyFigures, measure_changes, measure_engine, measure_live
from hydrograph_gauge.measure.live_latency import WatDivQuery, format_classes
from hydrograph_gauge.measure.load import CHANGE_QUERIES, QUERIES, STREAM, draw_numbers, make_elements, make_slices

RATE, SECONDS = 500, 2


def test_the_stream_is_the_same_as_numbers_rows_and_elements() -> None:
    elements = make_elements(RATE, 200)
    for drawn, part in zip(draw_numbers(RATE, 200), make_slices(RATE, 200), strict=True):
        t, s, p, o = (part.events.column(name).to_pylist() for name in ("t", "s", "p", "o"))
        assert part.start == drawn.start
        assert t == drawn.t.tolist()
        assert s == [f"<urn:bench:n{number}>" for number in drawn.s]
        assert p == [f"<urn:bench:{'pqr'[number]}>" for number in drawn.p]
        assert o == [f"<urn:bench:n{number}>" for number in drawn.o]
        for instant in dict.fromkeys(t):
            element = next(elements)
            rows = {row[1:] for row in zip(t, s, p, o, strict=True) if row[0] == instant}
            triples = {tuple(map(term_text, (x.subject, x.predicate, x.object))) for x in element.triples}
            assert (element.t, triples) == (instant, rows)
    assert next(elements, None) is None


@pytest.mark.parametrize("query", ["join", "hybrid"])
def test_a_live_query_and_another_engine_answer_alike(query: str) -> None:
    live = measure_live(query, RATE, SECONDS, placement="local")
    other = measure_engine("oxigraph", query, RATE, SECONDS)
    assert live.rows > 0
    for figures in (live, other):
        assert (figures.reports, figures.rows) == (SECONDS, live.rows)
        assert figures.latencies == []  # windows that close after the end of the stream wait for nothing


def test_answers_to_elements_are_measured_from_their_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WARM_UP, "local", 0)
    figures = measure_changes("hybrid", RATE, SECONDS, placement="local")
    assert figures.rows > 10
    assert len(figures.latencies) == figures.reports
    assert min(figures.latencies) > 0


def test_queries_on_content_change_are_in_the_language_of_cqels() -> None:
    for text in CHANGE_QUERIES.values():
        assert [window.stream.value for window in parse(text, "cqels").windows] == [STREAM]


def test_classes_are_printed_with_the_published_figure() -> None:
    query = parse(QUERIES["join"])
    kinds = (("s1", QueryKind.PURE), ("s7", QueryKind.HYBRID))
    queries = [WatDivQuery(name, "star", kind, query) for name, kind in kinds]
    lines = [*format_classes((each, LatencyFigures([10.0, 20.0, 30.0], rows=5)) for each in queries)]
    assert lines == [
        "star pure: p50 20 ms, p95 29 ms; C-SPARQL, published: 301 ms; s1 (5 rows)",
        "star hybrid: p50 20 ms, p95 29 ms; C-SPARQL, published: 651 ms; s7 (5 rows)",
    ]


OFF = ["--no-others", "--no-changes", "--no-watdiv", "--no-growth"]


def test_the_last_line_is_that_of_the_join(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[tuple[str, str]] = []

    def measure(query: str, rate: int, seconds: int, *, placement: str) -> LatencyFigures:
        assert (rate, seconds) == (10_000, 7)
        measured.append((placement, query))
        return LatencyFigures([20.0 if query == "join" and placement == "local" else 90.0] * 5)

    monkeypatch.setattr(live_latency, "measure_live", measure)
    run = CliRunner().invoke(live_latency.main, ["--seconds", "7", *OFF, "--no-held"])
    assert run.output.splitlines()[-1] == "live: p50 20 p95 20 held 0 lag flat", run.output
    assert measured == [(placement, query) for placement in ("local", "spark") for query in QUERIES]


def test_the_highest_rate_is_found_by_doubling_and_two_halvings(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[int] = []

    def measure(query: str, rate: int, seconds: int, *, placement: str) -> LatencyFigures:
        rates.append(rate)
        return LatencyFigures([20.0] * 6 if rate < 130_000 else [20.0, 20, 500, 500, 900, 900])

    monkeypatch.setattr(live_latency, "measure_live", measure)
    run = CliRunner().invoke(live_latency.main, ["--query", "join", "--placement", "local", *OFF])
    assert rates == [10_000, 25_000, 50_000, 100_000, 200_000, 141_421, 118_921]
    assert run.output.splitlines()[-1] == "live: p50 20 p95 20 held 118921 lag flat", run.output
