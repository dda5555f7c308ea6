"""`make bench-load`: every report is judged by the oracle, and a wrong one is noticed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from hydrograph.compile.compiler import answer_columns
from hydrograph.language import parse
from hydrograph.windows.scope import Grid
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.measure.load import QUERIES, RANGE, STEP, draw_kinds, draw_numbers
from hydrograph_gauge.measure.sustained_load import (
    LoadVerdict,
    ReportClock,
    compute_expected,
    judge_memory,
    judge_reports,
    main,
)
from hydrograph_gauge.oracle.job import read_reports

RATE, LENGTH = 200, 9_000
SPARQL = {
    "filter": "SELECT ?a ?b { GRAPH :w { ?a :p ?b FILTER(?b = :n7 || ?b = :n8) } }",
    "join": "SELECT ?a ?b ?c ?d { GRAPH :w { ?a :p ?b . ?b :q ?c . ?c :r ?d } }",
    "hybrid": "SELECT ?a ?b ?kind { GRAPH :w { ?a :p ?b } ?b :kind ?kind }",
    "aggregate": "SELECT ?p (COUNT(*) AS ?n) { GRAPH :w { ?a ?p ?b } } GROUP BY ?p",
}
Reports = list[tuple[str, int, str]]
"""Query, close, and report as a line of JSON."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compute_expected(tmp_path_factory.mktemp("load"), RATE, LENGTH)


def node(letter: str, number: int) -> ox.NamedNode:
    return ox.NamedNode(f"urn:bench:{letter}{number}")


def answer(query: str, close: int) -> Counter[tuple[str, ...]]:
    """Return pyoxigraph's answer over a window that was filled by hand."""
    store = ox.Store()
    for known, kind in draw_kinds(RATE).items():
        store.add(ox.Quad(node("n", known), ox.NamedNode("urn:bench:kind"), node("k", kind)))
    for drawn in draw_numbers(RATE, LENGTH):
        for t, s, p, o in zip(drawn.t.tolist(), drawn.s, drawn.p, drawn.o, strict=True):
            if close - RANGE <= t < close:
                name = ox.NamedNode(f"urn:bench:{'pqr'[p]}")
                store.add(ox.Quad(node("n", s), name, node("n", o), ox.NamedNode("urn:bench:w")))
    solutions = store.query(f"PREFIX : <urn:bench:> {SPARQL[query]}")
    assert isinstance(solutions, ox.QuerySolutions)
    return Counter(tuple(str(term) for term in row) for row in solutions)


@pytest.mark.parametrize("query", QUERIES)
def test_expected_reports_are_those_of_windows_filled_by_hand(query: str, expected: Path) -> None:
    found = {report.t: report.rows for report, _ in read_reports(expected, query)}
    rows = 0
    for close in (RANGE, 8_000, LENGTH + 3_000):
        assert found[close] == answer(query, close)
        rows += found[close].total()
    assert rows > 0


def test_windows_are_those_of_the_semantics(expected: Path) -> None:
    grid = Grid(RANGE, STEP)
    held: dict[int, set[tuple[int, ...]]] = {}
    for drawn in draw_numbers(RATE, LENGTH):
        for t, *triple in zip(drawn.t.tolist(), drawn.s.tolist(), drawn.p.tolist(), drawn.o.tolist(), strict=True):
            for k in grid.ranks(t):
                held.setdefault(grid.close(k), set()).add(tuple(triple))
    content = {report.t: report.content for report, _ in read_reports(expected, "join")}
    assert content == {close: len(triples) for close, triples in held.items()}


def right(expected: Path) -> Iterator[tuple[str, int, str]]:
    """Yield the reports as they have to be."""
    for query, text in QUERIES.items():
        names = [variable.name for variable in answer_columns(parse(text))]
        for report, _ in read_reports(expected, query):
            rows = [
                {name: term(text) for name, text in zip(names, row, strict=True) if text is not None}
                for row in report.rows.elements()
            ]
            yield query, report.t, json.dumps({"rows": rows})


def term(text: str) -> dict[str, str]:
    value, _, datatype = text.partition("^^")
    if datatype:
        return {"type": "literal", "value": value.strip('"'), "datatype": datatype[1:-1]}
    return {"type": "uri", "value": value[1:-1]}


def judge(reports: Reports, expected: Path, until: int | None = None) -> dict[str, LoadVerdict]:
    return judge_reports(lambda name: [(t, line) for query, t, line in reports if query == name], expected, until)


def without_a_row(reports: Reports) -> Reports:
    place = next(n for n, (query, close, _) in enumerate(reports) if (query, close) == ("join", 7_000))
    query, close, line = reports[place]
    reports[place] = query, close, json.dumps({"rows": json.loads(line)["rows"][1:]})
    return reports


