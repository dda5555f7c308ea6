"""Structure of a query: patterns, join vertices with degrees and types, shape, and the classes of LSBench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from hydrograph.algebra.expressions import Exists
from hydrograph.algebra.nodes import (
    Bgp,
    Filter,
    Graph,
    Group,
    LeftJoin,
    Minus,
    PathPattern,
    Pattern,
    PatternTerm,
    Project,
    Slice,
    TriplePattern,
    Union,
    Window,
)
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.walk import children, expressions, operands, subpatterns
from hydrograph.language.window_views import named
from hydrograph.rdf.terms import Iri


class QueryKind(StrEnum):
    """Data that a query reads: streams only, streams and static data, or static data only."""

    PURE = "pure"
    HYBRID = "hybrid"
    STATIC = "static"


class Shape(StrEnum):
    """Shapes of Stream WatDiv's evaluation; a snowflake counts as a star."""

    LINEAR = "linear"
    STAR = "star"
    COMPLEX = "complex"


class JoinType(StrEnum):
    """Roles in which a join vertex joins patterns: as subjects, as subject and object, as objects."""

    SS = "SS+"
    SO = "SO+"
    OO = "OO+"


@dataclass(frozen=True, slots=True)
class SourcedPattern:
    """A pattern and the stream that it reads; None for static data."""

    pattern: TriplePattern | PathPattern
    stream: Iri | None


@dataclass(frozen=True, slots=True)
class JoinVertex:
    """A term that is subject or object of several patterns; a constant can be one too."""

    term: PatternTerm
    degree: int
    types: frozenset[JoinType]


@dataclass(frozen=True, slots=True)
class Structure:
    """Features of a query that follow from its text alone."""

    kind: QueryKind
    patterns: int
    streams: int
    vertices: tuple[JoinVertex, ...]
    classes: tuple[str, ...]
    streaming: int
    """How many of the patterns read a stream."""

    @property
    def degree(self) -> int:
        """The greatest degree of a join vertex; 0 without one."""
        return max((vertex.degree for vertex in self.vertices), default=0)

    @property
    def shape(self) -> Shape:
        """The shape by the rule of the evaluation (degrees, then the number of join vertices)."""
        if self.degree <= 2:
            return Shape.LINEAR
        return Shape.STAR if len(self.vertices) <= 2 else Shape.COMPLEX


def find_structure(query: ContinuousQuery) -> Structure:
    """Return the structure of a query."""
    placed = tuple(list_patterns(query))
    static = any(each.stream is None for each in placed)
    streaming = any(each.stream is not None for each in placed)
    kind = QueryKind.HYBRID if static and streaming else QueryKind.PURE if streaming else QueryKind.STATIC
    vertices = find_join_vertices([each.pattern for each in placed])
    return Structure(
        kind,
        len(placed),
        len({window.stream for window in query.windows}),
        vertices,
        tuple(_classes(query, has_join=bool(vertices), has_static=static)),
        sum(each.stream is not None for each in placed),
    )


def list_patterns(query: ContinuousQuery) -> Iterator[SourcedPattern]:
    """Return the triple patterns and paths of a query in the order of its text, with what they read."""
    query = named(query)
    streams = {window.name: window.stream for window in query.windows}
    # Patterns outside all blocks read the window that feeds the default graph.
    default = next((window.stream for window in query.windows if window.name is None), None)
    yield from _patterns(query.pattern, default, streams)


def _patterns(pattern: Pattern, stream: Iri | None, streams: dict[Iri | None, Iri]) -> Iterator[SourcedPattern]:
    match pattern:
        case Bgp(patterns=found):
            yield from (SourcedPattern(each, stream) for each in found)
        case PathPattern():
            yield SourcedPattern(pattern, stream)
        case Window(name=name, inner=inner):
            inside = streams[name] if isinstance(name, Iri) else next(iter(streams.values()))
            yield from _patterns(inner, inside, streams)
        case Graph(inner=inner):
            yield from _patterns(inner, None, streams)
        case _:
            for child in children(pattern):
                yield from _patterns(child, stream, streams)
            for test in _existing(pattern):
                yield from _patterns(test.pattern, stream, streams)


def _existing(pattern: Pattern) -> Iterator[Exists]:
    """Return EXISTS and NOT EXISTS in the expressions of a node."""
    waiting = list(expressions(pattern))
    while waiting:
        expression = waiting.pop(0)
        if isinstance(expression, Exists):
            yield expression
        else:
            waiting.extend(operands(expression))


def find_join_vertices(found: list[TriplePattern | PathPattern]) -> tuple[JoinVertex, ...]:
    """Return the terms that join patterns, in order of appearance."""
    subjects = Counter(pattern.subject for pattern in found)
    objects = Counter(pattern.object for pattern in found)
    degrees: dict[PatternTerm, int] = {}
    for pattern in found:
        for term in {pattern.subject: None, pattern.object: None}:
            degrees[term] = degrees.get(term, 0) + 1
    return tuple(
        JoinVertex(term, degree, frozenset(_types(subjects[term], objects[term])))
        for term, degree in degrees.items()
        if degree > 1
    )


def _types(as_subject: int, as_object: int) -> Iterator[JoinType]:
    if as_subject > 1:
        yield JoinType.SS
    if as_subject and as_object:
        yield JoinType.SO
    if as_object > 1:
        yield JoinType.OO


def _classes(query: ContinuousQuery, *, has_join: bool, has_static: bool) -> Iterator[str]:
    """Return the classes of a query that LSBench distinguishes."""
    nodes = list(subpatterns(query.pattern))
    tests = {
        "filter": any(isinstance(node, Filter) for node in nodes),
        "join": has_join,
        "aggregation": any(isinstance(node, Group) for node in nodes),
        "nested": sum(isinstance(node, Project) for node in nodes) > isinstance(query.form, Select),
        "negation": any(isinstance(node, Minus) or any(test.negated for test in _existing(node)) for node in nodes),
        "optional": any(isinstance(node, LeftJoin) for node in nodes),
        "union": any(isinstance(node, Union) for node in nodes),
        "top-k": any(isinstance(node, Slice) and node.limit is not None for node in nodes),
        "static": has_static,
    }
    yield from (name for name, holds in tests.items() if holds)
