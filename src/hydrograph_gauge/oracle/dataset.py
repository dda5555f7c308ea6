"""Data of the oracle: the dataset that an evaluator sees at one report (A9), recorded input, and rows of answers.

Recorded data is read as elements and graphs of terms, without the engine's plans. A row is a tuple of terms, or of
their texts in N-Triples, which are cheaper to keep and to compare.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from hydrograph.algebra.queries import ContinuousQuery, NamedWindow
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term, Triple
from hydrograph.streams.sources import RecordedStream, events_as_arrow
from hydrograph.windows.stream import Element, Graph
from hydrograph_gauge.run_records import RowText

Row: TypeAlias = tuple[Term | None, ...]
"""One solution in the order of SELECT; None is unbound."""

Answer: TypeAlias = tuple[Row, ...]
"""All solutions in the evaluator's order; ASK gives one row of one boolean."""

TripleText: TypeAlias = tuple[str, str, str]
"""A triple as its terms in N-Triples."""


@dataclass(frozen=True, slots=True)
class StaticData:
    """The data that does not stream: a default graph and named graphs (S27)."""

    default: Graph = frozenset()
    named: Mapping[Iri, Graph] = field(default_factory=dict)


NO_STATIC = StaticData()


@dataclass(frozen=True, slots=True)
class Dataset:
    """An RDF dataset; empty named graphs exist too, as windows without content do (A9)."""

    default: Graph = frozenset()
    named: tuple[tuple[Iri, Graph], ...] = ()


Evaluator: TypeAlias = Callable[[str, Dataset], Answer]
"""Answers a plain SPARQL query over a dataset."""


def static_names(query: ContinuousQuery, static: StaticData) -> tuple[Iri, ...]:
    """Return the static named graphs a query sees: those it names, or all if it names no graph at all."""
    if query.dataset.default or query.dataset.named:
        return tuple(name for name in query.dataset.named if name in static.named)
    return tuple(static.named)


def dataset_of(query: ContinuousQuery, static: StaticData, contents: Iterable[tuple[NamedWindow, Graph]]) -> Dataset:
    """Return the dataset of one report: a graph for each named window, the others merged into the default one (A4)."""
    default = static.default.union(*(static.named.get(name, frozenset()) for name in query.dataset.default))
    named = [(name, static.named[name]) for name in static_names(query, static)]
    for window, graph in contents:
        if window.name is None:
            default |= graph
        else:
            named.append((window.name, graph))
    return Dataset(default, tuple(named))


def elements_of(stream: RecordedStream) -> tuple[Element, ...]:
    """Return the elements of a recorded stream in the order of its log."""
    graphs: dict[tuple[int, int], set[Triple]] = defaultdict(set)
    known: dict[str, Term] = {}
    for batch in events_as_arrow(stream):
        rows = (batch.column(name).to_pylist() for name in ("t", "seq", "s", "p", "o"))
        for t, seq, s, p, o in zip(*rows, strict=True):
            graphs[t, seq].add(_triple(s, p, o, known))
    ordered = sorted(graphs.items(), key=lambda item: item[0][1])
    return tuple(Element(t, seq, frozenset(triples)) for (t, seq), triples in ordered)


def graph_of(table: pa.Table) -> frozenset[Triple]:
    """Return the triples of an encoded static graph."""
    rows = (table.column(name).to_pylist() for name in ("s", "p", "o"))
    known: dict[str, Term] = {}
    return frozenset(_triple(s, p, o, known) for s, p, o in zip(*rows, strict=True))


def _triple(s: str, p: str, o: str, known: dict[str, Term]) -> Triple:
    """Return a triple; terms that come again are the same object, which saves most of the memory."""
    subject, predicate, object_ = (known.get(text) or known.setdefault(text, decode(text)) for text in (s, p, o))
    assert isinstance(subject, Iri | BlankNode), s
    assert isinstance(predicate, Iri), p
    assert isinstance(object_, Iri | BlankNode | Literal), o
    return Triple(subject, predicate, object_)


def row_text(row: Row) -> RowText:
    """Return a row as texts."""
    return tuple(None if term is None else term_text(term) for term in row)


def row_terms(row: RowText) -> Row:
    """Return a row of texts as terms."""
    return tuple(None if text is None else decode(text) for text in row)


def texts_of(rows: Counter[Row]) -> Counter[RowText]:
    """Return rows of terms as rows of texts."""
    return Counter({row_text(row): count for row, count in rows.items()})


def terms_of(rows: Counter[RowText]) -> Counter[Row]:
    """Return rows of texts as rows of terms; texts of one term may differ."""
    terms: Counter[Row] = Counter()
    for row, count in rows.items():
        terms[row_terms(row)] += count
    return terms
