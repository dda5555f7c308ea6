"""Answers from [pyoxigraph](https://pyoxigraph.readthedocs.io), the oracle's first evaluator."""

from __future__ import annotations

from functools import lru_cache

import pyoxigraph as ox

from hydrograph.rdf.terms import BlankNode, Iri, Literal, Subject, Term, Triple
from hydrograph.rdf.vocab import XSD_BOOLEAN
from hydrograph.windows.stream import Graph
from hydrograph_gauge.oracle.dataset import Answer, Dataset

_CACHED = 20_000


@lru_cache(maxsize=_CACHED)
def answer(text: str, dataset: Dataset) -> Answer:
    """Evaluate a SELECT or ASK query; equal contents are evaluated once."""
    return ask(text, store_of(dataset))


def store_of(dataset: Dataset) -> ox.Store:
    """Return a dataset in a store, to be asked several queries."""
    store = ox.Store()
    store.extend(_quads(dataset.default, ox.DefaultGraph()))
    for name, graph in dataset.named:
        node = ox.NamedNode(name.value)
        store.add_graph(node)
        store.extend(_quads(graph, node))
    return store


def ask(text: str, store: ox.Store) -> Answer:
    """Evaluate a SELECT or ASK query over a store."""
    found = store.query(text)
    if isinstance(found, ox.QueryBoolean):
        return ((Literal("true" if found else "false", XSD_BOOLEAN),),)
    assert isinstance(found, ox.QuerySolutions), "CONSTRUCT and DESCRIBE are asked as SELECT"
    return tuple(tuple(None if value is None else term_of(value) for value in solution) for solution in found)


def _quads(graph: Graph, name: ox.NamedNode | ox.DefaultGraph) -> list[ox.Quad]:
    return [quad_of(triple, name) for triple in graph]


def quad_of(triple: Triple, graph: ox.NamedNode | ox.DefaultGraph) -> ox.Quad:
    """Return a triple as a quad of pyoxigraph."""
    return ox.Quad(_subject(triple.subject), ox.NamedNode(triple.predicate.value), _object(triple.object), graph)


# Labels are written as hexadecimal: Oxigraph allows fewer characters in them than scoped labels have (S4).


def _subject(term: Subject) -> ox.NamedNode | ox.BlankNode:
    return ox.NamedNode(term.value) if isinstance(term, Iri) else ox.BlankNode("h" + term.label.encode().hex())


@lru_cache(maxsize=_CACHED)
def _object(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if not isinstance(term, Literal):
        return _subject(term)
    if term.language is not None:
        return ox.Literal(term.lexical, language=term.language)
    return ox.Literal(term.lexical, datatype=ox.NamedNode(term.datatype))


def term_of(node: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
    """Return a term of pyoxigraph as one of ours."""
    if isinstance(node, ox.NamedNode):
        return Iri(node.value)
    if isinstance(node, ox.BlankNode):
        label = node.value
        return BlankNode(bytes.fromhex(label[1:]).decode() if label.startswith("h") else label)
    assert isinstance(node, ox.Literal), "triple terms are not part of RDF 1.1"
    if node.language is not None:
        return Literal.tagged(node.value, node.language)
    return Literal(node.value, node.datatype.value)
