"""Known bugs of pyoxigraph, each with a query that shows it.

A difference between engine and oracle that rdflib settles for the engine must be one of these; review a new one
by hand and then add it. The tests ask both evaluators, so that an entry which a new version has fixed shows up.
"""

from __future__ import annotations

from dataclasses import dataclass

from hydrograph.rdf.terms import Iri, Literal, Object, Triple
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_INTEGER
from hydrograph_gauge.oracle.dataset import Answer, Dataset

_PREFIX = "PREFIX : <http://example.org/> "


@dataclass(frozen=True, slots=True)
class KnownBug:
    """One known error of pyoxigraph: what it answers differs from `right`."""

    name: str
    reason: str
    text: str
    dataset: Dataset
    right: Answer
    rdflib_is_right: bool = True


def _iri(name: str) -> Iri:
    return Iri(f"http://example.org/{name}")


def _graph(*triples: tuple[str, str, Object]) -> frozenset[Triple]:
    return frozenset(Triple(_iri(subject), _iri(predicate), object_) for subject, predicate, object_ in triples)


_PAIR = Dataset(_graph(("s0", "p0", _iri("s2")), ("s0", "p1", _iri("s1"))))

KNOWN_BUGS = (
    KnownBug(
        "exists sees siblings",
        "EXISTS in an inner group is evaluated with bindings of a sibling group, if that is VALUES or has a LIMIT",
        _PREFIX + "SELECT ?a { { ?c :p0 :s2 FILTER EXISTS { ?c :p1 ?a } } { VALUES (?a ?c) { (:s2 :s0) } } }",
        _PAIR,
        ((_iri("s2"),),),
    ),
    KnownBug(
        "not exists sees siblings",
        "the same for NOT EXISTS, which then keeps a row too many",
        _PREFIX + "SELECT ?a { { ?c :p0 :s2 FILTER NOT EXISTS { ?c :p1 ?a } } { VALUES (?a ?c) { (:s2 :s0) } } }",
        _PAIR,
        (),
    ),
    KnownBug(
        "order of equal IRIs",
        "a term compared with itself by < or <= is false or true, where IRIs have no order and the result is an error",
        'SELECT (COALESCE(?v <= ?v, "error") AS ?x) { VALUES ?v { <http://example.org/s0> } }',
        Dataset(),
        ((Literal("error"),),),
    ),
    KnownBug(
        "zero steps from an absent constant",
        "a path of length zero joins a constant with itself, whether or not the graph mentions it",
        _PREFIX + "ASK { :o :p* :o }",
        Dataset(),
        ((Literal("true", XSD_BOOLEAN),),),
    ),
    KnownBug(
        "one variable end and an absent constant",
        "the same with p? and one free end",
        _PREFIX + "SELECT ?s { ?s :p? :o }",
        Dataset(),
        ((_iri("o"),),),
    ),
    KnownBug(
        "equality at the end of a path",
        "the start of a path is taken for an IRI, and = and != for a comparison of terms; with p* it may be a number",
        _PREFIX + "SELECT ?c { ?c :p0* ?b FILTER(?c != 2.0 && ISNUMERIC(?c)) }",
        Dataset(_graph(("s2", "p1", Literal("2", XSD_INTEGER)))),
        (),
    ),
    KnownBug(
        "MINUS counts the graph variable",
        "in GRAPH ?g { A MINUS { B } } the variable ?g is bound after MINUS, so it is not shared by A and B",
        _PREFIX + "SELECT ?s { GRAPH ?g { ?s :p0 ?o MINUS { ?t :p1 ?x } } }",
        Dataset(named=((_iri("g"), _graph(("s0", "p0", _iri("s2")), ("s1", "p1", _iri("s1")))),)),
        ((_iri("s0"),),),
    ),
    KnownBug(
        "name of no graph",
        "GRAPH with a name outside the data set has no solution, whatever its pattern; both check it for triples only",
        _PREFIX + "SELECT ?x { GRAPH :none { VALUES ?x { :s0 } } }",
        _PAIR,
        (),
        rdflib_is_right=False,
    ),
    KnownBug(
        "MINUS counts variables bound outside",
        "a value bound outside enters both sides of MINUS in an OPTIONAL, so they share it and rows go; rdflib too",
        _PREFIX + "SELECT ?b { VALUES ?c { :s0 } { ?a :p0 ?c OPTIONAL { ?b :p1 ?a MINUS { ?d :p0 :s0 } } } }",
        Dataset(_graph(("s2", "p0", _iri("s0")), ("s1", "p1", _iri("s2")))),
        ((_iri("s1"),),),
        rdflib_is_right=False,
    ),
    KnownBug(
        "lexical forms are lost",
        "numbers are stored by value, so 01 comes back as 1",
        _PREFIX + "SELECT ?o { :s :p ?o }",
        Dataset(_graph(("s", "p", Literal("01", XSD_INTEGER)))),
        ((Literal("01", XSD_INTEGER),),),
    ),
    KnownBug(
        "equal numbers match as terms",
        "by the same storage a pattern with 1 matches the other term 01 (S5)",
        _PREFIX + "SELECT ?s { ?s :p 1 }",
        Dataset(_graph(("s", "p", Literal("01", XSD_INTEGER)))),
        (),
    ),
    KnownBug(
        "integers of 64 bits",
        "a sum beyond 64 bits is an error, where xsd:integer has no bounds",
        "SELECT (9223372036854775807 + 1 AS ?x) {}",
        Dataset(),
        ((Literal("9223372036854775808", XSD_INTEGER),),),
    ),
    KnownBug(
        "GROUP_CONCAT keeps a language",
        "GROUP_CONCAT makes a simple literal, here it is tagged if all parts are",
        'SELECT (GROUP_CONCAT(?v) AS ?x) { VALUES ?v { "a"@en "b"@en } }',
        Dataset(),
        ((Literal("a b"),),),
    ),
)
