"""`make bench-live`: all engines get one stream, and what is measured belongs to the reports it is said of."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hydrograph.language import parse
from hydrograph_gauge.features.structure import Kind
from hydrograph_gauge.live_load import __main__ as bench
from hydrograph_gauge.live_load.change_queries import CHANGING, measure_changes
from hydrograph_gauge.live_load.expected import Truth, windows
from hydrograph_gauge.live_load.load import QUERIES, STREAM, WARM, Measured, draws, measure, slices
from hydrograph_gauge.live_load.other_engines import measure_engine, parts
from hydrograph_gauge.live_load.shop import Asked, class_lines

RATE, SECONDS = 500, 2


def rows(query: str) -> int:
    """Return how many rows all windows have."""
    truth = Truth(RATE)
    return sum(truth.answers(s, p, o)[query].total() for _, s, p, o in windows(draws(RATE, 1000 * SECONDS)))


def test_other_engines_are_told_the_same_stream() -> None:
    for told, part in zip(parts(RATE, 200), slices(RATE, 200), strict=True):
        table = part.events
        names = ("t", "s", "p", "o")
        given = [*zip(*(table.column(name).to_pylist() for name in names), strict=True)]
        assert told.start == part.start
        assert all(each.stream == STREAM for each in told.elements)
        said = [(each.t, *line.removesuffix(" .").split(" ")) for each in told.elements for line in each.triples]
        assert said == given


@pytest.mark.parametrize("query", ["join", "hybrid"])
def test_a_live_query_and_another_engine_answer_alike(query: str) -> None:
    wanted = rows(query)
    assert wanted > 0
    for found in (
        measure(query, RATE, SECONDS, placement="local"),
        measure_engine("oxigraph", query, RATE, SECONDS),
    ):
        assert (found.reports, found.rows) == (SECONDS, wanted)
        assert found.latencies == []  # windows that close after the stream has ended wait for nothing


def test_answers_to_elements_are_measured_from_their_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WARM, "local", 0)
    found = measure_changes("hybrid", RATE, SECONDS, placement="local")
    assert found.rows > 10
    assert len(found.latencies) == found.reports
    assert min(found.latencies) > 0


def test_what_changes_is_asked_in_the_language_of_cqels() -> None:
    for text in CHANGING.values():
        assert [window.stream.value for window in parse(text, "cqels").windows] == [STREAM]


def test_classes_are_shown_with_the_published_figure() -> None:
    query = parse(QUERIES["join"])
    asked = [Asked(name, "star", kind, query) for name, kind in (("s1", Kind.PURE), ("s7", Kind.HYBRID))]
    lines = [*class_lines((each, Measured([10.0, 20.0, 30.0], rows=5)) for each in asked)]
    assert lines == [
        "star pure: p50 20 ms, p95 29 ms; C-SPARQL, published: 301 ms; s1 (5 rows)",
        "star hybrid: p50 20 ms, p95 29 ms; C-SPARQL, published: 651 ms; s7 (5 rows)",
    ]


def test_the_last_line_is_that_of_the_join(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str]] = []

    def measured(query: str, rate: int, seconds: int, *, placement: str) -> Measured:
        assert (rate, seconds) == (10_000, 7)
        seen.append((placement, query))
        return Measured([20.0 if query == "join" and placement == "local" else 90.0] * 5)

    monkeypatch.setattr(bench, "measure", measured)
    off = ["--no-others", "--no-changes", "--no-watdiv", "--no-growth", "--no-held"]
    run = CliRunner().invoke(bench.main, ["--seconds", "7", *off])
    assert run.output.splitlines()[-1] == "live: p50 20 p95 20 held 0 lag flat", run.output
    assert seen == [(placement, query) for placement in ("local", "spark") for query in QUERIES]
