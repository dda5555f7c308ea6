"""Texts beyond the limits are refused in one line, and quickly; no text ends in a RecursionError."""

from __future__ import annotations

import pytest

from hydrograph.algebra import sse
from hydrograph.errors import HydrographError, QueryError
from hydrograph.language import parse, print_query

P = "PREFIX : <urn:x:> "
W = P + "SELECT * WHERE "


def nested(opening: str, closing: str, count: int, middle: str = "") -> str:
    return opening * count + middle + closing * count


REFUSED = {
    "bytes": (f"ASK {{ }}{' ' * 65_530}", "a query may be 65536 bytes long, got 65537; put constants into static data"),
    "characters of two bytes": (f"ASK {{ }} #{'é' * 32_765}", "a query may be 65536 bytes long, got 65539; put "),
    "braces": (f"ASK {nested('{', '}', 101)}", "brackets may nest 100 deep, got 101; split the query"),
    "many braces": (f"ASK {nested('{', '}', 10_000)}", "brackets may nest 100 deep, got 10000; split the query"),
    "unclosed braces": (f"ASK {'{' * 10_000}", "brackets may nest 100 deep, got 10000; split the query"),
    "parentheses": (f"ASK {{ FILTER{nested('(', ')', 10_000, '1')} }}", "brackets may nest 100 deep, got 10001; "),
    "mixed brackets": (W + nested("{[(", ")]}", 34), "brackets may nest 100 deep, got 102; split the query"),
    "triples": (W + "{" + "?s ?p ?o ." * 501 + "}", "a query may have 500 triple patterns, got 501; split the query"),
    "steps of a path": (W + "{ ?s :p" + "/:p" * 10_000 + " ?o }", "a query may have 500 triple patterns, got 10001"),
    "alternatives": (W + "{ ?s :p" + "|:p" * 10_000 + " ?o }", "patterns may be 200 operators deep, got 10003; "),
    "optionals": (
        W + "{" + "OPTIONAL{}" * 5_000 + "}",
        "patterns may be 200 operators deep, got 5002; split the query",
    ),
    "unions": (W + "{{}" + "UNION{}" * 5_000 + "}", "patterns may be 200 operators deep, got 5002; split the query"),
    "assignments": (
        "SELECT " + "".join(f"(1 AS ?v{n})" for n in range(3_000)) + "{}",
        "patterns may be 200 operators deep, got 3002; split the query",
    ),
    "sums": (W + "{ FILTER(1" + "+1" * 10_000 + ") }", "expressions may be 200 operators deep, got 10001; split them"),
    "sums in an aggregate": (P + "SELECT (SUM(1" + "+1" * 10_000 + ") AS ?x) {}", "expressions may be 200 operators"),
    "negations": (
        W + "{ FILTER(" + "!" * 10_000 + "?x) }",
        "expected a variable, a constant, a call or a bracket, got !",
    ),
    "signs": (W + "{ FILTER(" + "-" * 10_000 + "?x) }", "expected a variable, a constant, a call or a bracket, got -"),
    "inverses": (W + "{ ?s " + "^ " * 10_000 + ":p ?o }", "expected a predicate or a property path, got ^"),
    "digits": (W + "{} LIMIT " + "9" * 5_000, "expected a whole number after LIMIT of at most 18 digits, got 5000"),
    "duration": (
        P + "ASK FROM NAMED WINDOW :w ON :s [RANGE " + "9" * 5_000 + "] {}",
        "expected a duration such as PT10S",
    ),
}

ACCEPTED = {
    "bytes": f"ASK {{ }}{' ' * 65_529}",
    "braces": f"ASK {nested('{', '}', 100)}",
    "parentheses": f"ASK {{ FILTER{nested('(', ')', 99, '1')} }}",
    "triples": W + "{" + "?s ?p ?o ." * 500 + "}",
    "conjunctions": W + "{ FILTER(?x" + " && ?x" * 9_000 + ") }",
    "exists": W + "{" + nested("FILTER NOT EXISTS {", "}", 99) + "}",
    "exists in expressions": W + "{" + nested("FILTER(1 = 1 + EXISTS {", "})", 49) + "}",
    "optionals": W + "{" + nested("OPTIONAL { ?a ?b ?c ", "}", 99) + "}",
    "subqueries": nested("SELECT * { ", "}", 99),
    "blank nodes": W + "{ ?s :p " + nested("[ :p ", "]", 99, "1") + "}",
    "collections": W + "{ ?s :p " + nested("(", ")", 99) + "}",
    "paths": W + "{ ?s " + nested("(", ")*", 99, ":p") + " ?o }",
    "alternatives": W + "{ ?s :p" + "|:p" * 150 + " ?o }",
    "one day by the second": P + "ASK FROM NAMED WINDOW :w ON :s [RANGE PT86400S STEP PT1S] {}",
    "31 days": P + "ASK FROM NAMED WINDOW :w ON :s [RANGE P31D STEP 1h] {}",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert message in str(caught.value).splitlines()[0]


@pytest.mark.parametrize("text", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(text: str) -> None:
    query = parse(text)
    assert parse(print_query(query)) == query
    assert sse.print_query(query)


@pytest.mark.parametrize(
    "unit", ["a.", "a.a:", "<", '"', '"a', "'''\"", "#", "a", "\\", "?", ":a.", "<a", "_:", "1e", "@a-"]
)
def test_no_text_takes_long(unit: str) -> None:
    text = "ASK { " + unit * (60_000 // len(unit)) + " }"
    with pytest.raises(HydrographError):
        parse(text)
