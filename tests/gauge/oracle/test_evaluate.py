"""The oracle on examples worked out by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_FLOAT, XSD_INTEGER
from hydrograph.rdf.xsd import Kind, double_of
from hydrograph.windows.profile import CQELS, CSPARQL, PRESETS, RSPQL
from hydrograph.windows.stream import Element
from hydrograph_gauge.functional.w3c import in_window
from hydrograph_gauge.oracle import rdflib_arbiter as arbiter
from hydrograph_gauge.oracle import window_store
from hydrograph_gauge.oracle.dataset import Dataset, Row, StaticData
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from tests.support.oracle_experiments import DETECTED_AT, FOUR_MOVERS, ROOM_CHANGES, STREAM, detected, thing

MEET = "WINDOW :w { :m1 :detectedAt ?room . :m2 :detectedAt ?room }"
PAIRS = "WINDOW :w { ?p1 :detectedAt ?room . ?p2 :detectedAt ?room }"
DIFFERENT = PAIRS + " FILTER(?p1 != ?p2)"


def rspql(select: str, where: str, window: str = "RANGE PT0.01S STEP PT0.01S") -> ContinuousQuery:
    """Return a query over one window; the paper's seconds are milliseconds here."""
    return parse(
        f"PREFIX : <http://ex.org/> {select} FROM NAMED WINDOW :w ON <{STREAM.value}> [{window}] WHERE {{ {where} }}",
        "rspql",
    )


def of_width(width: int) -> str:
    return f"RANGE PT0.{width:03}S STEP PT0.{width:03}S"


def run(query: ContinuousQuery, elements: tuple[Element, ...] = ROOM_CHANGES, **options: object) -> list[Report]:
    return evaluate_reports(query, {STREAM: elements}, **options)  # type: ignore[arg-type]


def found(reports: list[Report]) -> list[str]:
    """Return each report as `answers@time`, a dash for an empty one, as the paper writes them."""
    return [f"{_names(report.rows) or '-'}@{report.t}" for report in reports]


def _names(rows: Counter[Row]) -> str:
    texts = ["".join(_text(term) for term in row) for row in rows.elements()]
    return " ".join(sorted(texts))


def _text(term: object) -> str:
    match term:
        case Iri(value):
            return value.removeprefix("http://ex.org/")
        case Literal(lexical):
            return lexical
        case _:
            return "?"


EXPERIMENT_1 = [
    (0, "r1@10", "r2@20"),
    (1, "r1@11", "r2@21"),
    (2, "-@12", "r2@22"),
    (3, "-@13", "-@23"),
    (4, "-@14", "-@24"),
    (5, "-@15", "-@25"),
    (6, "r2@16", "-@26"),
]


@pytest.mark.parametrize(("t0", "first", "second"), EXPERIMENT_1)
def test_experiment_1_in_rspql(t0: int, first: str, second: str) -> None:
    reports = run(rspql("SELECT ?room", MEET), t0=t0, until=t0 + 20)
    assert found(reports) == [first, second]
    assert [(report.open, report.close) for report in reports] == [(t0, t0 + 10), (t0 + 10, t0 + 20)]


@pytest.mark.parametrize(("t0", "first", "second"), EXPERIMENT_1)
def test_experiment_1_in_sparqlstream(t0: int, first: str, second: str) -> None:
    query = rspql("SELECT ?room", MEET)
    assert found(run(query, profile=PRESETS["sparqlstream"], t0=t0, until=t0 + 20)) == [first, second]


@pytest.mark.parametrize(("t0", "first", "second"), EXPERIMENT_1)
def test_experiment_1_in_csparql_is_silent_about_empty_windows(t0: int, first: str, second: str) -> None:
    reports = run(rspql("SELECT ?room", MEET), profile=CSPARQL, t0=t0, until=t0 + 20)
    assert found(reports) == ([first] if t0 == 6 else [first, second])


@pytest.mark.parametrize(
    ("t0", "answers"),
    [(0, ["r1@3", "r2@15"]), (1, ["r1@3", "r2@15"]), *((t0, ["r2@15"]) for t0 in range(2, 7))],
)
def test_experiment_1_in_cqels(t0: int, answers: list[str]) -> None:
    assert found(run(rspql("SELECT ?room", MEET), profile=CQELS, t0=t0)) == answers


