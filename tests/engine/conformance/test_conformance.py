"""The harness of the W3C's tests, on a small suite of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph.algebra.sse import print_pattern
from hydrograph.errors import DataError, UsageError
from hydrograph.language import parse
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_INTEGER
from hydrograph.runtime.placement import PlacementChoice
from hydrograph_gauge.functional.w3c import in_window, sort_columns
from hydrograph_gauge.functional.w3c_answers import QueryResult, difference, read_answer, truth
from hydrograph_gauge.functional.w3c_manifest import Entry, Kind, find_manifest, read_tests
from tests.support.conformance import (
    ConformanceResult,
    check_syntax,
    evaluate_all,
    expected_failures,
    main,
    unexpected_results,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIXES = """PREFIX mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#>
PREFIX qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#>
PREFIX rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#>
PREFIX : <http://example.org/manifest#>
"""
INCLUDING = "<> a mf:Manifest ; mf:include ( <small/manifest.ttl> ) ."
MANIFEST = """<> a mf:Manifest ; mf:entries ( :values :graphs :made :asked :empty :from :sorted :good :bad ) .
:values a mf:QueryEvaluationTest ; mf:action [ qt:query <values.rq> ; qt:data <data.ttl> ] ; mf:result <values.srx> .
:graphs a mf:QueryEvaluationTest ; mf:result <graphs.ttl> ;
    mf:action [ qt:query <graphs.rq> ; qt:data <data.ttl> ; qt:graphData <one.ttl> , <two.rdf> ] .
:made a mf:QueryEvaluationTest ; mf:action [ qt:query <made.rq> ; qt:data <data.ttl> ] ; mf:result <made.ttl> .
:asked a mf:QueryEvaluationTest ; mf:action [ qt:query <asked.rq> ; qt:data <data.ttl> ] ; mf:result <asked.srj> .
:empty a mf:QueryEvaluationTest ; mf:action [ qt:query <empty.rq> ; qt:data <empty.ttl> ] ; mf:result <empty.csv> .
:from a mf:QueryEvaluationTest ; mf:result <from.tsv> ;
    mf:action [ qt:query <from.rq> ; qt:data <data.ttl> ; qt:graphData <one.ttl> ] .
:sorted a mf:QueryEvaluationTest ; mf:action [ qt:query <sorted.rq> ; qt:data <data.ttl> ] ; mf:result <sorted.tsv> .
:good a mf:PositiveSyntaxTest11 ; mf:action <values.rq> .
:bad a mf:NegativeSyntaxTest11 ; mf:action <bad.rq> .
"""
FILES = {
    "manifest.ttl": PREFIXES + MANIFEST,
    "data.ttl": "<urn:a> <urn:p> 1 , 2.50 ; <urn:q> _:x . _:x <urn:r> _:y .",
    "one.ttl": "<urn:a> <urn:p> 7 .",
    "two.rdf": """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:u="urn:">
        <rdf:Description rdf:about="urn:b"><u:p>8</u:p></rdf:Description></rdf:RDF>""",
    "values.rq": "SELECT ?v { <urn:a> <urn:p> ?v }",
    "values.srx": """<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="v"/></head><results>
        <result><binding name="v"><literal datatype="http://www.w3.org/2001/XMLSchema#decimal">2.5</literal></binding>
        </result><result><binding name="v"><literal datatype="http://www.w3.org/2001/XMLSchema#integer">1</literal>
        </binding></result></results></sparql>""",
    "graphs.rq": "SELECT ?o ?g { GRAPH ?g { ?s <urn:p> ?o } } ORDER BY DESC(?o)",
    "graphs.ttl": PREFIXES
    + """[] a rs:ResultSet ; rs:resultVariable "g" , "o" ;
        rs:solution [ rs:index 1 ; rs:binding [ rs:variable "g" ; rs:value <two.rdf> ] ,
            [ rs:variable "o" ; rs:value "8" ] ] ,
        [ rs:index 2 ; rs:binding [ rs:variable "g" ; rs:value <one.ttl> ] , [ rs:variable "o" ; rs:value 7 ] ] .""",
    "made.rq": "CONSTRUCT { ?x <urn:s> ?y } { ?x <urn:r> ?y }",
    "made.ttl": "_:one <urn:s> _:two .",
    "asked.rq": "ASK { <urn:a> <urn:q> _:something }",
    "asked.srj": '{ "head": {}, "boolean": true }',
    "empty.ttl": "",
    "empty.rq": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "empty.csv": "n\r\n0\r\n",
    "from.rq": "SELECT ?v FROM <one.ttl> { <urn:a> <urn:p> ?v FILTER NOT EXISTS { GRAPH ?g { } } }",
    "from.tsv": "?v\n7\n",
    "sorted.rq": "SELECT ?o ?p { <urn:a> ?p ?o FILTER isNumeric(?o) } ORDER BY DESC(?o)",
    "sorted.tsv": "?o\t?p\n2.50\t<urn:p>\n1\t<urn:p>\n",
    "bad.rq": "SELECT ?v { ?v }",
}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder like that of the W3C."""
    small = tmp_path / "sparql11" / "small"
    small.mkdir(parents=True)
    (small.parent / "manifest-sparql11-query.ttl").write_text(PREFIXES + INCLUDING)
    for name, text in FILES.items():
        (small / name).write_text(text)
    return tmp_path


