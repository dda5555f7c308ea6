"""Arbiter between engine and oracle: where they differ, rdflib evaluates the query too.

rdflib is slower and has its own errors, but different ones. It is optional: without it there is no second opinion.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import RunError
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_STRING
from hydrograph_gauge.oracle.compare import Comparison, compare, compare_reports
from hydrograph_gauge.oracle.dataset import NO_STATIC, Answer, Dataset, Row, StaticData
from hydrograph_gauge.oracle.evaluate import Report, Streams, evaluate_reports

if TYPE_CHECKING:
    from rdflib import Graph as RdflibGraph


class ArbiterVerdict(StrEnum):
    """Who is right about the answer of an engine."""

    AGREED = "engine and pyoxigraph agree"
    ORACLE_ERROR = "engine and rdflib agree; pyoxigraph is wrong"
    ENGINE_ERROR = "pyoxigraph and rdflib agree; the engine is wrong"
    UNDECIDED = "three answers; a person must look"


def arbitrate(
    query: ContinuousQuery,
    elements: Streams,
    got: Sequence[Report],
    static: StaticData = NO_STATIC,
    **options: Any,
) -> ArbiterVerdict:
    """Return who is right; `options` are those of `evaluate_reports`."""
    first = evaluate_reports(query, elements, static, **options)
    if not compare_reports(first, got):
        return ArbiterVerdict.AGREED
    second = evaluate_reports(query, elements, static, **options, evaluator=answer)
    if not compare_reports(second, got):
        return ArbiterVerdict.ORACLE_ERROR
    return ArbiterVerdict.UNDECIDED if compare_reports(first, second) else ArbiterVerdict.ENGINE_ERROR


def decide(
    first: Counter[Row], second: Counter[Row], got: Counter[Row], by: Comparison = Comparison.EXACT
) -> ArbiterVerdict:
    """Return who is right about one report, given what pyoxigraph, rdflib and the engine say."""
    if not compare(first, got, by):
        return ArbiterVerdict.AGREED
    if not compare(second, got, by):
        return ArbiterVerdict.ORACLE_ERROR
    return ArbiterVerdict.UNDECIDED if compare(first, second, by) else ArbiterVerdict.ENGINE_ERROR


@lru_cache(maxsize=2_000)
def answer(text: str, dataset: Dataset) -> Answer:
    """Evaluate a SELECT or ASK query with rdflib."""
    try:
        import rdflib
    except ImportError:
        raise RunError("arbitration needs rdflib; install it with: pip install rdflib") from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib uses its own deprecated names
        data = rdflib.Dataset()
        _fill(data.default_graph, dataset.default)
        for name, graph in dataset.named:
            _fill(data.graph(rdflib.URIRef(name.value)), graph)
        found = data.query(_prepared(text))
        if found.type == "ASK":
            return ((Literal("true" if found.askAnswer else "false", XSD_BOOLEAN),),)
        rows: list[Any] = list(found)
    return tuple(tuple(_term(row[variable]) for variable in found.vars or ()) for row in rows)


@lru_cache(maxsize=200)
def _prepared(text: str) -> Any:
    """Parse a query once for all its reports: with rdflib that costs more than evaluating it."""
    from rdflib.plugins.sparql import prepareQuery

    return prepareQuery(text)


def _fill(target: RdflibGraph, graph: Any) -> None:
    for triple in graph:
        target.add((_node(triple.subject), _node(triple.predicate), _node(triple.object)))


def _node(term: Term) -> Any:
    import rdflib

    if isinstance(term, Iri):
        return rdflib.URIRef(term.value)
    if isinstance(term, BlankNode):
        return rdflib.BNode(term.label)
    if term.language is not None:
        return rdflib.Literal(term.lexical, lang=term.language)
    datatype = None if term.datatype == XSD_STRING else rdflib.URIRef(term.datatype)
    return rdflib.Literal(term.lexical, datatype=datatype, normalize=False)


def _term(node: Any) -> Term | None:
    import rdflib

    if node is None:
        return None
    if isinstance(node, rdflib.URIRef):
        return Iri(str(node))
    if isinstance(node, rdflib.BNode):
        return BlankNode(str(node))
    if node.language is not None:
        return Literal.tagged(str(node), node.language)
    return Literal(str(node), XSD_STRING if node.datatype is None else str(node.datatype))
