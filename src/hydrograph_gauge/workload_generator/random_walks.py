"""Random walks that give query templates: over the schema of the shop, or over its generated data.

A walk over the schema follows Stream WatDiv's template generator, with one difference. The original has one variable
for each type, even if it would have to be an album and a movie at once; here such a template gets a second variable, so
that it can have answers. `faithful` keeps the one.

A walk over data starts at a triple of a window and continues over connected triples. The walked triples are a solution
of the template in that window, so the query has at least one answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from hydrograph.errors import DataError
from hydrograph.rdf.terms import Iri, Literal
from hydrograph.temporal import Duration
from hydrograph_gauge.workload_generator.templates import (
    Edge,
    RandomChoices,
    Schema,
    Template,
    TemplateOptions,
    TemplatePattern,
    Vertex,
)
from hydrograph_gauge.workload_generator.world_data import DataTriple, WorldData
from hydrograph_gauge.worlds.shop.model import Attribute, Model

_STEPS = 20


class DataWalk:
    """Walks over one world, in the windows of one width that start at multiples of their slide."""

    def __init__(self, data: WorldData, model: Model, schema: Schema, width: Duration, slide: Duration) -> None:
        """Prepare the walk."""
        self.data, self.width, self.slide = data, width, slide
        # The longest name first: ProductCategory before Product.
        self.types = sorted((type_.name for type_ in model.types), key=len, reverse=True)
        self.attributes = {edge.predicate: edge.attribute for edge in schema.edges if edge.attribute is not None}
        first, last = data.stream.first, data.stream.last
        if first is None or last is None:
            raise DataError(f"{data.directory}: the stream is empty, there is nothing to walk over")
        self.starts = range(first // slide * slide, last + 1, slide)

    def __call__(self, wishes: TemplateOptions, choices: RandomChoices) -> Template:
        """Return a template without placeholders, with the solution that was walked."""
        start = choices.pick("window", self.starts)
        window = self.data.window(start, start + self.width)
        if not window:
            return Template((), {}, {})
        beside = _beside(window)
        size = 1 + choices.below("size", wishes.patterns)
        walked = [choices.pick("triple", window)]
        ways = {_way(walked[0], 0), _way(walked[0], 1)}
        here = choices.pick("side", _things(walked[0]))
        for step in range(_STEPS * size):
            if len(walked) == size:
                break
            near = [*beside.get(here, ()), *self.data.around(here)]
            open_: dict[tuple[Iri, str, int], list[DataTriple]] = defaultdict(list)
            for known in near:
                way = _way(known, 0 if known.subject == here else 1)
                if known not in walked and (wishes.duplicate_edges or way not in ways):
                    open_[way].append(known)
            if open_:
                # First the predicate, then the triple: otherwise entities with many triples would dominate.
                way = choices.pick("way", list(open_), step)
                taken = choices.pick("which", open_[way], step)
                walked.append(taken)
                ways |= {_way(taken, 0), _way(taken, 1)}
            things = list(dict.fromkeys(thing for known in walked for thing in _things(known)))
            here = choices.pick("next", things, step)
        return self._template(walked)

    def _template(self, walked: Sequence[DataTriple]) -> Template:
        names: dict[Iri, str] = {}
        entities: dict[str, Vertex] = {}
        literals: dict[str, Attribute] = {}
        found: dict[str, Iri | Literal] = {}
        parts: list[TemplatePattern] = []

        def name_of(term: Iri | Literal, predicate: Iri) -> str:
            name = f"v{len(found)}"
            if isinstance(term, Literal):
                literals[name] = self.attributes[predicate.value]
            elif term in names:
                return names[term]
            else:
                names[term] = name
                entities[name] = Vertex(self._type(term))
            found[name] = term
            return name

        for known in walked:
            subject, object_ = (name_of(term, known.predicate) for term in (known.subject, known.object))
            parts.append(TemplatePattern(subject, known.predicate.value, object_, known.streamed))
        return Template(tuple(parts), entities, literals, found=found)

    def _type(self, thing: Iri) -> str:
        return next(name for name in self.types if thing.value.startswith(name))


def _way(known: DataTriple, end: int) -> tuple[Iri, str, int]:
    """Return an edge as seen from one of its ends."""
    thing = known.subject if end == 0 or isinstance(known.object, Literal) else known.object
    return thing, known.predicate.value, end


def _things(known: DataTriple) -> tuple[Iri, ...]:
    return (known.subject,) if isinstance(known.object, Literal) else (known.subject, known.object)


def _beside(window: Sequence[DataTriple]) -> dict[Iri, list[DataTriple]]:
    beside: dict[Iri, list[DataTriple]] = defaultdict(list)
    for known in window:
        for thing in _things(known):
            beside[thing].append(known)
    return beside


_TRIES_PER_PATTERN = 20
"""So many steps are tried for each wanted pattern."""


@dataclass(slots=True)
class _Walk:
    """What was walked so far."""

    parts: list[TemplatePattern] = field(default_factory=list)
    entities: dict[str, Vertex] = field(default_factory=dict)
    literals: dict[str, Attribute] = field(default_factory=dict)
    current: dict[str, str] = field(default_factory=dict)
    """The variable of each type: the one that the next edge to the type leads to."""
    faithful: bool = False

    def new(self) -> str:
        return f"v{len(self.entities) + len(self.literals)}"

    def entity(self, vertex: Vertex) -> str:
        """Return a new variable for a vertex, from now on that of its type."""
        name = self.new()
        self.entities[name] = vertex
        self.current[vertex.type] = name
        return name

    def narrowed(self, name: str, vertex: Vertex) -> bool:
        """Let a variable stand for `vertex`; tell whether it can."""
        known = self.entities[name]
        if known.restriction and vertex.restriction not in ("", known.restriction):
            if self.faithful:
                self.entities[name] = vertex  # the walk continues from this vertex
            return self.faithful
        self.entities[name] = max(known, vertex)
        return True

    def far_end(self, edge: Edge, end: int, *, again: bool) -> str:
        """Return the variable at the other end of an edge."""
        if edge.object is None:
            assert edge.attribute is not None
            name = self.new()
            self.literals[name] = edge.attribute
            return name
        here, there = edge.ends[end], edge.ends[1 - end]
        known = self.current.get(there.type)
        # An edge within a type, such as from user to user, leads to another entity; otherwise a type has one variable.
        if known is not None and here.type != there.type and not again and self.narrowed(known, there):
            return known
        return self.entity(there)


def walk_schema(schema: Schema, wishes: TemplateOptions, choices: RandomChoices) -> Template:
    """Return a template without placeholders; it may be shorter than was drawn, and stream nothing."""
    walk = _Walk(faithful=wishes.faithful)
    here = walk.entity(choices.pick("start", schema.vertices))
    size = 1 + choices.below("size", wishes.patterns)
    walked: set[int] = set()
    for step in range(_TRIES_PER_PATTERN * size):
        if len(walk.parts) == size:
            break
        edges = schema.around(walk.entities[here])
        open_ = [one for one in edges if wishes.duplicate_edges or one[0].code not in walked]
        if not open_:
            break
        edge, end = choices.pick("edge", open_, step)
        far = walk.far_end(edge, end, again=edge.code in walked)
        walked.add(edge.code)
        subject, object_ = (here, far) if end == 0 else (far, here)
        part = TemplatePattern(subject, edge.predicate, object_, edge.streamed)
        if part not in walk.parts:
            walk.parts.append(part)
        if far in walk.entities:
            here = choices.pick("end", (here, far), step)
    return Template(tuple(walk.parts), walk.entities, walk.literals)