def small(suite: Path, kind: Kind) -> list[Entry]:
    return [test for test in read_tests(find_manifest(suite)) if test.kind is kind]


def test_manifests_are_followed(suite: Path) -> None:
    tests = read_tests(find_manifest(suite))
    names = ["values", "graphs", "made", "asked", "empty", "from", "sorted", "good", "bad"]
    assert [test.name for test in tests] == [f"small/{name}" for name in names]
    assert [file.name for file in tests[1].graphs] == ["one.ttl", "two.rdf"]
    assert [test.kind for test in tests[-2:]] == [Kind.POSITIVE_SYNTAX, Kind.NEGATIVE_SYNTAX]


def test_an_unknown_kind_of_test_is_not_passed_over(suite: Path) -> None:
    manifest = suite / "sparql11" / "small" / "manifest.ttl"
    manifest.write_text(manifest.read_text().replace("mf:PositiveSyntaxTest11", "mf:UpdateEvaluationTest"))
    with pytest.raises(DataError, match=r"small/good is a .*UpdateEvaluationTest"):
        read_tests(find_manifest(suite))


def test_a_folder_without_the_suite_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"clone https://github\.com/w3c/rdf-tests"):
        find_manifest(tmp_path)


def test_the_engine_passes_the_small_suite(suite: Path) -> None:
    outcomes = evaluate_all(small(suite, Kind.EVALUATION), [PlacementChoice.LOCAL])
    assert {outcome.test.name: outcome.wrong for outcome in outcomes if outcome.wrong} == {}
    assert len(outcomes) == 7


@pytest.mark.spark
def test_spark_passes_too(suite: Path, spark: SparkSession) -> None:
    (outcome,) = evaluate_all([small(suite, Kind.EVALUATION)[1]], [PlacementChoice.SPARK], spark)
    assert outcome.wrong == ""


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("values.srx", ">2.5<", ">2.6<"),
        ("values.srx", "#integer", "#decimal"),
        ("values.srx", 'name="v"', 'name="w"'),
        ("graphs.ttl", "rs:index 1", "rs:index 3"),
        ("sorted.tsv", "2.50\t<urn:p>\n1\t<urn:p>", "1\t<urn:p>\n2.50\t<urn:p>"),
        ("graphs.ttl", "<two.rdf>", "<one.ttl>"),
        ("made.ttl", "_:two", "_:one"),
        ("asked.srj", "true", "false"),
        ("empty.csv", "0", "1"),
        ("from.tsv", "7", "7\n7"),
    ],
)
def test_a_wrong_answer_is_seen(suite: Path, file: str, old: str, new: str) -> None:
    """The answer of the engine stays the same, the expected one changes."""
    changed = suite / "sparql11" / "small" / file
    assert old in changed.read_text()
    changed.write_text(changed.read_text().replace(old, new))
    outcomes = evaluate_all(small(suite, Kind.EVALUATION), [PlacementChoice.LOCAL])
    assert [outcome.test.name for outcome in outcomes if outcome.wrong] == [f"small/{Path(file).stem}"]


