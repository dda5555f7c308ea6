"""Sliding RDF dataset in [pyoxigraph](https://pyoxigraph.readthedocs.io): static data, and windows as changing graphs.

All that evaluates windows with pyoxigraph slides this store: the oracle, the judge's evidence, the `oxigraph` engines
and the baseline of the replay benchmark. Conversions between pyoxigraph's terms and ours are here too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

import pyoxigraph as ox

from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Subject, Term, Triple
from hydrograph.rdf.vocab import XSD_BOOLEAN
from hydrograph_gauge.oracle.dataset import Answer, Dataset, TripleText
from hydrograph_gauge.run_records import RowText

GraphName: TypeAlias = ox.NamedNode | ox.DefaultGraph
Node: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
TripleForm = TypeVar("TripleForm", bound=object)
"""A triple as the owner of a store keeps it: hashable, and cheap to hash."""

_CACHED = 20_000


class WindowStore(Generic[TripleForm]):
    """Store with static graphs and windows.

    Contract:

    - Add static data before the first window is opened. Static triples never leave.
    - A window has a graph. Several windows may share a graph with each other and with static data.
    - `add` and `remove` count copies: a triple leaves its graph with its last copy in the last window (S3). Only
      triples that were added may be removed.
    - A graph exists from `open_window` on, also while it is empty (A9).
    - `to_quad` is called for a triple that enters or leaves its graph, not for every copy.
    """

    def __init__(self, to_quad: Callable[[TripleForm, GraphName], ox.Quad]) -> None:
        """Create an empty store; `to_quad` converts a triple of the owner."""
        self._store = ox.Store()
        self._to_quad = to_quad
        self._static: dict[GraphName, list[Iterable[TripleForm]]] = {}
        self._graphs: list[GraphName] = []
        """By window."""
        self._copies: list[Counter[TripleForm]] = []
        """By window: how often it holds a triple."""
        self._holders: dict[GraphName, Counter[TripleForm]] = {}
        """By graph with several holders: how many windows hold a triple; static data is one more holder."""

    def add_static(self, graph: GraphName, triples: Sequence[TripleForm] | frozenset[TripleForm]) -> None:
        """Add triples that never leave; the graph exists from now on."""
        assert not self._graphs, "static data comes before windows"
        self._store.add_graph(graph)
        self._store.extend([self._to_quad(triple, graph) for triple in triples])
        self._static.setdefault(graph, []).append(triples)

    def load_static(self, graph: GraphName, file: str) -> None:
        """Load a file of N-Triples into a graph that no window may share."""
        self._store.bulk_load(path=file, format=ox.RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)

    def open_window(self, graph: GraphName) -> int:
        """Return the number of a new, empty window on a graph."""
        if graph not in self._holders and (graph in self._static or graph in self._graphs):
            holders = self._holders[graph] = Counter()
            for triples in self._static.get(graph, []):
                holders.update(dict.fromkeys(triples, 1))
            for number, other in enumerate(self._graphs):
                if other == graph:
                    holders.update(self._copies[number].keys())
        self._store.add_graph(graph)
        self._graphs.append(graph)
        self._copies.append(Counter())
        return len(self._graphs) - 1

    def size(self, window: int) -> int:
        """Return the number of distinct triples in a window."""
        return len(self._copies[window])

    def add(self, window: int, triples: Iterable[TripleForm]) -> None:
        """Add triples to a window, one copy of each."""
        graph, copies = self._graphs[window], self._copies[window]
        holders = self._holders.get(graph)
        entering = []
        for triple in triples:
            count = copies[triple] = copies[triple] + 1
            if count == 1 and (holders is None or _add_copy(holders, triple)):
                entering.append(self._to_quad(triple, graph))
        self.insert(entering)

    def remove(self, window: int, triples: Iterable[TripleForm]) -> None:
        """Remove triples from a window, one copy of each."""
        graph, copies = self._graphs[window], self._copies[window]
        holders = self._holders.get(graph)
        for triple in triples:
            if _remove_copy(copies, triple) and (holders is None or _remove_copy(holders, triple)):
                self._store.remove(self._to_quad(triple, graph))

    def insert(self, quads: Sequence[ox.Quad]) -> None:
        """Insert quads without counting; for an owner whose windows never hold a triple twice."""
        self._store.extend(quads)

    def delete(self, quads: Iterable[ox.Quad]) -> None:
        """Delete quads without counting: the counterpart of `insert`."""
        for quad in quads:
            self._store.remove(quad)

    def select(self, text: str) -> ox.QuerySolutions:
        """Evaluate a SELECT query."""
        solutions = self._store.query(text)
        assert isinstance(solutions, ox.QuerySolutions), "CONSTRUCT and DESCRIBE are asked as SELECT"
        return solutions

    def answer(self, text: str) -> Answer:
        """Evaluate a SELECT or ASK query; return rows of terms."""
        result = self._store.query(text)
        if isinstance(result, ox.QueryBoolean):
            return ((_boolean(value=bool(result)),),)
        assert isinstance(result, ox.QuerySolutions), "CONSTRUCT and DESCRIBE are asked as SELECT"
        return tuple(tuple(None if node is None else term_of(node) for node in solution) for solution in result)

    def answer_text(self, text: str) -> Iterator[RowText]:
        """Evaluate a SELECT or ASK query; yield rows as texts, which is cheaper than terms."""
        result = self._store.query(text)
        if isinstance(result, ox.QueryBoolean):
            yield (term_text(_boolean(value=bool(result))),)
            return
        assert isinstance(result, ox.QuerySolutions), "CONSTRUCT and DESCRIBE are asked as SELECT"
        for solution in result:
            yield tuple([None if node is None else _node_text(node) for node in solution])


def _add_copy(counts: Counter[TripleForm], triple: TripleForm) -> bool:
    """Count one copy more, and tell whether it is the first."""
    counts[triple] += 1
    return counts[triple] == 1


def _remove_copy(counts: Counter[TripleForm], triple: TripleForm) -> bool:
    """Count one copy less, and tell whether it was the last."""
    counts[triple] -= 1
    if counts[triple]:
        return False
    del counts[triple]
    return True


def _boolean(*, value: bool) -> Literal:
    return Literal("true" if value else "false", XSD_BOOLEAN)


@lru_cache(maxsize=_CACHED)
def evaluate(text: str, dataset: Dataset) -> Answer:
    """Evaluate a SELECT or ASK query over a dataset; equal contents are evaluated once."""
    return load_dataset(dataset).answer(text)


def load_dataset(dataset: Dataset) -> WindowStore[Triple]:
    """Return a store that holds a dataset, to be asked several queries."""
    store = WindowStore(quad_of)
    store.add_static(ox.DefaultGraph(), dataset.default)
    for name, graph in dataset.named:
        store.add_static(ox.NamedNode(name.value), graph)
    return store


def graph_name(name: Iri | None) -> GraphName:
    """Return the graph of a name, None for the default graph."""
    return ox.DefaultGraph() if name is None else ox.NamedNode(name.value)


def quad_of(triple: Triple, graph: GraphName) -> ox.Quad:
    """Return a triple as a quad of pyoxigraph."""
    return ox.Quad(_subject_node(triple.subject), ox.NamedNode(triple.predicate.value), node_of(triple.object), graph)


@dataclass(slots=True)
class TextQuads:
    """Conversion of triples in N-Triples to quads; nodes are made once for each text."""

    _nodes: dict[str, Node] = field(default_factory=dict)

    def __call__(self, triple: TripleText, graph: GraphName) -> ox.Quad:
        """Return a triple as a quad."""
        s, p, o = (self._node(text) for text in triple)
        assert not isinstance(s, ox.Literal)
        assert isinstance(p, ox.NamedNode)
        return ox.Quad(s, p, o, graph)

    def _node(self, text: str) -> Node:
        node = self._nodes.get(text)
        if node is None:
            node = self._nodes[text] = _new_node(decode(text))
        return node


@lru_cache(maxsize=_CACHED)
def node_of(term: Term) -> Node:
    """Return a term as a node of pyoxigraph."""
    return _new_node(term)


def _new_node(term: Term) -> Node:
    if not isinstance(term, Literal):
        return _subject_node(term)
    if term.language is not None:
        return ox.Literal(term.lexical, language=term.language)
    return ox.Literal(term.lexical, datatype=ox.NamedNode(term.datatype))


def _subject_node(term: Subject) -> ox.NamedNode | ox.BlankNode:
    # Labels are written in hexadecimal: Oxigraph allows fewer characters in them than scoped labels have (S4).
    return ox.NamedNode(term.value) if isinstance(term, Iri) else ox.BlankNode("h" + term.label.encode().hex())


def term_of(node: Node | ox.Triple) -> Term:
    """Return a node of pyoxigraph as a term."""
    if isinstance(node, ox.NamedNode):
        return Iri(node.value)
    if isinstance(node, ox.BlankNode):
        label = node.value
        return BlankNode(bytes.fromhex(label[1:]).decode() if label.startswith("h") else label)
    assert isinstance(node, ox.Literal), "triple terms are not part of RDF 1.1"
    if node.language is not None:
        return Literal.tagged(node.value, node.language)
    return Literal(node.value, node.datatype.value)


def _node_text(node: object) -> str:
    """Return a node in N-Triples, a label as `_subject_node` was given it."""
    text = str(node)
    return "_:" + bytes.fromhex(text[3:]).decode() if text.startswith("_:h") else text
