"""A random walk over the schema: which things can be asked about together.

After Stream WatDiv's template generator, apart from one thing: it has one variable for each type, even where that would
have to be an album and a movie at once. Here such a template gets a second variable, so that it can have answers;
`faithful` keeps the one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hydrograph_gauge.worlds.shop.model import Attribute
from hydrograph_gauge.worlds.workload.schema import Edge, Schema, Vertex
from hydrograph_gauge.worlds.workload.template import Choices, Part, Template, Wishes

_STEPS = 20
"""So many steps are tried for each wanted pattern."""


@dataclass(slots=True)
class _Walk:
    """What was walked so far."""

    parts: list[Part] = field(default_factory=list)
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
                self.entities[name] = vertex  # from where the walk goes on
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
        # From user to user, say, one goes on to somebody else; elsewhere everything of a type is one thing.
        if known is not None and here.type != there.type and not again and self.narrowed(known, there):
            return known
        return self.entity(there)


def schema_walk(schema: Schema, wishes: Wishes, choices: Choices) -> Template:
    """Return a template without placeholders; it may be shorter than was drawn, and stream nothing."""
    walk = _Walk(faithful=wishes.faithful)
    here = walk.entity(choices.pick("start", schema.vertices))
    size = 1 + choices.below("size", wishes.patterns)
    walked: set[int] = set()
    for step in range(_STEPS * size):
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
        part = Part(subject, edge.predicate, object_, edge.streamed)
        if part not in walk.parts:
            walk.parts.append(part)
        if far in walk.entities:
            here = choices.pick("end", (here, far), step)
    return Template(tuple(walk.parts), walk.entities, walk.literals)
