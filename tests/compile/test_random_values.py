"""RAND and its like are drawn for every row, also for equal ones, and are the same in every run (A6)."""

from __future__ import annotations

import pytest

from hydrograph.bench.engines.replay import answer
from hydrograph.bench.oracle.cases import Case
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.windows.stream import Element

ROWS = 400
QUERY = """PREFIX : <urn:> SELECT {0} FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S]
WHERE {{ WINDOW :w {{ {{ SELECT ?s {{ ?s :p ?o }} }} {1} }} }}"""


def rows(columns: str, rest: str) -> int:
    """Return how many of the equal rows are left."""
    triples = frozenset(Triple(Iri("urn:a"), Iri("urn:p"), Literal(str(number))) for number in range(ROWS))
    case = Case(0, parse(QUERY.format(columns, rest)), {Iri("urn:s"): (Element(0, 0, triples),)})
    (report,) = answer(case)
    (again,) = answer(case)
    assert report == again
    return sum(report.rows.values())


@pytest.mark.parametrize(
    "condition",
    ["RAND() < 0.5", "!(RAND() < 0.5)", 'SUBSTR(STRUUID(), 1, 1) < "8"', "RAND() < 0.5 && EXISTS { ?s ?p ?o }"],
)
def test_a_filter_draws_for_every_row(condition: str) -> None:
    assert ROWS * 0.35 < rows("?s", f"FILTER({condition})") < ROWS * 0.65


def test_two_filters_draw_apart() -> None:
    assert ROWS * 0.15 < rows("?s", "FILTER(RAND() < 0.5) FILTER(RAND() < 0.5)") < ROWS * 0.35


def test_two_values_of_a_row_differ() -> None:
    assert rows("?s", "BIND(RAND() AS ?x) BIND(RAND() AS ?y) FILTER(?x = ?y)") == 0
