from __future__ import annotations

import time
from dataclasses import replace

import pytest

from hydrograph.algebra.nodes import Bgp, Project, TriplePattern, Window
from hydrograph.algebra.queries import Ask, Construct, ContinuousQuery, NamedWindow, StreamOperator, TemplateTriple
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, TimeWindow, WindowDefinition
from hydrograph.errors import SyntaxQueryError, UnsupportedError, UsageError
from hydrograph.language import parse, print_query, print_sparql
from hydrograph.rdf.terms import Iri, Variable

TYPICAL = """
PREFIX ex: <http://ex.org/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
REGISTER RSTREAM ex:out AS
SELECT ?room (AVG(?t) AS ?mean)
FROM NAMED WINDOW ex:w ON ex:temps [RANGE PT10S STEP PT5S]
WHERE { WINDOW ex:w { ?s ex:temp ?t . ?s ex:in ?room . ?room ex:floor 2 FILTER(?t > 30) } }
GROUP BY ?room
"""


def test_the_text_decides_about_the_dialect() -> None:
    assert parse(TYPICAL).operator is StreamOperator.RSTREAM
    assert parse("SELECT ISTREAM * { ?s ?p ?o }").operator is StreamOperator.ISTREAM
    assert parse("ASK { ?s ?p ?o }").operator is None


def test_a_dialect_can_be_forced() -> None:
    with pytest.raises(SyntaxQueryError, match="expected SELECT or CONSTRUCT or ASK or DESCRIBE, got REGISTER"):
        parse(TYPICAL, "sparql")


def test_an_unknown_dialect() -> None:
    with pytest.raises(
        UsageError, match=r"unknown dialect 'rspq'; known dialects: cqels, csparql, rspql, .*; did you mean rspql"
    ):
        parse("ASK {}", "rspq")
    with pytest.raises(UsageError, match="unknown dialect 'cypher' to print"):
        print_query(parse("ASK {}"), "cypher")


def test_a_base_from_outside() -> None:
    query = parse("ASK { <s> <p> ?o FILTER(IRI(?o) = <q>) }", base="http://ex.org/")
    assert "<http://ex.org/s> <http://ex.org/p> ?o" in print_query(query)
    assert parse(print_query(query)) == query


def test_unsupported_is_told_from_wrong() -> None:
    with pytest.raises(UnsupportedError, match="line 1, column 7: SERVICE is not supported"):
        parse("ASK { SERVICE <urn:x> { } }")


def test_a_typical_query_takes_less_than_five_milliseconds() -> None:
    best = min(_seconds() for _ in range(20))
    assert best < 0.005


def _seconds() -> float:
    start = time.perf_counter()
    parse(TYPICAL)
    return time.perf_counter() - start


def test_print_sparql_shows_windows_as_graphs() -> None:
    assert print_sparql(parse(TYPICAL)).splitlines()[2:] == [
        "SELECT ?room (AVG(?t) AS ?mean)",
        "WHERE {",
        "  GRAPH ex:w {",
        "    ?s ex:temp ?t .",
        "    ?s ex:in ?room .",
        "    ?room ex:floor 2 .",
        "    FILTER (?t > 30)",
        "  }",
        "}",
        "GROUP BY ?room",
    ]


def test_print_sparql_can_leave_windows_out() -> None:
    text = print_sparql(parse(TYPICAL), window_as_graph=False)
    assert "GRAPH" not in text
    assert "WINDOW" not in text
    with pytest.raises(UnsupportedError, match="without naming windows"):
        print_sparql(parse("ASK { WINDOW ?w { } }"), window_as_graph=False)


TRIPLE = Bgp((TriplePattern(Variable("s"), Variable("p"), Variable("o")),))


@pytest.mark.parametrize(
    "definition", [TimeWindow(10, None), CountWindow(1, 1, triples=True), NowWindow(), AllWindow()]
)
def test_what_rspql_can_not_say_is_not_printed(definition: WindowDefinition) -> None:
    query = ContinuousQuery(Ask(), TRIPLE, (NamedWindow(Iri("urn:w"), Iri("urn:s"), definition),))
    with pytest.raises(UnsupportedError, match="RSP-QL has no words for"):
        print_query(query, "rspql")


def test_names_that_rspql_does_not_know() -> None:
    unnamed = NamedWindow(None, Iri("urn:s"), TimeWindow(10, 10))
    with pytest.raises(UnsupportedError, match="together, which RSP-QL cannot express"):
        print_query(ContinuousQuery(Ask(), TRIPLE, (unnamed, unnamed)), "rspql")
    with pytest.raises(UnsupportedError, match="RSP-QL has no place for the name 'Hot rooms'"):
        print_query(ContinuousQuery(Ask(), TRIPLE, name="Hot rooms"), "rspql")
    with pytest.raises(UnsupportedError, match="SPARQL has no place for the name"):
        print_query(parse(TYPICAL), "sparql")
    with pytest.raises(UnsupportedError, match="SPARQL has no windows"):
        print_query(replace(parse(TYPICAL), name=None, operator=None), "sparql")
    quad = TemplateTriple(Variable("s"), Variable("p"), Variable("o"), Iri("urn:g"))
    with pytest.raises(UnsupportedError, match="no GRAPH blocks in templates"):
        print_sparql(ContinuousQuery(Construct((quad,)), TRIPLE))


def test_a_window_variable_is_in_scope() -> None:
    query = parse("PREFIX : <urn:> SELECT * FROM NAMED WINDOW :w ON :s [RANGE 1s] { WINDOW ?w { ?s ?p ?o } }")
    variables = tuple(map(Variable, ("s", "p", "o", "w")))
    assert query.pattern == Project(Window(Variable("w"), TRIPLE), variables)
