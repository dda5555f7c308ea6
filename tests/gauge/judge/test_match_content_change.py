"""Eager engines have the whole of the judge: triples to blame, content, gracious mode, A12; and what grace costs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.windows.profile import CQELS, RSPQL
from hydrograph.windows.stream import Element
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput, due_at_trigger, expected_report
from hydrograph_gauge.judge.judge_query import Judgement, judge_query
from hydrograph_gauge.oracle.dataset import texts_of
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import Key, RowText

BASE = "http://example.org/"
STREAM = Iri(f"{BASE}s")
TEXT = """PREFIX : <http://example.org/>
SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE {width}ms] WHERE {{ WINDOW :w {{ ?a :at ?room . ?b :at ?room }} }}"""
ELEMENTS = tuple(
    Element.of(100 * n, n, Triple(Iri(f"{BASE}m{n}"), Iri(f"{BASE}at"), Iri(f"{BASE}r{n % 3}"))) for n in range(40)
)
HANDED = [Handed(STREAM, element, element.t, float(element.t)) for element in ELEMENTS]
KEY = Key(test="eager", engine="by hand", query="q")


def reports(width: int) -> list[Report]:
    return evaluate_reports(parse(TEXT.format(width=width)), {STREAM: ELEMENTS}, profile=CQELS)


def judged(width: int, *, gracious: bool = False) -> Judgement:
    """Judge an engine that keeps elements for so long instead of 500 ms."""
    trial = JudgeInput(
        key=KEY,
        due=[expected_report(report) for report in reports(500)],
        said=[EngineAnswer(report.t + 5.0, texts_of(report.rows)) for report in reports(width)],
        due_at=due_at_trigger(HANDED),
        handed=HANDED,
        slide=1000,
    )
    query = parse(TEXT.format(width=500))
    return judge_query(trial, lambda: Evidence(query, {STREAM: ELEMENTS}, profile=CQELS), gracious=gracious)


def test_a_right_engine_is_right_and_content_is_known() -> None:
    found = judged(500)
    assert (found.outcome.verdict, found.outcome.precision, found.outcome.recall) == ("ok", 1, 1)
    assert [window.content for window in found.windows] == [5, 5, 5, 5]
    assert {window.delay for window in found.windows} == {5.0}


def test_rows_of_elements_that_stayed_too_long_are_blamed_on_their_triples() -> None:
    found = judged(800)
    window = found.windows[1]
    assert (window.recall, window.precision) == (1, 0.6)
    for each in window.extra[:3]:
        assert sorted(text.split()[0] for text in each.triples) == sorted(str(text) for text in each.row)
    # An element makes two more rows if there is one that is 600 ms older.
    extra = found.outcome.extra
    assert extra == 2 * (40 - 6)
    output = found.outcome.output
    assert found.outcome.precision == (output - extra) / output
    assert found.outcome.precision != sum(window.precision for window in found.windows) / 4


def test_missing_rows_are_blamed_too() -> None:
    found = judged(200)
    window = found.windows[1]
    assert (window.precision, window.recall) == (1, 1 / 3)
    assert all(len(each.triples) == 2 for each in window.missing[:5])


def test_gracious_judging_finds_how_long_elements_stayed() -> None:
    late = judged(800, gracious=True)
    assert [(window.precision, window.recall) for window in late.windows] == [(1, 1)] * 4
    # The last row came of what was 600 ms old; the window should have begun 499 ms before.
    last = late.windows[-1]
    assert (last.used_open, last.used_close) == (3_300, 3_901)
    early = judged(200, gracious=True)
    assert [(window.precision, window.recall) for window in early.windows] == [(1, 1)] * 4
    assert early.windows[-1].used_open == 3_601
    assert late.outcome.verdict == early.outcome.verdict == "wrong"


def test_doubles_are_equal_within_their_tolerance() -> None:
    def number(text: str) -> Counter[RowText]:
        return Counter([(f'"{text}"^^<http://www.w3.org/2001/XMLSchema#double>',)])

    due = [ExpectedReport(5, None, None, number("0.3"))]
    near = JudgeInput(key=KEY, due=due, said=[EngineAnswer(6, number("0.30000000000000004"))], slide=10)
    assert judge_query(near).outcome.verdict == "ok"
    far = JudgeInput(key=KEY, due=due, said=[EngineAnswer(6, number("0.3000001"))], slide=10)
    assert judge_query(far).outcome.verdict == "wrong"


CLOSING = parse(f"PREFIX : <{BASE}> SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE 100ms] {{ WINDOW :w {{ ?a :at ?r }} }}")


def moved(budget: int) -> Judgement:
    """Judge windows that all hold one element too many."""
    due = [expected_report(report) for report in evaluate_reports(CLOSING, {STREAM: ELEMENTS})]
    said = [EngineAnswer(each.t, each.rows + after.rows, each.t) for each, after in pairwise(due)]
    make = lambda: Evidence(CLOSING, {STREAM: ELEMENTS}, profile=RSPQL)  # noqa: E731
    return judge_query(JudgeInput(key=KEY, due=due[:-1], said=said), make, gracious=True, budget=budget)


def test_gracious_judging_looks_at_every_wrong_window() -> None:
    """There are more of them than are explained with triples."""
    found = moved(20_000_000)
    assert len(found.windows) == 39
    assert all(window.precision == window.recall == 1 for window in found.windows)
    assert all(window.used_close is not None for window in found.windows)
    assert found.outcome.notes == ()


def test_gracious_judging_says_when_its_budget_ran_out() -> None:
    found = moved(3_000)
    strict = [window for window in found.windows if window.precision < 1]
    assert 0 < len(strict) < 39
    (note,) = found.outcome.notes
    assert note.startswith(f"gracious judging ran out of its budget: {len(strict)} of 39 wrong windows")
