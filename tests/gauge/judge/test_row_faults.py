"""Faults that show in rows alone, each planted in otherwise right answers; and what has no recognised cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from hydrograph.windows.profile import CQELS
from hydrograph.windows.stream import Element
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.faults import FaultKind
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput, due_at_trigger, expected_report
from hydrograph_gauge.judge.judge_query import Judgement, judge_query
from hydrograph_gauge.oracle.dataset import texts_of
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import Key, RowText

KEY = Key(test="by hand", engine="none", query="q")


def typed(text: str, datatype: str) -> str:
    return f'"{text}"^^<{datatype}>'


def judged(expected: Sequence[Sequence[RowText]], actual: Sequence[Sequence[RowText]]) -> Judgement:
    due = [ExpectedReport(1000 * n, 1000 * n - 1000, 1000 * n, Counter(rows)) for n, rows in enumerate(expected, 1)]
    said = [EngineAnswer(n, Counter(rows), 1000 * n) for n, rows in enumerate(actual, 1)]
    return judge_query(JudgeInput(key=KEY, due=due, said=said))


@pytest.mark.parametrize(
    ("expected", "actual", "how"),
    [
        (typed("43", XSD_DOUBLE), typed("43", XSD_INTEGER), "xsd:integer for xsd:double"),
        (typed("0.1", XSD_DOUBLE), typed("0.10000000149011612", XSD_FLOAT), "xsd:float for xsd:double"),
        (typed("2.50", XSD_DECIMAL), '"2.5"', "xsd:string for xsd:decimal"),
        ('"chat"@fr', '"chat"', "xsd:string for language fr"),
    ],
)
def test_a_changed_datatype(expected: str, actual: str, how: str) -> None:
    found = judged([[("<urn:a>", expected)], [("<urn:b>", expected)]], [[("<urn:a>", actual)], [("<urn:b>", actual)]])
    assert found.outcome.faults == (f"changes datatypes: {how}",)
    assert found.outcome.verdict == "wrong"


def test_another_value_of_another_datatype_is_no_matter_of_datatypes() -> None:
    (fault,) = judged([[(typed("43", XSD_DOUBLE),)]], [[(typed("47", XSD_INTEGER),)]]).faults
    assert fault.kind is FaultKind.UNKNOWN


def test_blank_nodes_that_are_one_node_and_another() -> None:
    """Both rows are about one node; the engine makes two of it."""
    rows = [("_:a", "<urn:x>"), ("_:a", "<urn:y>")]
    renamed = [("_:z", "<urn:x>"), ("_:z", "<urn:y>")]
    assert judged([rows], [renamed]).outcome.verdict == "ok"
    apart = [("_:z", "<urn:x>"), ("_:w", "<urn:y>")]
    (fault,) = judged([rows], [apart]).faults
    assert fault.kind is FaultKind.BLANK_NODES


PAIRS = [("<urn:a>", "<urn:b>"), ("<urn:b>", "<urn:a>")]
SELF = [("<urn:a>", "<urn:a>"), ("<urn:b>", "<urn:b>")]


def test_pairs_of_a_row_with_itself() -> None:
    found = judged([PAIRS, PAIRS], [[*PAIRS, *SELF], [*PAIRS, *SELF]])
    how = "rows with equal columns 1 and 2"
    assert found.outcome.faults == (f"mistakes pairs of a row with itself: {how} come too",)
    found = judged([[*PAIRS, *SELF]], [PAIRS])
    assert found.outcome.faults == (f"mistakes pairs of a row with itself: {how} are left out",)
    (fault,) = judged([[*PAIRS, *SELF]], [[*PAIRS, SELF[0]]]).faults
    assert fault.kind is FaultKind.LOSES_ROWS


def test_answers_of_an_earlier_window() -> None:
    rows: list[list[RowText]] = [[(f'"{text}"',)] for text in "abcdef"]
    stale = [rows[0], rows[1], rows[1], rows[3], rows[2], rows[5]]
    found = judged(rows, stale)
    assert found.outcome.faults == ("repeats earlier answers: 2 answers are those of up to 2 reports before",)


BASE = "http://example.org/"
STREAM = Iri(f"{BASE}s")
ELEMENTS = tuple(
    Element.of(100 * n, n, Triple(Iri(f"{BASE}m{n}"), Iri(f"{BASE}at"), Iri(f"{BASE}r{n % 3}"))) for n in range(40)
)
HANDED = [Handed(STREAM, element, element.t, float(element.t)) for element in ELEMENTS]
CLOSING = parse(
    f"PREFIX : <{BASE}> SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 500ms STEP 500ms] "
    "{ WINDOW :w { ?a :at ?room . ?b :at ?room } }"
)
EAGER = parse(
    f"PREFIX : <{BASE}> SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE 500ms] "
    "{ WINDOW :w { ?a :at ?room . ?b :at ?room } }"
)


def test_the_smallest_window_that_differs_is_shown_where_no_cause_is_known() -> None:
    """Of two wrong windows the one with fewer triples, with all of them."""
    gap = tuple(each for each in ELEMENTS if not 1000 < each.t < 1300)
    due = [expected_report(report) for report in evaluate_reports(CLOSING, {STREAM: gap})]
    odd: Counter[RowText] = Counter([("<urn:odd>", "<urn:odd>")])
    said = [
        EngineAnswer(n, Counter(list(each.rows)[1:]) + odd if n in (2, 4) else each.rows, each.t)
        for n, each in enumerate(due)
    ]
    found = judge_query(JudgeInput(key=KEY, due=due, said=said), lambda: Evidence(CLOSING, {STREAM: gap}))
    assert [fault.kind for fault in found.faults] == [FaultKind.UNKNOWN]
    assert found.outcome.faults[0].startswith("wrong, cause not identified: 2 windows")
    smallest = found.outcome.smallest
    assert smallest is not None
    assert (smallest.t, smallest.open, smallest.close, smallest.content) == (1500, 1000, 1500, 3)
    assert [triple.split()[0] for triple in smallest.triples] == [f"<{BASE}m{n}>" for n in (10, 13, 14)]
    assert smallest.extra == (("<urn:odd>", "<urn:odd>"),)
    assert len(smallest.missing) == 1


def eager_answers(width: int) -> list[EngineAnswer]:
    text = f"PREFIX : <{BASE}> SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE {width}ms] "
    query = parse(text + "{ WINDOW :w { ?a :at ?room . ?b :at ?room } }")
    reports = evaluate_reports(query, {STREAM: ELEMENTS}, profile=CQELS)
    return [EngineAnswer(report.t + 5.0, texts_of(report.rows)) for report in reports]


def judged_eagerly(said: list[EngineAnswer]) -> Judgement:
    due = [expected_report(report) for report in evaluate_reports(EAGER, {STREAM: ELEMENTS}, profile=CQELS)]
    trial = JudgeInput(key=KEY, due=due, said=said, due_at=due_at_trigger(HANDED), handed=HANDED, slide=1000)
    return judge_query(trial, lambda: Evidence(EAGER, {STREAM: ELEMENTS}, profile=CQELS))


def test_rows_of_expired_elements_that_are_still_joined() -> None:
    """Some pairs with elements of any age come, as from an engine that evicts only now and then."""
    everything, right = eager_answers(60_000), eager_answers(500)
    said = [whole if n % 3 else own for n, (whole, own) in enumerate(zip(everything, right, strict=True))]
    found = judged_eagerly(said)
    assert [fault.kind for fault in found.faults] == [FaultKind.NO_EVICTION]
    assert found.outcome.faults[0].endswith("rows are still made with elements that have expired")


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (800, "evicts late: elements stay at least 101 ms too long"),
        (200, "opens windows late: elements stay at least 201 ms too short"),
    ],
)
def test_how_long_elements_of_an_eager_engine_stay(width: int, words: str) -> None:
    assert judged_eagerly(eager_answers(width)).outcome.faults == (words,)


def test_rows_of_an_eager_engine_that_come_out_of_order() -> None:
    said = eager_answers(500)
    found = judged_eagerly([*said[:4], said[5], said[4], *said[6:]])
    assert (found.outcome.verdict, found.outcome.faults) == ("ok", (f"answers out of order: 1 of {len(said)}",))


def test_rows_that_nothing_makes_and_rows_that_are_lost() -> None:
    said = eager_answers(500)
    odd = [EngineAnswer(1010.0, Counter([("<urn:odd>", "<urn:odd>")]))]
    assert [fault.kind for fault in judged_eagerly([*said[:9], *odd, *said[9:]]).faults] == [FaultKind.INVENTS_ROWS]
    lost = judged_eagerly([*said[:9], *said[10:]])
    assert [fault.kind for fault in lost.faults] == [FaultKind.LOSES_ROWS]
    assert lost.outcome.smallest is not None
    assert lost.outcome.smallest.missing
    assert lost.outcome.smallest.triples