@pytest.mark.parametrize(("t0", "answers"), [(0, ["r1@3", "r2@15"]), (2, ["r2@15"]), (4, []), (6, ["r2@15"])])
def test_experiment_1_with_strict_content_change(t0: int, answers: list[str]) -> None:
    strict = replace(CQELS, keep_slide=True)
    assert found(run(rspql("SELECT ?room", MEET), profile=strict, t0=t0)) == answers


def test_experiment_2_nobody_meets() -> None:
    query = rspql("SELECT ?room", DIFFERENT, of_width(3))
    closes = ["-@3", "-@6", "-@9", "-@12", "-@15", "-@18"]
    assert found(run(query, FOUR_MOVERS)) == closes
    assert found(run(query, FOUR_MOVERS, profile=CSPARQL, t0=0)) == ["-@3", "-@6", "-@12", "-@18"]
    assert found(run(query, FOUR_MOVERS, profile=CQELS, t0=0)) == []


def test_experiment_2_everybody_meets_himself() -> None:
    query = rspql("SELECT ?p1 ?p2 ?room", PAIRS, of_width(3))
    closes = ["m1m1r1@3", "m2m2r2@6", "-@9", "m3m3r1@12", "-@15", "m4m4r2@18"]
    assert found(run(query, FOUR_MOVERS)) == closes
    assert found(run(query, FOUR_MOVERS, profile=CQELS, t0=0)) == ["m1m1r1@0", "m2m2r2@5", "m3m3r1@10", "m4m4r2@15"]


def test_cqels_cloud_reports_expiry() -> None:
    # A3: the count falls when a triple leaves
    query = rspql("SELECT (COUNT(*) AS ?n)", "WINDOW :w { ?m :detectedAt ?room }", of_width(3))
    elements = (Element.of(0, 0, detected("m1", "r1")), Element.of(1, 1, detected("m2", "r1")))
    assert found(run(query, elements, profile=CQELS)) == ["1@0", "2@1"]
    assert found(run(query, elements, profile=PRESETS["cqels-cloud"])) == ["1@0", "2@1", "1@3", "0@4"]


SLIDING = "RANGE PT0.01S STEP PT0.005S"
WHO = "WINDOW :w { ?who :detectedAt ?room }"


def test_stream_operators() -> None:
    # 1 3 12 15 in [0,10) [5,15) [10,20) [15,25): m1 m2, m1, m1 m2, m2
    assert found(run(rspql("SELECT RSTREAM ?who", WHO, SLIDING))) == ["m1 m2@10", "m1@15", "m1 m2@20", "m2@25"]
    assert found(run(rspql("SELECT ISTREAM ?who", WHO, SLIDING))) == ["m1 m2@10", "-@15", "m2@20", "-@25"]
    assert found(run(rspql("SELECT DSTREAM ?who", WHO, SLIDING))) == ["-@10", "m2@15", "-@20", "m1@25"]


def test_the_difference_is_to_the_previous_reported_instant() -> None:
    # S29: with the non-empty condition, [3,6) is not reported, so nothing is new in [6,9)
    elements = (Element.of(1, 0, detected("m1", "r1")), Element.of(7, 1, detected("m1", "r1")))
    query = rspql("SELECT ISTREAM ?who", WHO, of_width(3))
    assert found(run(query, elements)) == ["m1@3", "-@6", "m1@9"]
    assert found(run(query, elements, profile=CSPARQL, t0=0)) == ["m1@3", "-@9"]


def test_empty_answers_may_be_left_out() -> None:
    # S14
    quiet = replace(RSPQL, emit_empty=False)
    assert found(run(rspql("SELECT ?room", MEET), profile=quiet, t0=2)) == ["r2@22"]


def test_duplicates_stay() -> None:
    assert found(run(rspql("SELECT ?room", WHO))) == ["r1 r1@10", "r2 r2@20"]


