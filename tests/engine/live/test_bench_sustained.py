"""The load that is sustained: every report is judged without the engine, and one that is wrong is noticed."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
import pyoxigraph as ox
import pytest
from click.testing import CliRunner

from hydrograph.windows.scope import Grid
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.live_load.expected import Rows, Truth, judge, windows
from hydrograph_gauge.live_load.load import QUERIES, RANGE, STEP, Drawn, draws, kinds, slices
from hydrograph_gauge.live_load.sustained import Heard, main, memory_lag

RATE, LENGTH = 200, 9_000
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
SPARQL = {
    "filter": "SELECT ?a ?b { GRAPH :w { ?a :p ?b FILTER(?b = :n7 || ?b = :n8) } }",
    "join": "SELECT ?a ?b ?c ?d { GRAPH :w { ?a :p ?b . ?b :q ?c . ?c :r ?d } }",
    "hybrid": "SELECT ?a ?b ?kind { GRAPH :w { ?a :p ?b } ?b :kind ?kind }",
    "aggregate": "SELECT ?p (COUNT(*) AS ?n) { GRAPH :w { ?a ?p ?b } } GROUP BY ?p",
}


def node(letter: str, number: int) -> ox.NamedNode:
    return ox.NamedNode(f"urn:bench:{letter}{number}")


def asked(query: str, close: int) -> Rows:
    """Return what pyoxigraph says of a window."""
    store = ox.Store()
    for known, kind in kinds(RATE).items():
        store.add(ox.Quad(node("n", known), ox.NamedNode("urn:bench:kind"), node("k", kind)))
    for drawn in draws(RATE, LENGTH):
        for t, s, p, o in zip(drawn.t.tolist(), drawn.s, drawn.p, drawn.o, strict=True):
            if close - RANGE <= t < close:
                name = ox.NamedNode(f"urn:bench:{'pqr'[p]}")
                store.add(ox.Quad(node("n", s), name, node("n", o), ox.NamedNode("urn:bench:w")))
    found = store.query(f"PREFIX : <urn:bench:> {SPARQL[query]}")
    assert isinstance(found, ox.QuerySolutions)
    return Counter(
        tuple(t.value if isinstance(t, ox.NamedNode) else f"{t.value}^^{t.datatype.value}" for t in row)
        for row in found
    )


@pytest.mark.parametrize("query", QUERIES)
def test_expected_answers_are_those_of_another_engine(query: str) -> None:
    truth = Truth(RATE)
    found = {close: truth.answers(s, p, o)[query] for close, s, p, o in windows(draws(RATE, LENGTH))}
    rows = 0
    for close in (RANGE, 8_000, LENGTH + 3_000):
        assert found[close] == asked(query, close)
        rows += found[close].total()
    assert rows > 0


def test_windows_are_those_of_the_semantics() -> None:
    grid = Grid(RANGE, STEP)
    held: Counter[int] = Counter()
    for drawn in draws(RATE, LENGTH):
        for t in drawn.t.tolist():
            held.update(grid.close(k) for k in grid.ranks(t))
    assert {close: len(s) for close, s, _, _ in windows(draws(RATE, LENGTH))} == held


def test_a_triple_that_came_twice_stands_once() -> None:
    one = np.array([3, 3, 4])
    rows = Truth(RATE).answers(one, np.array([0, 0, 0]), np.array([7, 7, 7]))
    assert rows["filter"] == {("urn:bench:n3", "urn:bench:n7"): 1, ("urn:bench:n4", "urn:bench:n7"): 1}
    assert rows["aggregate"] == {("urn:bench:p", f"2^^{INTEGER}"): 1}


def test_the_stream_is_the_same_as_numbers_and_as_rows() -> None:
    for drawn, part in zip(draws(RATE, 100), slices(RATE, 100), strict=True):
        assert part.events.column("t").to_pylist() == drawn.t.tolist()
        assert part.events.column("s").to_pylist() == [f"<urn:bench:n{number}>" for number in drawn.s]
        assert part.events.column("o").to_pylist() == [f"<urn:bench:n{number}>" for number in drawn.o]
        assert part.events.column("p").to_pylist() == [f"<urn:bench:{'pqr'[number]}>" for number in drawn.p]


Said = tuple[str, int, str]


def right() -> Iterator[Said]:
    """Return the reports as they have to be, those of a query together for two windows."""
    truth = Truth(RATE)
    names = {"filter": "ab", "join": "abcd", "hybrid": ["a", "b", "kind"], "aggregate": "pn"}
    said = [(close, truth.answers(s, p, o)) for close, s, p, o in windows(draws(RATE, LENGTH))]
    for first in range(0, len(said), 2):
        for query in QUERIES:
            for close, answers in said[first : first + 2]:
                rows = [
                    {name: term(text) for name, text in zip(names[query], row, strict=True)}
                    for row in answers[query].elements()
                ]
                yield query, close, json.dumps({"rows": rows})


def term(text: str) -> dict[str, str]:
    value, _, datatype = text.partition("^^")
    return {"type": "literal", "value": value, "datatype": datatype} if datatype else {"type": "uri", "value": value}


def without_a_row(said: list[Said]) -> list[Said]:
    place = next(n for n, (query, close, _) in enumerate(said) if (query, close) == ("join", 7_000))
    query, close, text = said[place]
    said[place] = query, close, json.dumps({"rows": json.loads(text)["rows"][1:]})
    return said


def with_another_count(said: list[Said]) -> list[Said]:
    place = next(n for n, (query, close, _) in enumerate(said) if (query, close) == ("aggregate", 7_000))
    query, close, text = said[place]
    said[place] = query, close, text.replace('"value": "3', '"value": "4')
    assert said[place][2] != text
    return said


def of_the_next_window(said: list[Said]) -> list[Said]:
    """Say of one window what is right of the next one."""
    texts = {close: text for query, close, text in said if query == "hybrid"}
    return [(q, t, texts[8_000] if (q, t) == ("hybrid", 7_000) else text) for q, t, text in said]


def twice(said: list[Said]) -> list[Said]:
    return [each for each in said for _ in range(1 + (each[:2] == ("filter", 6_000)))]


def not_at_all(said: list[Said]) -> list[Said]:
    return [each for each in said if each[:2] != ("filter", 6_000)]


def of_no_window(said: list[Said]) -> list[Said]:
    return [*said, ("filter", 6_500, '{"rows":[]}')]


def test_what_is_right_is_found_right() -> None:
    verdicts = judge(right(), draws(RATE, LENGTH), RATE, QUERIES)
    for verdict in verdicts.values():
        assert (verdict.precision, verdict.recall, verdict.wrong, verdict.reports) == (1, 1, [], 9)
    assert min(verdict.wanted for verdict in verdicts.values()) > 0


@pytest.mark.parametrize(
    ("plant", "query", "close"),
    [
        (without_a_row, "join", 7_000),
        (with_another_count, "aggregate", 7_000),
        (of_the_next_window, "hybrid", 7_000),
        (twice, "filter", 6_000),
        (not_at_all, "filter", 6_000),
        (of_no_window, "filter", 6_500),
    ],
)
def test_a_planted_wrong_report_is_noticed(plant: Callable[[list[Said]], list[Said]], query: str, close: int) -> None:
    verdicts = judge(plant([*right()]), draws(RATE, LENGTH), RATE, QUERIES)
    sentences = [sentence for verdict in verdicts.values() for sentence in verdict.wrong]
    assert sentences
    assert all(sentence.startswith(f"{query} at {close}:") for sentence in sentences)
    if plant is without_a_row:
        assert verdicts["join"].recall < 1 == verdicts["join"].precision
    if plant is of_the_next_window:
        assert max(verdicts["hybrid"].recall, verdicts["hybrid"].precision) < 1


def test_windows_that_hold_nothing_are_not_expected() -> None:
    assert [close for close, *_ in windows(iter([]))] == []
    lone = Drawn(0, *(np.array([0]) for _ in range(4)))
    assert [close for close, *_ in windows([lone])] == [RANGE]


def memory(of: Callable[[float], float], seconds: int = 1800) -> list[Sample]:
    return [Sample(float(at), of(at), 0.0, 1) for at in range(0, seconds, 5)]


def test_memory_is_judged_after_five_minutes() -> None:
    assert memory_lag(memory(lambda at: min(at, 300)))[0] == "flat"
    assert memory_lag(memory(lambda at: 500 + 50 * (at % 60 > 30)))[0] == "flat"
    assert memory_lag(memory(lambda at: 500 + at / 20))[0] == "growing"
    assert memory_lag(memory(lambda _: 500, 330))[0] == "unknown"


def test_lag_is_flat_growing_or_has_grown() -> None:
    def lag(of: Callable[[int], float], behind: float = 0) -> str:
        return Heard(latencies={"join": [of(number) for number in range(60)]}).lag(behind)

    assert lag(lambda _: 100) == "flat"
    assert lag(lambda number: 100 + 10 * number) == "growing"
    assert lag(lambda _: 20_000) == "growing"
    assert lag(lambda _: 100, behind=2_000) == "growing"
    assert Heard().lag(0) == "growing"


def test_a_short_run_beside_the_driver_says_everything() -> None:
    run = CliRunner().invoke(main, ["--seconds", "6", "--rate", "2000", "--placement", "local"])
    assert run.output.splitlines()[-1].startswith("load: 4 queries, 24 reports, precision 1, recall 1, lag "), (
        run.output
    )
    assert run.output.endswith("memory unknown\n")


def test_of_a_run_that_was_given_up_what_it_reported_is_judged() -> None:
    said = [each for each in right() if each[1] < 8_000]
    verdicts = judge(iter(said), draws(RATE, LENGTH), RATE, QUERIES, until=8_000 - RANGE)
    assert all((verdict.reports, verdict.wrong) == (3, []) for verdict in verdicts.values())
    assert judge(iter(said[1:]), draws(RATE, LENGTH), RATE, QUERIES, until=8_000 - RANGE)["filter"].wrong


def test_the_oldest_report_that_has_not_come_is_waited_for() -> None:
    heard = Heard(given={RANGE: time.perf_counter() - 30, RANGE + STEP: time.perf_counter() - 29})
    assert 30 <= heard.waiting() < 31
    heard.last = dict.fromkeys(QUERIES, RANGE)
    assert 29 <= heard.waiting() < 30
    heard.last = {**heard.last, "join": RANGE - STEP}  # the slowest counts
    assert heard.waiting() >= 30
    heard.last = dict.fromkeys(QUERIES, RANGE + STEP)
    assert heard.waiting() == 0
