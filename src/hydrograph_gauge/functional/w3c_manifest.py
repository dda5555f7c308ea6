"""Manifests of the W3C's tests: [what a test asks](https://www.w3.org/2001/sw/DataAccess/tests/README) and expects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlparse

import pyoxigraph as ox

from hydrograph.errors import DataError, UsageError

MANIFEST = Path("sparql11") / "manifest-sparql11-query.ttl"
SOURCE = "https://github.com/w3c/rdf-tests"

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

Node: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
"""Node of a manifest."""


class Kind(Enum):
    """What a test asks for; the values are the local names of the test classes."""

    EVALUATION = "QueryEvaluationTest"
    POSITIVE_SYNTAX = "PositiveSyntaxTest11"
    NEGATIVE_SYNTAX = "NegativeSyntaxTest11"


@dataclass(frozen=True, slots=True)
class Entry:
    """One test; files are absolute, and the IRI of a file is its `as_uri()`."""

    name: str
    """The folder of the manifest and the local name of the test: `bind/bind01`."""
    kind: Kind
    query: Path
    data: tuple[Path, ...] = ()
    """What makes up the default graph."""
    graphs: tuple[Path, ...] = ()
    """The named graphs, each named by the IRI of its file."""
    result: Path | None = None
    lax: bool = False
    """Whether REDUCED makes the number of equal rows free."""

    @property
    def text(self) -> str:
        """The text of the query."""
        return self.query.read_text("utf-8")


def read_tests(manifest: Path) -> list[Entry]:
    """Return the tests of a manifest and of all it includes, in their order."""
    return list(_tests(manifest.resolve()))


def _tests(file: Path) -> Iterator[Entry]:
    graph = _Graph(file)
    for head in graph.subjects_of("include"):
        for included in graph.items(head):
            yield from _tests(_path(included))
    for head in graph.subjects_of("entries"):
        for entry in graph.items(head):
            yield _test(file, graph, entry)


def _test(file: Path, graph: _Graph, entry: Node) -> Entry:
    local = str(getattr(entry, "value", entry)).rpartition("#")[2]
    name = f"{file.parent.name}/{local}"
    kind = graph.one(entry, RDF + "type", name)
    try:
        known = Kind(str(getattr(kind, "value", kind)).removeprefix(MF))
    except ValueError:
        kinds = ", ".join(one.value for one in Kind)
        raise DataError(f"{file}: {name} is a {kind}; known kinds of tests: {kinds}") from None
    action = graph.one(entry, MF + "action", name)
    queries = graph.objects(action, QT + "query") or [action]
    results = graph.objects(entry, MF + "result")
    lax = any(str(term).endswith("LaxCardinality>") for term in graph.objects(entry, MF + "resultCardinality"))
    return Entry(
        name,
        known,
        _path(queries[0]),
        tuple(map(_path, graph.objects(action, QT + "data"))),
        tuple(map(_path, graph.objects(action, QT + "graphData"))),
        _path(results[0]) if results else None,
        lax,
    )


class _Graph:
    """One manifest as a graph."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._store = ox.Store()
        try:
            self._store.load(path=file, format=ox.RdfFormat.TURTLE, base_iri=file.as_uri())
        except (OSError, SyntaxError) as error:
            raise DataError(f"{file}: expected a manifest of tests, got: {error}") from None

    def objects(self, subject: Node, predicate: str) -> list[Node]:
        """Return the objects of a subject, in the order of their IRIs where there are several."""
        assert isinstance(subject, ox.NamedNode | ox.BlankNode)
        quads = self._store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return sorted((quad.object for quad in quads), key=str)

    def one(self, subject: Node, predicate: str, name: str) -> Node:
        """Return the one object of a subject."""
        found = self.objects(subject, predicate)
        if len(found) != 1:
            raise DataError(f"{self._file}: expected one <{predicate}> of {name}, got {len(found)}")
        return found[0]

    def subjects_of(self, local: str) -> list[Node]:
        """Return the heads of the lists that the manifest gives under a name of its vocabulary."""
        return [quad.object for quad in self._store.quads_for_pattern(None, ox.NamedNode(MF + local), None)]

    def items(self, head: Node) -> Iterator[Node]:
        """Yield the members of a list."""
        while head != ox.NamedNode(RDF + "nil"):
            yield self.one(head, RDF + "first", "a list")
            head = self.one(head, RDF + "rest", "a list")


def _path(term: Node) -> Path:
    if not isinstance(term, ox.NamedNode) or not term.value.startswith("file:"):
        raise DataError(f"expected the IRI of a file beside the manifest, got {term}")
    return Path(unquote(urlparse(term.value).path))


def find_manifest(root: Path) -> Path:
    """Return the manifest of the query tests below `root`, or below its folder `sparql`."""
    for folder in (root, root / "sparql"):
        if (folder / MANIFEST).is_file():
            return folder / MANIFEST
    raise UsageError(f"{root}: no {MANIFEST}; clone {SOURCE} and give the path of its folder sparql")