def test_a_crash_is_the_failure_of_its_test(suite: Path) -> None:
    (suite / "sparql11" / "small" / "asked.rq").write_text("ASK { SERVICE <urn:s> { ?s ?p ?o } }")
    outcomes = evaluate_all(small(suite, Kind.EVALUATION), [PlacementChoice.LOCAL])
    (wrong,) = [outcome.wrong for outcome in outcomes if outcome.wrong]
    assert "SERVICE" in wrong


def test_syntax(suite: Path) -> None:
    good, bad = small(suite, Kind.POSITIVE_SYNTAX)[0], small(suite, Kind.NEGATIVE_SYNTAX)[0]
    assert (check_syntax(good), check_syntax(bad)) == ("", "")
    good.query.write_text("SELECT {")
    bad.query.write_text("SELECT * { }")
    assert check_syntax(good).startswith("refused: line 1")
    assert check_syntax(bad) == "accepted"


def test_the_list_of_expected_failures_is_strict() -> None:
    right, wrong = (Entry(name, Kind.EVALUATION, Path(name)) for name in ("a/right", "a/wrong"))
    outcomes = [
        ConformanceResult(right, "local", ""),
        ConformanceResult(wrong, "local", ""),
        ConformanceResult(wrong, "spark", "differs"),
    ]
    assert unexpected_results(outcomes, {"a/wrong": "because"}, whole=True) == []
    assert unexpected_results(outcomes, {}, whole=True) == ["FAILED a/wrong (spark)\ndiffers"]
    listed = {"a/wrong": "because", "a/right": "because", "a/none": "because"}
    assert unexpected_results(outcomes, listed, whole=True) == [
        "PASSED a/right, which is listed as an expected failure",
        "UNKNOWN a/none is listed as an expected failure",
    ]
    assert unexpected_results(outcomes, {"a/wrong": "because", "a/none": "because"}, whole=False) == []


def test_every_expected_failure_has_a_reason() -> None:
    assert all(reason.strip() for reason in expected_failures().values())