def with_another_count(reports: Reports) -> Reports:
    place = next(n for n, (query, close, _) in enumerate(reports) if (query, close) == ("aggregate", 7_000))
    query, close, line = reports[place]
    reports[place] = query, close, line.replace('"value": "3', '"value": "4')
    assert reports[place][2] != line
    return reports


def with_the_rows_of_the_next_window(reports: Reports) -> Reports:
    lines = {close: line for query, close, line in reports if query == "hybrid"}
    return [(q, t, lines[8_000] if (q, t) == ("hybrid", 7_000) else line) for q, t, line in reports]


def twice(reports: Reports) -> Reports:
    return [each for each in reports for _ in range(1 + (each[:2] == ("filter", 6_000)))]


def not_at_all(reports: Reports) -> Reports:
    return [each for each in reports if each[:2] != ("filter", 6_000)]


def for_no_window(reports: Reports) -> Reports:
    return [*reports, ("filter", 6_500, '{"rows":[]}')]


def test_right_reports_are_judged_right(expected: Path) -> None:
    verdicts = judge([*right(expected)], expected)
    for verdict in verdicts.values():
        assert (verdict.precision, verdict.recall, verdict.wrong, verdict.reports) == (1, 1, [], LENGTH // STEP)
    assert min(verdict.wanted for verdict in verdicts.values()) > 0


@pytest.mark.parametrize(
    ("plant", "query", "close"),
    [
        (without_a_row, "join", 7_000),
        (with_another_count, "aggregate", 7_000),
        (with_the_rows_of_the_next_window, "hybrid", 7_000),
        (twice, "filter", 6_000),
        (not_at_all, "filter", 6_000),
        (for_no_window, "filter", 6_500),
    ],
)
def test_a_planted_wrong_report_is_noticed(
    plant: Callable[[Reports], Reports], query: str, close: int, expected: Path
) -> None:
    verdicts = judge(plant([*right(expected)]), expected)
    sentences = [sentence for verdict in verdicts.values() for sentence in verdict.wrong]
    assert sentences
    assert all(sentence.startswith(f"{query} at {close}:") for sentence in sentences)
    if plant is without_a_row:
        assert verdicts["join"].recall < 1 == verdicts["join"].precision
    if plant is with_the_rows_of_the_next_window:
        assert max(verdicts["hybrid"].recall, verdicts["hybrid"].precision) < 1


def test_the_reports_of_a_stopped_run_are_judged(tmp_path: Path, expected: Path) -> None:
    reports = [each for each in right(expected) if each[1] <= 7_000]
    some = compute_expected(tmp_path, RATE, LENGTH, until=7_000)
    verdicts = judge(reports, some, until=7_000)
    assert all((verdict.reports, verdict.wrong) == (3, []) for verdict in verdicts.values())
    assert judge(reports[1:], some, until=7_000)["filter"].wrong


def memory(of: Callable[[float], float], seconds: int = 1800) -> list[Sample]:
    return [Sample(float(at), of(at), 0.0, 1) for at in range(0, seconds, 5)]


def test_memory_is_judged_after_five_minutes() -> None:
    assert judge_memory(memory(lambda at: min(at, 300)))[0] == "flat"
    assert judge_memory(memory(lambda at: 500 + 50 * (at % 60 > 30)))[0] == "flat"
    assert judge_memory(memory(lambda at: 500 + at / 20))[0] == "growing"
    assert judge_memory(memory(lambda _: 500, 330))[0] == "unknown"


def test_lag_is_flat_growing_or_has_grown() -> None:
    def lag(of: Callable[[int], float], behind: float = 0) -> str:
        return ReportClock(latencies={"join": [of(number) for number in range(60)]}).lag(behind)

    assert lag(lambda _: 100) == "flat"
    assert lag(lambda number: 100 + 10 * number) == "growing"
    assert lag(lambda _: 20_000) == "growing"
    assert lag(lambda _: 100, behind=2_000) == "growing"
    assert ReportClock().lag(0) == "growing"


def test_a_short_run_prints_everything() -> None:
    run = CliRunner().invoke(main, ["--seconds", "6", "--rate", "2000", "--placement", "local"])
    last = run.output.splitlines()[-1]
    assert last.startswith("load: 4 queries, 24 reports, precision 1, recall 1, lag "), run.output
    assert run.output.endswith("memory unknown\n")


def test_the_oldest_missing_report_is_waited_for() -> None:
    clock = ReportClock()
    now = clock.clock.now()
    clock.handed = {RANGE: now - 30_000, RANGE + STEP: now - 29_000}
    assert 30 <= clock.overdue() < 31
    clock.last = dict.fromkeys(QUERIES, RANGE)
    assert 29 <= clock.overdue() < 30
    clock.last = {**clock.last, "join": RANGE - STEP}  # the slowest counts
    assert clock.overdue() >= 30
    clock.last = dict.fromkeys(QUERIES, RANGE + STEP)
    assert clock.overdue() == 0
