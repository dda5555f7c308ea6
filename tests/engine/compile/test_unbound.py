"""A computed term that is unbound, or has one value, is one and the same, however it was come by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Term, Triple
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_INTEGER
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.random_cases import Case
from tests.support.replay_adapter import answer, answer_many, in_one_range

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = "PREFIX : <urn:> "
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE PT0.010S STEP PT0.005S] WHERE"
SUMS = "{ SELECT ?p (SUM(?o) AS ?x) { ?s ?p ?o } GROUP BY ?p }"
SUM_OF = "{{ SELECT (SUM(?o) AS ?x) {{ ?s :{} ?o }} }}"
CUT = "BIND(IF(?o != 'x', SUBSTR(?o, ?s), 'y') AS ?x)"
QUERIES = {
    "distinct sum": f"SELECT DISTINCT (SUM(?o) AS ?x) {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} GROUP BY ?p",
    "distinct mean": f"SELECT DISTINCT (AVG(?o) AS ?x) {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} GROUP BY ?p",
    "group": f"SELECT ?x (COUNT(*) AS ?n) {WINDOW} {{ WINDOW :w {{ {SUMS} }} }} GROUP BY ?x",
    "count distinct": f"SELECT (COUNT(DISTINCT ?x) AS ?n) {WINDOW} {{ WINDOW :w {{ {SUMS} }} }}",
    "count distinct rows": f"SELECT (COUNT(DISTINCT *) AS ?n) {WINDOW} {{ WINDOW :w {{ SELECT ?x {{ {SUMS} }} }} }}",
    "join": f"SELECT ?x {WINDOW} {{ WINDOW :w {{ {SUM_OF.format('p0')} {SUM_OF.format('p3')} }} }}",
    "join with nothing": f"SELECT ?x {WINDOW} {{ WINDOW :w {{ {SUM_OF.format('p0')} {SUM_OF.format('none')} }} }}",
    "minus": f"SELECT ?p ?x {WINDOW} {{ WINDOW :w {{ {SUMS} MINUS {{ {SUM_OF.format('p0')} }} }} }}",
    "order": f"SELECT DISTINCT (SUM(?o) AS ?x) {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} GROUP BY ?p ORDER BY ?x LIMIT 2",
    "istream": f"REGISTER ISTREAM :q AS SELECT ?p (AVG(?o) AS ?x) {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} GROUP BY ?p",
    "dstream": f"REGISTER DSTREAM :q AS SELECT ?p (SUM(?o) AS ?x) {WINDOW} {{ WINDOW :w {{ ?s ?p ?o }} }} GROUP BY ?p",
    "tags": f"SELECT DISTINCT ?x {WINDOW} {{ WINDOW :w {{ ?s :tag ?o {CUT} }} }}",
}


def elements(number: str) -> tuple[Element, ...]:
    """Return sums that are errors for several reports while what is added changes, and 3 in two ways."""
    given: list[tuple[int, str, Term]] = [
        (1, "p0", Literal("1", XSD_INTEGER)),
        (1, "p0", Iri("urn:z")),
        (2, "p1", Literal("5", number)),
        (2, "p1", Iri("urn:z")),
        (3, "p2", Iri("urn:z")),
        (4, "p3", Literal("3", number)),
        (4, "p4", Literal("1", number)),
        (4, "p4", Literal("2", XSD_INTEGER)),
        (4, "tag", Literal("a", language="en")),
        (4, "tag", Literal("b", language="de")),
        (7, "p0", Literal("2", number)),
        (8, "p1", Iri("urn:y")),
        (12, "p0", Iri("urn:z")),
    ]
    return tuple(
        Element(t, seq, frozenset({Triple(Iri(f"urn:{seq}"), Iri(f"urn:{predicate}"), term)}))
        for seq, (t, predicate, term) in enumerate(given)
    )


def case_of(name: str, number: str) -> Case:
    return Case(0, parse(START + QUERIES[name]), {Iri("urn:s"): elements(number)})


@pytest.mark.parametrize("number", [XSD_INTEGER, XSD_DOUBLE], ids=["exact", "inexact"])
@pytest.mark.parametrize("name", QUERIES)
def test_equal_terms_are_one(name: str, number: str, local: Local) -> None:
    case = case_of(name, number)
    got = answer(case, placed=local)
    assert not compare_reports(case.expected(), got)
    assert not compare_reports(got, answer(case, chunk_windows=1, placed=local))
    assert any(report.rows for report in got)


@pytest.mark.spark
def test_equal_terms_are_one_on_spark(spark: SparkSession) -> None:
    for name in ("distinct mean", "join", "tags"):
        case = case_of(name, XSD_DOUBLE)
        case = in_one_range(case, [case.elements])
        with Spark(spark) as placed:
            (got,) = answer_many(case, [case.elements], placed, chunk_windows=None)
        assert not compare_reports(case.expected(), got), name
