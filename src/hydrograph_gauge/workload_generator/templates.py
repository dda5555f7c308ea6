"""Query templates, and the schema graph whose vertices are the types of their variables.

A template has triple patterns over variables; some variables are placeholders, which an instance fills with entities.
The schema has entity types as vertices, and attributes and associations as edges. A restriction of the model, such as
`Product@ProductCategory2`, is a vertex of its own, with the edges of its type too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hydrograph.rdf.terms import Iri, Literal
from hydrograph_gauge.worlds.draws import Draws
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


def build_schema(model: Model) -> Schema:
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


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TemplatePattern:
    """One triple pattern; subject and object are names of variables."""

    subject: str
    predicate: str
    object: str
    streamed: bool

    @property
    def ends(self) -> tuple[str, str]:
        """The variables at both ends."""
        return self.subject, self.object


@dataclass(frozen=True, slots=True)
class Template:
    """Patterns, what their variables stand for, and which of them are left to be filled."""

    parts: tuple[TemplatePattern, ...]
    entities: Mapping[str, Vertex]
    """The kinds of the variables that stand for entities."""
    literals: Mapping[str, Attribute]
    """The attributes whose values the other variables stand for."""
    placeholders: tuple[str, ...] = ()
    filtered: tuple[str, ...] = ()
    """The literals on which there is a condition."""
    found: Mapping[str, Iri | Literal] = field(default_factory=dict)
    """A solution of the patterns, where the walk was over data."""

    @property
    def streamed(self) -> bool:
        """Whether anything of it streams; else it is no continuous query."""
        return any(part.streamed for part in self.parts)

    @property
    def shown(self) -> tuple[str, ...]:
        """The variables that a query has as its columns, in the order of the patterns."""
        ends = dict.fromkeys(end for part in self.parts for end in part.ends)
        return tuple(end for end in ends if end not in self.placeholders)

    def uses(self, variable: str) -> int:
        """Return the number of patterns that contain a variable."""
        return sum(variable in part.ends for part in self.parts)


@dataclass(frozen=True, slots=True)
class RandomChoices:
    """The random choices for one template: a pure function of the seed and of the numbers of template and try."""

    draws: Draws
    keys: tuple[int, ...]

    def pick(self, purpose: str, options: Sequence[_T], *step: int) -> _T:
        """Return one of the options, each equally likely."""
        return options[self.below(purpose, len(options), *step)]

    def below(self, purpose: str, n: int, *step: int) -> int:
        """Return a number from [0, n)."""
        return self.draws.below(purpose, n).value(*self.keys, *step)

    def sample(self, purpose: str, options: Sequence[_T], n: int) -> list[_T]:
        """Return `n` of the options, in their order."""
        left = list(range(len(options)))
        chosen = [left.pop(self.below(purpose, len(left), step)) for step in range(n)]
        return [options[place] for place in sorted(chosen)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateOptions:
    """Options for the templates to generate."""

    patterns: int = 5
    """The most triple patterns of a template; each number up to it is equally likely."""
    placeholders: int = 1
    constant_joins: bool = False
    """Whether a placeholder may stand in several patterns."""
    duplicate_edges: bool = False
    """Whether an edge may be walked again; it then leads to something else."""
    filters: int = 0
    """Conditions on literals, as far as a template has so many."""
    faithful: bool = False
    """Whether everything of a type is one variable, even where it would have to be an album and a movie at once."""


def complete_template(template: Template, wishes: TemplateOptions, choices: RandomChoices) -> Template | None:
    """Return the template with placeholders and filters, or None if it does not meet the options."""
    entities = [name for name in _variables(template) if name in template.entities]
    if not template.streamed or len(entities) < wishes.placeholders:
        return None
    placeholders = tuple(choices.sample("placeholder", entities, wishes.placeholders))
    if not wishes.constant_joins and any(template.uses(name) > 1 for name in placeholders):
        return None
    literals = [name for name in _variables(template) if name in template.literals]
    filtered = tuple(choices.sample("filter", literals, min(wishes.filters, len(literals))))
    chosen = replace(template, placeholders=placeholders, filtered=filtered)
    return chosen if chosen.shown else None


def _variables(template: Template) -> list[str]:
    return list(dict.fromkeys(end for part in template.parts for end in part.ends))
