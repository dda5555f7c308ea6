"""RAND and its like are drawn for every row, also for equal ones, and are the same in every run (A6)."""

from __future__ import annotations

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.stream import Element
from tests.support.random_cases import Case
from tests.support.replay_adapter import answer

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


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?s (RAND() AS ?x) {0} {{ WINDOW :w {{ ?s :p ?o }} }}",
        "SELECT ?s (UUID() AS ?x) (STRUUID() AS ?y) {0} {{ WINDOW :w {{ ?s :p ?o }} }}",
        "SELECT ?s (BNODE() AS ?x) (BNODE(STR(?o)) AS ?y) {0} {{ WINDOW :w {{ ?s :p ?o }} }}",
        "SELECT ?o {0} {{ WINDOW :w {{ ?s :p ?o FILTER(RAND() < 0.5) }} }}",
        "SELECT ?s ?x {0} {{ WINDOW :w {{ ?s :p ?o BIND(RAND() AS ?x) ?s :p ?q }} }} ORDER BY ?x LIMIT 40",
        "SELECT ?s ?o {0} {{ WINDOW :w {{ ?s :p ?o FILTER EXISTS {{ ?s :p ?q FILTER(RAND() < 0.1) }} }} }}",
        "SELECT ?s ?o ?q {0} {{ WINDOW :w {{ ?s :p ?o OPTIONAL {{ ?s :p ?q FILTER(RAND() < 0.1) }} }} }}",
        "CONSTRUCT {{ ?s :x ?x }} {0} {{ WINDOW :w {{ ?s :p ?o BIND(UUID() AS ?x) }} }}",
        "CONSTRUCT {{ ?s :x ?n }} {0} {{ WINDOW :w {{ ?s :p ?o BIND(?o + 1 AS ?n) FILTER(RAND() < 0.5) }} }}",
    ],
)
def test_values_do_not_depend_on_what_else_is_asked(query: str) -> None:
    triples = [Triple(Iri(f"urn:{n % 3}"), Iri("urn:p"), Literal(str(n), XSD_INTEGER)) for n in range(120)]
    elements = tuple(Element(t, t, frozenset(triples[4 * t : 4 * t + 4])) for t in range(30))
    window = "FROM NAMED WINDOW :w ON :s [RANGE PT0.010S STEP PT0.010S] WHERE"
    answers = []
    for operator in ("RSTREAM", "ISTREAM"):  # no window shares a row with the next: everything is new in each
        text = f"PREFIX : <urn:> REGISTER {operator} :q AS {query.format(window)}"
        answers.append(answer(Case(0, parse(text), {Iri("urn:s"): elements})))
    assert answers[0] == answers[1]
    assert all(report.rows for report in answers[0])
