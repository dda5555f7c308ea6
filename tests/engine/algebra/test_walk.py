from __future__ import annotations

import pytest

from hydrograph.algebra.expressions import Expression, Reference
from hydrograph.algebra.nodes import Bgp, Filter, Join, Pattern, Union
from hydrograph.algebra.sse import print_expression, print_pattern
from hydrograph.algebra.walk import (
    certain,
    children,
    depth,
    everywhere,
    expressions,
    is_visible,
    is_volatile,
    mentioned,
    rewrite,
    rewrite_expression,
    subpatterns,
    variables,
)
from hydrograph.language import parse
from hydrograph.rdf.terms import Variable

PREFIX = "PREFIX : <urn:x:> "


def pattern_of(body: str) -> Pattern:
    return parse(f"{PREFIX}ASK {{ {body} }}").pattern


def condition_of(text: str) -> Expression:
    pattern = pattern_of(f"FILTER({text})")
    assert isinstance(pattern, Filter)
    return pattern.condition


def names(found: frozenset[Variable]) -> str:
    return " ".join(sorted(variable.name for variable in found))


@pytest.mark.parametrize(
    ("body", "scope", "sure"),
    [
        ("?s ?p ?o", "o p s", "o p s"),
        ("?s :p* ?o", "o s", "o s"),
        ("[] :p ?o", ".b0 o", ".b0 o"),
        ("?s :p ?o OPTIONAL { ?s :q ?r }", "o r s", "o s"),
        ("{ ?s :p ?o } UNION { ?s :q ?r }", "o r s", "s"),
        ("?s :p ?o MINUS { ?s :q ?r }", "o s", "o s"),
        ("?s :p ?o FILTER(?x)", "o s", "o s"),
        ("?s :p ?o BIND(1 AS ?a) BIND(?o AS ?b) BIND(?o + 1 AS ?c) BIND(?x AS ?d)", "a b c d o s", "a b o s"),
        ("?s :p ?o BIND(EXISTS { ?a ?b ?c } AS ?d)", "d o s", "d o s"),
        ("GRAPH ?g { }", "g", "g"),
        ("WINDOW ?w { ?s :p ?o }", "o s w", "o s w"),
        ("VALUES (?a ?b) { (1 2) (UNDEF 3) }", "a b", "b"),
        ("SELECT ?s ?x { ?s :p ?o } ORDER BY ?o LIMIT 1", "s x", "s"),
        ("SELECT DISTINCT ?s (COUNT(*) AS ?n) (SUM(?o) AS ?m) { ?s :p ?o } GROUP BY ?s", "m n s", "n s"),
        ("SELECT ?r { OPTIONAL { ?s :p ?r } } GROUP BY ?r", "r", ""),
        ("SELECT REDUCED * { ?s :p ?o }", "o s", "o s"),
    ],
)
def test_variables_in_scope_and_certainly_bound(body: str, scope: str, sure: str) -> None:
    pattern = pattern_of(body)
    assert names(variables(pattern)) == scope
    assert names(certain(pattern)) == sure


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1", ""),
        ("?a + ?b * -?c > 1 && !?d || ?e IN (?f, 1)", "a b c d e f"),
        ("BOUND(?a) && :f(?b)", "a b"),
        ("EXISTS { ?a :p ?b FILTER(?c) MINUS { ?d :p 1 } { SELECT ?e { ?f :p ?e } } }", "a b c d e f"),
    ],
)
def test_mentioned(text: str, found: str) -> None:
    assert names(mentioned(condition_of(text))) == found


@pytest.mark.parametrize(
    ("text", "volatile"),
    [("RAND() > 1", True), ("NOW() > ?x", False), ("EXISTS { FILTER(UUID() = ?x) }", True), ("STR(BNODE())", True)],
)
def test_volatile(text: str, volatile: bool) -> None:
    assert is_volatile(condition_of(text)) is volatile


def test_children_and_subpatterns() -> None:
    pattern = pattern_of("?s :p ?o { ?a :p ?b } FILTER EXISTS { ?x :y ?z }")
    assert isinstance(pattern, Filter)
    (join,) = children(pattern)
    assert len(children(join)) == 2
    assert [type(below).__name__ for below in subpatterns(pattern)] == ["Filter", "Join", "Bgp", "Bgp", "Bgp"]
    assert len(expressions(pattern)) == 1


def test_rewrite_goes_from_the_leaves_up() -> None:
    seen: list[str] = []

    def swap(pattern: Pattern) -> Pattern:
        seen.append(type(pattern).__name__)
        return Union(pattern.left, pattern.right) if isinstance(pattern, Join) else pattern

    pattern = pattern_of("?s :p ?o { ?a :p ?b } FILTER(?o) OPTIONAL { ?s :q ?r }")
    assert "(union" in print_pattern(rewrite(pattern, swap))
    assert seen == ["Bgp", "Bgp", "Join", "Bgp", "LeftJoin", "Filter"]


def test_a_rule_that_changes_nothing_gives_back_the_same_object() -> None:
    pattern = pattern_of("?s :p ?o OPTIONAL { ?a :p ?b FILTER(?o = ?b) } FILTER(?o > 1) BIND(1 AS ?x)")
    assert rewrite(pattern, lambda same: same) is pattern
    condition = condition_of("?a + 1 IN (2, COALESCE(?b, !?c)) && -?d = 1")
    assert rewrite_expression(condition, lambda same: same) is condition


def test_rewrite_expression() -> None:
    def rename(expression: Expression) -> Expression:
        return Reference(Variable("z")) if isinstance(expression, Reference) else expression

    condition = condition_of("?a + 1 IN (2, COALESCE(?b, !?c)) && -?d = 1 || ?e")
    assert names(mentioned(rewrite_expression(condition, rename))) == "z"
    assert print_expression(rewrite_expression(condition_of("?a > 1"), rename)) == '(> ?z "1"^^xsd:integer)'


def test_depth_counts_all_sorts_of_nodes() -> None:
    assert depth(Bgp(())) == 1
    assert depth(pattern_of("FILTER(?a + 1 > 2)")) == 4
    assert depth(pattern_of("?s (:p|:q)* ?o")) == 4
    assert depth(pattern_of("FILTER EXISTS { FILTER(1) }")) == 4
    assert depth(pattern_of("SELECT (SUM(?a + 1) AS ?x) { }")) == 5


def test_generated_variables_are_not_visible() -> None:
    assert is_visible(Variable("a"))
    assert not is_visible(Variable(".b0"))


def test_everywhere_reaches_exists_in_every_sort_of_expression() -> None:
    text = (
        f"{PREFIX}SELECT (EXISTS {{ :e :p ?a }} AS ?b) (SUM(IF(EXISTS {{ :f :p ?a }}, 1, 0)) AS ?n) "
        "{ :a :p ?o OPTIONAL { :b :p ?o FILTER EXISTS { :c :p ?o FILTER NOT EXISTS { :d :p ?o } } } } "
        "ORDER BY (EXISTS { :g :p ?a })"
    )
    pattern = parse(text).pattern
    found = [node for node in subpatterns(pattern) if isinstance(node, Bgp)]
    assert len(found) == 7
    emptied = everywhere(pattern, lambda node: Bgp(()) if isinstance(node, Bgp) else node)
    assert [node for node in subpatterns(emptied) if isinstance(node, Bgp)] == [Bgp(())] * 7
    assert everywhere(pattern, lambda node: node) == pattern