def test_a_repeated_triple_counts_once() -> None:
    # S3
    elements = (Element.of(1, 0, detected("m1", "r1")), Element.of(2, 1, detected("m1", "r1")))
    assert found(run(rspql("SELECT (COUNT(*) AS ?n)", WHO), elements)) == ["1@10"]


def test_global_aggregates_answer_for_empty_windows() -> None:
    # S25
    select = "SELECT (COUNT(*) AS ?n) (SUM(?room) AS ?s) (AVG(?room) AS ?a) (MIN(?room) AS ?m)"
    elements = (Element.of(1, 0), Element.of(21, 1))
    assert found(run(rspql(select, WHO), elements)) == ["000?@10", "000?@20", "000?@30"]


def test_grouped_aggregates_do_not() -> None:
    elements = (Element.of(1, 0), Element.of(11, 1, detected("m1", "r1")))
    query = rspql("SELECT ?room (COUNT(*) AS ?n)", WHO + " } GROUP BY ?room #")
    assert found(run(query, elements)) == ["-@10", "r11@20"]


def test_static_data_is_the_default_graph() -> None:
    static = StaticData(frozenset({Triple(thing("r2"), thing("on"), thing("floor"))}))
    query = rspql("SELECT ?who", WHO + " ?room :on :floor")
    assert found(run(query, static=static)) == ["-@10", "m1 m2@20"]


def test_windows_and_graphs_are_told_apart() -> None:
    # A9: WINDOW ?w ranges over the windows, empty ones included, GRAPH ?g over the static graphs
    static = StaticData(named={thing("g"): frozenset({detected("m9", "r9")})})
    assert found(run(rspql("SELECT ?w", "WINDOW ?w { }"), static=static)) == ["w@10", "w@20"]
    assert found(run(rspql("SELECT ?g ?m", "GRAPH ?g { ?m :detectedAt ?room }"), static=static)) == ["gm9@10", "gm9@20"]


def test_now_is_the_time_of_the_report() -> None:
    # S28
    reports = run(rspql("SELECT ?now", "BIND(NOW() AS ?now)"))
    assert found(reports) == ["1970-01-01T00:00:00.01Z@10", "1970-01-01T00:00:00.02Z@20"]


def test_random_functions_have_no_expected_answer() -> None:
    with pytest.raises(UnsupportedError, match="RAND"):
        run(rspql("SELECT ?x", "BIND(RAND() AS ?x)"))


def test_ask() -> None:
    reports = run(rspql("ASK", MEET), t0=2)
    assert [report.rows for report in reports] == [
        Counter([(Literal("false", XSD_BOOLEAN),)]),
        Counter([(Literal("true", XSD_BOOLEAN),)]),
    ]


def test_order_by_gives_the_rows_in_order() -> None:
    query = rspql("SELECT ?who ?room", WHO + " } ORDER BY DESC(?who) #")
    assert run(query)[0].ordered == ((thing("m2"), thing("r1")), (thing("m1"), thing("r1")))
    assert run(rspql("SELECT ?who", WHO))[0].ordered is None


def test_construct_removes_duplicates_after_the_stream_operator() -> None:
    query = rspql("CONSTRUCT RSTREAM { ?room :used true }", WHO)
    true = Literal("true", XSD_BOOLEAN)
    assert [report.rows for report in run(query)] == [
        Counter([(thing("r1"), thing("used"), true)]),
        Counter([(thing("r2"), thing("used"), true)]),
    ]


def test_construct_makes_a_blank_node_for_each_solution() -> None:
    rows = run(rspql("CONSTRUCT RSTREAM { _:b :saw ?who ; :in ?room }", WHO))[0].rows
    nodes = {row[0] for row in rows}
    assert len(rows) == 4
    assert len(nodes) == 2
    assert all(isinstance(node, BlankNode) for node in nodes)


