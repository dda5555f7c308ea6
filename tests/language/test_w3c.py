"""The query tests of the W3C: syntax, and every query of the evaluation tests.

The suite is not part of this repository: set W3C to the folder `sparql` of a checkout of
https://github.com/w3c/rdf-tests, or to any folder that holds its `sparql11`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlparse

import pyoxigraph
import pytest

from hydrograph.errors import HydrographError
from hydrograph.language import parse, print_query, print_sparql

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
COUNTS = {"PositiveSyntaxTest11": 63, "NegativeSyntaxTest11": 40, "QueryEvaluationTest": 225}

ROOT = os.environ.get("W3C", "")
SUITE = Path(ROOT) / "sparql11"
without_suite = pytest.mark.skipif(
    not (SUITE / "manifest-sparql11-query.ttl").is_file(),
    reason="set W3C to the folder `sparql` of a checkout of https://github.com/w3c/rdf-tests to run its tests",
)

UNEQUAL = ("RAND", "UUID", "NOW", "BNODE")
"""Functions whose answers differ from run to run."""


class Entry(NamedTuple):
    """One test of a manifest."""

    kind: str
    query: Path
    data: tuple[Path, ...]
    named: tuple[Path, ...]

    def text(self) -> str:
        """Return the query."""
        return self.query.read_text(encoding="utf-8")


def path_of(term: object) -> Path:
    """Return the file a manifest names."""
    assert isinstance(term, pyoxigraph.NamedNode)
    return Path(unquote(urlparse(term.value).path))


class Manifest:
    """One manifest as a graph."""

    def __init__(self, file: Path) -> None:
        """Read `file`."""
        self._store = pyoxigraph.Store()
        self._store.load(path=file, format=pyoxigraph.RdfFormat.TURTLE, base_iri=file.as_uri())

    def objects(self, subject: object, predicate: str) -> list[object]:
        """Return the objects of a subject, or of all."""
        quads = self._store.quads_for_pattern(subject, pyoxigraph.NamedNode(predicate), None)  # type: ignore[arg-type]
        return [quad.object for quad in quads]

    def items(self, head: object) -> Iterator[object]:
        """Yield the members of a list."""
        while head != pyoxigraph.NamedNode(RDF + "nil"):
            yield self.objects(head, RDF + "first")[0]
            (head,) = self.objects(head, RDF + "rest")


def entries_of(file: Path) -> Iterator[Entry]:
    """Yield the tests of a manifest and of those it includes."""
    manifest = Manifest(file)
    for head in manifest.objects(None, MF + "include"):
        for included in manifest.items(head):
            yield from entries_of(path_of(included))
    for head in manifest.objects(None, MF + "entries"):
        for test in manifest.items(head):
            (action,) = manifest.objects(test, MF + "action")
            queries = manifest.objects(action, QT + "query") or [action]
            (kind,) = manifest.objects(test, RDF + "type")
            assert isinstance(kind, pyoxigraph.NamedNode)
            yield Entry(
                kind.value.removeprefix(MF),
                path_of(queries[0]),
                tuple(map(path_of, manifest.objects(action, QT + "data"))),
                tuple(map(path_of, manifest.objects(action, QT + "graphData"))),
            )


@cache
def suite() -> tuple[Entry, ...]:
    """Return all query tests, or none where the suite is missing."""
    file = SUITE / "manifest-sparql11-query.ttl"
    return tuple(entries_of(file.resolve())) if file.is_file() else ()


def named(kind: str) -> list[object]:
    """Return the tests of a kind as parameters."""
    tests = [test for test in suite() if test.kind == kind]
    return [pytest.param(test, id=f"{test.query.parent.name}/{test.query.stem}") for test in tests] or [
        pytest.param(None, marks=without_suite, id="no suite")
    ]


@without_suite
def test_the_suite_is_whole() -> None:
    assert Counter(test.kind for test in suite()) == COUNTS


@pytest.mark.parametrize("test", named("PositiveSyntaxTest11"))
def test_positive_syntax(test: Entry) -> None:
    query = parse(test.text(), "sparql", base=test.query.as_uri())
    assert parse(print_query(query)) == query


@pytest.mark.parametrize("test", named("NegativeSyntaxTest11"))
def test_negative_syntax(test: Entry) -> None:
    with pytest.raises(HydrographError, match=r"line [0-9]+, column [0-9]+: "):
        parse(test.text(), "sparql", base=test.query.as_uri())


@pytest.mark.parametrize("test", named("QueryEvaluationTest"))
def test_evaluation_queries(test: Entry) -> None:
    query = parse(test.text(), "sparql", base=test.query.as_uri())
    assert parse(print_query(query)) == query


@pytest.mark.parametrize("test", named("QueryEvaluationTest"))
def test_what_is_printed_means_the_same(test: Entry) -> None:
    """An evaluator of its own answers the text and what is printed of its algebra alike."""
    if "FROM" in test.text():
        pytest.skip("names its data itself")
    store = pyoxigraph.Store()
    for file in test.data:
        store.load(path=file, base_iri=file.as_uri())
    for file in test.named:
        store.load(path=file, base_iri=file.as_uri(), to_graph=pyoxigraph.NamedNode(file.as_uri()))
    printed = print_sparql(parse(test.text(), "sparql", base=test.query.as_uri()))
    # pyoxigraph accepts no relative IRIs: give it the base as the text itself would.
    given = answers(store, f"BASE <{test.query.as_uri()}>\n{test.text()}")
    found = answers(store, printed)
    if any(word in test.text().upper() for word in UNEQUAL):
        assert len(found) == len(given)
    else:
        assert found == given


def answers(store: pyoxigraph.Store, text: str) -> Counter[str]:
    """Return the answers as a bag of texts."""
    result = store.query(text)
    if isinstance(result, pyoxigraph.QueryBoolean):
        return Counter([str(bool(result))])
    if isinstance(result, pyoxigraph.QueryTriples):
        return Counter(re.sub(r"_:\w+", "_:", str(triple)) for triple in result)  # new blank nodes in each run
    columns = sorted(range(len(result.variables)), key=lambda n: result.variables[n].value)
    return Counter(" ".join(str(row[n]) for n in columns) for row in result)