def test_the_last_line_has_the_figures(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["conformance", str(suite), "--placement", "local", "--only", "small/"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    assert capsys.readouterr().out.splitlines() == ["local: 7/7", "conformance: 7/7 evaluation, 2/2 syntax"]


def test_no_test_at_all_is_an_error(
    suite: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["conformance", str(suite), "--only", "smaller/"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "at least one test whose name holds 'smaller/', got none of 9" in capsys.readouterr().err


def test_make_says_where_to_get_the_suite() -> None:
    root = Path(__file__).parents[3]
    command = ["make", "--no-print-directory", "--old-file=.venv/ready", "conformance", "W3C="]
    ran = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "https://github.com/w3c/rdf-tests" in ran.stderr


# Comparison


A, B, C = BlankNode("a"), BlankNode("b"), BlankNode("c")
ONE, ALSO_ONE = Literal("1.0", XSD_DECIMAL), Literal("1.00", XSD_DECIMAL)


@pytest.mark.parametrize(
    ("expected", "got", "lax", "equal"),
    [
        (((A, B),), ((C, A),), False, True),
        (((A, A),), ((B, C),), False, False),
        (((A, B), (B, A)), ((C, A), (A, C)), False, True),
        (((A, B), (B, A)), ((C, A), (C, A)), False, False),
        (((ONE, A),), ((ALSO_ONE, B),), False, True),
        (((ONE, None),), ((Literal("1", XSD_INTEGER), None),), False, False),
        (((ONE, None), (ONE, None)), ((ONE, None),), False, False),
        (((ONE, None), (ONE, None)), ((ONE, None),), True, True),
        (((ONE, None),), ((ONE, None), (ONE, None)), True, False),
        (((ONE, None),), (), True, False),
    ],
)
def test_rows_are_bags_up_to_one_renaming(
    expected: tuple[tuple[BlankNode, ...], ...], got: tuple[tuple[BlankNode, ...], ...], lax: bool, equal: bool
) -> None:
    found = difference(QueryResult(("x", "y"), expected), QueryResult(("x", "y"), got), lax=lax)
    assert (not found) is equal, found


def test_rows_are_in_the_order_of_the_sorted_columns() -> None:
    first, second, tied = (ONE, Iri("urn:1")), (Literal("2", XSD_INTEGER), Iri("urn:2")), (ONE, Iri("urn:3"))
    expected = QueryResult(("x", "y"), (first, tied, second))

    def wrong(*rows: tuple[Literal, Iri], sorted_by: tuple[str, ...] = ("x",), lax: bool = False) -> str:
        return difference(expected, QueryResult(("x", "y"), rows, sorted_by=sorted_by), lax=lax)

    assert not wrong(first, tied, second)
    assert not wrong(tied, first, second)
    assert not wrong(second, tied, first, sorted_by=())
    assert "in place 1" in wrong(second, first, tied)
    assert "in place 1" in wrong(tied, first, second, sorted_by=("x", "y"))
    assert "in place 1" in wrong(second, first, tied, lax=True)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT ?a ?b { ?a ?p ?b } ORDER BY ?b DESC(?a)", ("b", "a")),
        ("SELECT DISTINCT ?a { ?a ?p ?b } ORDER BY ?a LIMIT 3", ("a",)),
        ("SELECT ?a { ?a ?p ?b } ORDER BY ?a ?b", ("a",)),
        ("SELECT ?a { ?a ?p ?b } ORDER BY STR(?a) ?a", ()),
        ("SELECT ?a { { SELECT ?a { ?a ?p ?b } ORDER BY ?a } }", ()),
        ("CONSTRUCT { ?a ?p ?b } { ?a ?p ?b } ORDER BY ?a", ()),
    ],
)
def test_leading_sort_keys_that_are_columns_are_compared(text: str, columns: tuple[str, ...]) -> None:
    assert sort_columns(parse(text, "sparql")) == columns


def test_a_window_goes_inside_the_solution_modifiers() -> None:
    text = "SELECT DISTINCT ?a { ?a ?p ?b } ORDER BY (EXISTS { ?a ?q ?c }) LIMIT 1"
    printed = print_pattern(in_window(parse(text, "sparql")).pattern)
    assert printed.index("slice") < printed.index("distinct") < printed.index("order") < printed.rindex("(window")
    assert printed.count("(window") == 2, "the pattern, and the one of EXISTS"


def test_columns_are_told_apart_by_name() -> None:
    left = QueryResult(("x", "y"), ((Iri("urn:1"), Iri("urn:2")),))
    assert difference(left, QueryResult(("y", "x"), ((Iri("urn:2"), Iri("urn:1")),))) == ""
    assert difference(left, QueryResult(("y", "x"), ((Iri("urn:1"), Iri("urn:2")),)))
    assert difference(left, QueryResult(("x",), ())).startswith("expected the variables x y")


def test_csv_knows_only_texts(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("x,y\r\nurn:1,_:b\r\n5,\r\n")
    got = QueryResult(("x", "y"), ((Iri("urn:1"), A), (Literal("5", XSD_INTEGER), None)))
    assert difference(read_answer(tmp_path / "r.csv"), got) == ""
    assert difference(read_answer(tmp_path / "r.csv"), QueryResult(("x", "y"), got.rows[:1]))


def test_truth_in_the_vocabulary_of_result_sets(tmp_path: Path) -> None:
    (tmp_path / "r.ttl").write_text(PREFIXES + "[] a rs:ResultSet ; rs:boolean true .")
    assert read_answer(tmp_path / "r.ttl") == truth(value=True)


def test_an_unknown_format_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"unknown format of results; known are \.srx"):
        read_answer(tmp_path / "r.txt")
