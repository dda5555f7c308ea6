"""A random walk over generated data: from a triple of a window on, over whatever hangs together with it.

What was walked is a solution of the template, in that window; so a query made of it has an answer at least there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from hydrograph.errors import DataError
from hydrograph.rdf.terms import Iri, Literal
from hydrograph.temporal import Duration
from hydrograph_gauge.worlds.shop.model import Attribute, Model
from hydrograph_gauge.worlds.workload.data import Known, WorldData
from hydrograph_gauge.worlds.workload.schema import Schema, Vertex
from hydrograph_gauge.worlds.workload.template import Choices, Part, Template, Wishes

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

    def __call__(self, wishes: Wishes, choices: Choices) -> Template:
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
            open_: dict[tuple[Iri, str, int], list[Known]] = defaultdict(list)
            for known in near:
                way = _way(known, 0 if known.subject == here else 1)
                if known not in walked and (wishes.duplicate_edges or way not in ways):
                    open_[way].append(known)
            if open_:
                # First where to, then which one: else things with many triples would be all there is.
                way = choices.pick("way", list(open_), step)
                taken = choices.pick("which", open_[way], step)
                walked.append(taken)
                ways |= {_way(taken, 0), _way(taken, 1)}
            things = list(dict.fromkeys(thing for known in walked for thing in _things(known)))
            here = choices.pick("next", things, step)
        return self._template(walked)

    def _template(self, walked: Sequence[Known]) -> Template:
        names: dict[Iri, str] = {}
        entities: dict[str, Vertex] = {}
        literals: dict[str, Attribute] = {}
        found: dict[str, Iri | Literal] = {}
        parts: list[Part] = []

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
            parts.append(Part(subject, known.predicate.value, object_, known.streamed))
        return Template(tuple(parts), entities, literals, found=found)

    def _type(self, thing: Iri) -> str:
        return next(name for name in self.types if thing.value.startswith(name))


def _way(known: Known, end: int) -> tuple[Iri, str, int]:
    """Return an edge as seen from one of its ends."""
    thing = known.subject if end == 0 or isinstance(known.object, Literal) else known.object
    return thing, known.predicate.value, end


def _things(known: Known) -> tuple[Iri, ...]:
    return (known.subject,) if isinstance(known.object, Literal) else (known.subject, known.object)


def _beside(window: Sequence[Known]) -> dict[Iri, list[Known]]:
    beside: dict[Iri, list[Known]] = defaultdict(list)
    for known in window:
        for thing in _things(known):
            beside[thing].append(known)
    return beside
