"""Recorded data as the oracle sees it: elements and graphs of terms, read without the engine's plans."""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa

from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term, Triple
from hydrograph.streams.sources import RecordedStream, events_as_arrow
from hydrograph.windows.stream import Element


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