def test_several_windows_contribute_their_last_closed_content() -> None:
    # S31: [0,4) [4,8) … over one stream, [0,6) [6,12) … over the other
    other = Iri("http://ex.org/streams/other")
    query = parse(
        f"""PREFIX : <http://ex.org/> SELECT ?a ?b
        FROM NAMED WINDOW :u ON <{STREAM.value}> [RANGE PT0.004S STEP PT0.004S]
        FROM NAMED WINDOW :v ON <{other.value}> [RANGE PT0.006S STEP PT0.006S]
        WHERE {{ OPTIONAL {{ WINDOW :u {{ ?a :detectedAt ?x }} }} OPTIONAL {{ WINDOW :v {{ ?b :detectedAt ?y }} }} }}"""
    )
    elements = {STREAM: [Element.of(1, 0, detected("m1", "r1"))], other: [Element.of(2, 0, detected("m2", "r1"))]}
    assert found(evaluate_reports(query, elements, until=12)) == ["m1?@4", "m1m2@6", "?m2@8", "??@12"]


def test_blank_nodes_keep_their_scoped_labels() -> None:
    node = BlankNode("stream 1/0 é")
    elements = (Element.of(1, 0, Triple(node, DETECTED_AT, thing("r1"))),)
    assert run(rspql("SELECT ?who", WHO), elements)[0].rows == Counter([(node,)])


def test_both_evaluators_agree_on_an_example() -> None:
    query = rspql("SELECT ?room", MEET)
    assert run(query) == run(query, evaluator=arbiter.answer)


def test_equal_contents_are_evaluated_once() -> None:
    window_store.evaluate.cache_clear()
    dataset = Dataset(frozenset({detected("m1", "r1")}))
    for _ in range(3):
        window_store.evaluate("SELECT * { ?s ?p ?o }", dataset)
    assert window_store.evaluate.cache_info().misses == 1


def test_numbers_come_back_as_they_are() -> None:
    elements = (Element.of(1, 0, Triple(thing("m1"), DETECTED_AT, Literal("7", XSD_INTEGER))),)
    assert run(rspql("SELECT ?room", WHO), elements)[0].rows == Counter([(Literal("7", XSD_INTEGER),)])


def test_a_text_of_ones_own() -> None:
    reports = run(
        rspql("SELECT ?room", MEET), text="SELECT ?s { GRAPH <http://ex.org/w> { ?s ?p <http://ex.org/r1> } }"
    )
    assert found(reports) == ["m1 m2@10", "-@20"]


def test_a_missing_stream_is_named() -> None:
    with pytest.raises(UsageError, match="given streams: none"):
        evaluate_reports(rspql("SELECT ?room", MEET), {})


def test_describe_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="DESCRIBE"):
        run(rspql("DESCRIBE ?room", MEET))


def test_floats_are_added_up_in_doubles_and_rounded_once() -> None:
    """In single precision, the evaluator's own, the sum of these is off by hundreds of units in the last place."""
    values = [f"{16_777_216 + number}.0" for number in range(40)] + ["0.5"] * 20
    elements = tuple(
        Element.of(number % 10, number, Triple(thing(f"o{number}"), thing("p"), Literal(value, XSD_FLOAT)))
        for number, value in enumerate(values)
    )
    query = rspql("SELECT (SUM(?v) AS ?sum) (AVG(?v) AS ?mean) (COUNT(?v) AS ?n)", "WINDOW :w { ?o :p ?v }")
    (row,) = run(query, elements)[0].rows
    exact = sum(float(double_of(value, Kind.FLOAT) or 0) for value in values)
    for term, right in zip(row, (exact, exact / len(values)), strict=False):
        assert isinstance(term, Literal)
        assert term.datatype == XSD_FLOAT
        assert double_of(term.lexical, Kind.FLOAT) == double_of(repr(right), Kind.FLOAT)
    whole = (Element.of(1, 0, Triple(thing("o"), thing("p"), Literal("2", XSD_INTEGER))),)
    assert found(run(query, whole)) == ["221@10"]


def test_columns_stand_in_the_order_of_select_also_where_the_window_holds_all_of_it() -> None:
    plain = parse(f"SELECT ?room ?mover {{ ?mover <{DETECTED_AT.value}> ?room }}", "sparql")
    query = in_window(plain)
    (report,) = evaluate_reports(query, {query.windows[0].stream: ROOM_CHANGES[:1]})
    assert all(
        room.startswith("r") and mover.startswith("m") for room, mover in (map(_text, row) for row in report.rows)
    )
    assert report.rows
