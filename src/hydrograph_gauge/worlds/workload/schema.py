"""The graph that a schema walk walks: entity types, and the attributes and associations between them.

A restriction of the model, such as `Product@ProductCategory2`, is a vertex of its own, with the edges of its type too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hydrograph_gauge.worlds.shop.model import Attribute, Model


@dataclass(frozen=True, slots=True, order=True)
class Vertex:
    """A type of the model, or its part that is an instance of `restriction`."""

    type: str
    restriction: str = ""

    def allows(self, needed: Vertex) -> bool:
        """Tell whether something of this kind has the edges of `needed`."""
        return self.type == needed.type and needed.restriction in ("", self.restriction)


@dataclass(frozen=True, slots=True)
class Edge:
    """A row of the model, by its number, as an edge; `object` is None for an attribute."""

    code: int
    subject: Vertex
    predicate: str
    object: Vertex | None
    streamed: bool
    attribute: Attribute | None = None

    @property
    def ends(self) -> tuple[Vertex, ...]:
        """The vertices at its ends; literals are none."""
        return (self.subject,) if self.object is None else (self.subject, self.object)


@dataclass(frozen=True, slots=True)
class Schema:
    """All vertices and edges, in the order of the model."""

    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]

    def around(self, vertex: Vertex) -> list[tuple[Edge, int]]:
        """Return the edges of a vertex, each with the end (0 subject, 1 object) that is there."""
        return [(edge, end) for edge in self.edges for end, there in enumerate(edge.ends) if vertex.allows(there)]


def schema_of(model: Model) -> Schema:
    """Return the graph of a model; what its activities stream is streamed, all else is static."""
    edges = tuple(replace(edge, code=code) for code, edge in enumerate(_edges(model)))
    plain = [Vertex(type_.name) for type_ in model.types]
    return Schema(tuple(dict.fromkeys([*plain, *(end for edge in edges for end in edge.ends)])), edges)


def _edges(model: Model) -> Iterator[Edge]:
    entities = {activity.entity for activity in model.activities}
    links = {activity.predicate for activity in model.activities}
    for type_ in model.types:
        for group in type_.groups:
            for attribute in group.attributes:
                subject = Vertex(type_.name, group.restriction or "")
                yield Edge(0, subject, attribute.predicate, None, type_.name in entities, attribute)
    for one in model.associations:
        subject = Vertex(one.subject, one.subject_restriction or "")
        object_ = Vertex(one.object, one.object_restriction or "")
        yield Edge(0, subject, one.predicate, object_, one.subject in entities or one.predicate in links)
