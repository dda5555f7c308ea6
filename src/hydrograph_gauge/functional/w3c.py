"""The W3C's SPARQL 1.1 evaluation tests as cases of R2R: the data of a test is one element of a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from hydrograph.algebra.queries import ContinuousQuery, Dataset, Select
from hydrograph.errors import QueryError
from hydrograph.language import parse
from hydrograph.rdf.terms import BlankNode, Iri, Triple
from hydrograph.temporal import Instant
from hydrograph.windows.stream import Element
from hydrograph_gauge.functional.w3c_answers import read_answer
from hydrograph_gauge.functional.w3c_evaluate import STREAM, WIDTH, in_window
from hydrograph_gauge.functional.w3c_manifest import Entry, Kind, read_tests
from hydrograph_gauge.oracle.dataset import NO_STATIC, Row, StaticData
from hydrograph_gauge.oracle.window_store import term_of
from tests.support.conformance import find_manifest

_AT, _OVER = WIDTH // 2, 2 * WIDTH + 1
_START = -1


@dataclass(frozen=True, slots=True)
class W3cCase:
    """One test of the W3C."""

    name: str
    asked: ContinuousQuery
    triples: frozenset[Triple]
    rows: Counter[Row]
    group: str = "R2R, W3C"
    static: str = ""

    def query(self) -> ContinuousQuery:
        """Return the query in a window."""
        return self.asked

    def elements(self, *, by_clock: bool = False) -> dict[Iri, tuple[Element, ...]]:
        """Return the data, and an element that shows that the window is over."""
        last = Triple(Iri("urn:nothing"), Iri("urn:follows"), Iri("urn:here"))
        first = [Element.of(_START, 0, last)] if by_clock else []
        return {STREAM: (*first, Element(_AT, 1, self.triples), Element.of(_OVER, 2, last))}

    def static_data(self) -> StaticData:
        """Return none."""
        return NO_STATIC

    def expected(self) -> dict[Instant, Counter[Row]]:
        """Return the answer of the W3C."""
        return {WIDTH: self.rows}

    def until(self) -> Instant:
        """Return the end of the window."""
        return WIDTH


def w3c(root: Path) -> Iterator[W3cCase]:
    """Yield the SELECT tests over one graph that a window can hold, of the folder of the W3C's rdf-tests."""
    for test in read_tests(find_manifest(root)):
        if test.kind is not Kind.EVALUATION or test.graphs or test.lax or test.result is None:
            continue
        try:
            query = parse(test.text, "sparql", base=test.query.as_uri())
        except QueryError:
            continue
        answer = read_answer(test.result)
        if not isinstance(query.form, Select) or query.dataset != Dataset() or answer.texts_only:
            continue
        names = tuple(variable.name for variable in query.form.variables)
        if set(answer.variables) != set(names):
            continue
        places = [answer.variables.index(name) for name in names]
        rows = Counter(tuple(row[place] for place in places) for row in answer.rows)
        if triples := _triples(test):  # a window without content need not be reported
            yield W3cCase(test.name, in_window(query), triples, rows)


def _triples(test: Entry) -> frozenset[Triple]:
    found = set()
    for file in test.data:
        for quad in ox.parse(path=file, base_iri=file.as_uri()):
            subject, predicate = term_of(quad.subject), term_of(quad.predicate)
            assert isinstance(subject, Iri | BlankNode)
            assert isinstance(predicate, Iri)
            found.add(Triple(subject, predicate, term_of(quad.object)))
    return frozenset(found)
