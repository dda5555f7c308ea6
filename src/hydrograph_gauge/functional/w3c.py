"""The W3C's SPARQL 1.1 evaluation tests as cases of R2R: the data of a test is one element of a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox

from hydrograph.algebra.expressions import Exists, Expression, Reference
from hydrograph.algebra.nodes import Distinct, OrderBy, Pattern, Project, Reduced, Slice, Window
from hydrograph.algebra.queries import ContinuousQuery, Dataset, NamedWindow, Select
from hydrograph.algebra.walk import rewrite_expression, with_expressions
from hydrograph.algebra.windows import TimeWindow
from hydrograph.api import Query
from hydrograph.errors import DataError, QueryError
from hydrograph.language import parse
from hydrograph.rdf.terms import BlankNode, Iri, Triple
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph.streams.static_graphs import StaticGraphs, read_graphs
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.stream import Element
from hydrograph_gauge.functional.w3c_answers import QueryResult, read_answer
from hydrograph_gauge.functional.w3c_manifest import Entry, Kind, find_manifest, read_tests
from hydrograph_gauge.oracle.dataset import NO_STATIC, Row, StaticData
from hydrograph_gauge.oracle.window_store import term_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


STREAM = Iri("urn:hydrograph:conformance:stream")
WINDOW = Iri("urn:hydrograph:conformance:window")
WIDTH = 1_000
_EVENT_TIME = 500
Modifier: TypeAlias = Slice | Distinct | Reduced | Project | OrderBy


@dataclass(slots=True)
class Data:
    """The data of tests as the engine reads it, written once below `folder` however many tests share it."""

    folder: Path
    _written: dict[tuple[Path, ...], Path] = field(default_factory=dict)

    def element(self, files: tuple[Path, ...]) -> RecordedStream:
        """Return the stream whose one element holds the triples of all files."""
        if files not in self._written:
            target = self.folder / f"element{len(self._written)}.tnt"
            lines = (f"{_EVENT_TIME}:1\t{statement}\n" for statement in _statements(files))
            target.write_text("".join(lines), encoding="utf-8")
            self._written[files] = target
        return open_stream(str(self._written[files]), name=STREAM.value)

    def named(self, graphs: Mapping[Iri, Path]) -> StaticGraphs:
        """Return static named graphs."""
        sources: list[tuple[str | None, str]] = []
        for name, file in graphs.items():
            # RDF/XML too, which the engine itself does not read.
            target = self.folder / f"graph{len(sources)}.nt"
            target.write_text("".join(f"{statement}\n" for statement in _statements((file,))), encoding="utf-8")
            sources.append((name.value, str(target)))
        return StaticGraphs(None, read_graphs(sources).named or {})


def _statements(files: tuple[Path, ...]) -> Iterator[str]:
    """Yield the triples of files as N-Triples, each once; blank nodes of different files differ."""
    found: dict[str, None] = {}
    for number, file in enumerate(files):
        for quad in ox.parse(path=file, base_iri=file.as_uri()):
            terms = (_text(term, number) for term in quad.triple)
            found[" ".join(terms)] = None
    return (f"{statement} ." for statement in found)


def _text(term: object, number: int) -> str:
    return f"_:f{number}x{term.value}" if isinstance(term, ox.BlankNode) else str(term)


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine in one placement."""

    data: Data
    placement: PlacementChoice
    session: SparkSession | None = None

    def answer(self, test: Entry) -> QueryResult:
        """Return what the engine answers to a test: the report of the window that holds its data."""
        query = parse(test.text, "sparql", base=test.query.as_uri())
        content, named = _by_name(test.data), _by_name(test.graphs)
        if query.dataset != Dataset():
            # A query with FROM or FROM NAMED sees only the graphs that it names.
            files = content | named
            content, named = _bound(query.dataset.default, files), _bound(query.dataset.named, files)
        run = Query(in_window(query), RSPQL).over(
            {STREAM.value: self.data.element(tuple(content.values()))},
            self.data.named(named),
            after=0,
            until=WIDTH,
            placement=self.placement.value,
            session=self.session,
        )
        with run:
            (report,) = run.reports()
        return QueryResult(report.variables, tuple(report.terms()), sorted_by=sort_columns(query))


def _by_name(files: tuple[Path, ...]) -> dict[Iri, Path]:
    return {Iri(file.as_uri()): file for file in files}


def _bound(names: tuple[Iri, ...], files: Mapping[Iri, Path]) -> dict[Iri, Path]:
    """Return the files of the graphs that a query names; nothing is ever fetched."""
    for name in names:
        if name not in files:
            raise DataError(f"the query names the graph <{name.value}>, which is none of the test's files")
    return {name: files[name] for name in names}


def in_window(query: ContinuousQuery) -> ContinuousQuery:
    """Return a plain query asked of a window: its default graph is the window's content (A9)."""
    window = NamedWindow(WINDOW, STREAM, TimeWindow(WIDTH, WIDTH))
    dataset = Dataset((), query.dataset.named)
    return replace(query, pattern=_over_window(query.pattern), windows=(window,), dataset=dataset)


def _solution_modifiers(pattern: Pattern) -> tuple[list[Modifier], Pattern]:
    """Return the solution modifiers around a pattern, the outermost first, and the pattern inside them."""
    modifiers: list[Modifier] = []
    for kinds in (Slice, Distinct | Reduced, Project, OrderBy):
        if isinstance(pattern, kinds):
            modifiers.append(pattern)
            pattern = pattern.inner
    return modifiers, pattern


def _over_window(pattern: Pattern) -> Pattern:
    """Return a pattern over the window, inside its solution modifiers: ORDER BY inside a block orders nothing."""
    modifiers, inner = _solution_modifiers(pattern)
    over: Pattern = Window(WINDOW, inner)
    for modifier in reversed(modifiers):
        over = with_expressions(replace(modifier, inner=over), _exists_over_window)
    return over


def _exists_over_window(expression: Expression) -> Expression:
    """Return a sort key whose EXISTS patterns read the window too."""

    def inside(node: Expression) -> Expression:
        return replace(node, pattern=Window(WINDOW, node.pattern)) if isinstance(node, Exists) else node

    return rewrite_expression(expression, inside)


def sort_columns(query: ContinuousQuery) -> tuple[str, ...]:
    """Return the leading sort keys of a query that are columns of its answer.

    Rows that agree in them may come in any order, because later keys do not show in the answer.
    """
    modifiers, _ = _solution_modifiers(query.pattern)
    conditions = [each for modifier in modifiers if isinstance(modifier, OrderBy) for each in modifier.conditions]
    columns: list[str] = []
    for condition in conditions:
        key = condition.expression
        if not isinstance(query.form, Select) or not isinstance(key, Reference):
            break
        if key.variable not in query.form.variables:
            break
        columns.append(key.variable.name)
    return tuple(columns)


_AT, _OVER = WIDTH // 2, 2 * WIDTH + 1


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

    def start(self, phase: Duration) -> Instant:
        """Return when the clock of an engine is started."""
        return _AT - phase

    def elements(self, *, phase: Duration | None = None) -> dict[Iri, tuple[Element, ...]]:
        """Return the data, and an element that shows that the window is over."""
        last = Triple(Iri("urn:nothing"), Iri("urn:follows"), Iri("urn:here"))
        first = [] if phase is None else [Element.of(self.start(phase), 0, last)]
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
