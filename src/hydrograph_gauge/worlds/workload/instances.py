"""Instances of templates: placeholders become entities, filters get their bounds, the whole a query with windows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import assert_never

from hydrograph.algebra.expressions import Compare, Comparison, Constant, Expression, Reference
from hydrograph.algebra.nodes import Bgp, Filter, Graph, Join, Pattern, PatternTerm, Project, TriplePattern, Window
from hydrograph.algebra.queries import ContinuousQuery, Dataset, NamedWindow, Select
from hydrograph.algebra.windows import TimeWindow
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_DATE, XSD_INTEGER
from hydrograph_gauge.worlds.shop import world as shop
from hydrograph_gauge.worlds.shop.model import Attribute, LiteralKind, Model
from hydrograph_gauge.worlds.words import names, words
from hydrograph_gauge.worlds.workload.data import WorldData
from hydrograph_gauge.worlds.workload.template import Choices, Part, Template

KNOWLEDGE = Iri(shop.KNOWLEDGE)
WINDOW = Iri("http://ex.org/window")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Instance:
    """A template with everything filled in."""

    template: Template
    constants: Mapping[str, Iri]
    filters: tuple[Expression, ...]


def instance(
    template: Template, number: int, choices: Choices, count: Callable[[str], int], data: WorldData | None
) -> Instance:
    """Return an instance of a template.

    The first one of a template that was walked over data has the solution that was walked. With data, all others have
    entities that stand at this place in the data; without, any entity of the type, of which there are `count`.
    """
    walked = number == 0 and template.found
    constants: dict[str, Iri] = {}
    for place, name in enumerate(template.placeholders):
        if walked:
            known = template.found[name]
            assert isinstance(known, Iri), "placeholders are entities"
            constants[name] = known
            continue
        type_ = template.entities[name].type
        options = () if data is None else _at_place(template, name, data)
        if options:
            constants[name] = choices.pick("constant", options, number, place)
        else:
            constants[name] = Iri(f"{type_}{choices.below('constant', count(type_), number, place)}")
    filters = tuple(
        _condition(template, name, choices, (number, place), known=template.found.get(name) if walked else None)
        for place, name in enumerate(template.filtered)
    )
    return Instance(template, constants, filters)


def _at_place(template: Template, name: str, data: WorldData) -> tuple[Iri, ...]:
    part = next(part for part in template.parts if name in part.ends)
    return data.at_end(part.ends.index(name), part.predicate, part.streamed)


def _condition(
    template: Template, name: str, choices: Choices, step: tuple[int, int], *, known: Iri | Literal | None
) -> Expression:
    """Return a comparison with a bound: the known value, which it keeps, or one from the range of the attribute."""
    operator: Comparison = choices.pick("comparison", (">=", "<="), *step)
    bound = known if known is not None else _value(template.literals[name], choices, step)
    return Compare(operator, Reference(Variable(name)), Constant(bound))


def _value(attribute: Attribute, choices: Choices, step: tuple[int, int]) -> Literal:
    match attribute.kind:
        case LiteralKind.INTEGER:
            return Literal(str(attribute.low + _within(attribute, choices, step)), XSD_INTEGER)
        case LiteralKind.DATE:
            day = _EPOCH + timedelta(days=attribute.low + _within(attribute, choices, step))
            return Literal(day.isoformat(), XSD_DATE)
        case LiteralKind.STRING:
            return Literal(choices.pick("bound", words(), *step))
        case LiteralKind.NAME:
            return Literal(choices.pick("bound", names(), *step))
        case _:
            assert_never(attribute.kind)


def _within(attribute: Attribute, choices: Choices, step: tuple[int, int]) -> int:
    return choices.below("bound", attribute.high - attribute.low + 1, *step)


def continuous(made: Instance, model: Model, window: TimeWindow) -> ContinuousQuery:
    """Return the query: what streams is in a window, what is static in the graph `KNOWLEDGE`."""
    streamed = _bgp(made, streamed=True)
    static = _bgp(made, streamed=False)
    pattern: Pattern = Window(WINDOW, streamed)
    if static.patterns:
        pattern = Join(pattern, Graph(KNOWLEDGE, static))
    return _query(
        made,
        model,
        pattern,
        windows=(NamedWindow(WINDOW, Iri(shop.STREAM), window),),
        dataset=Dataset(named=(KNOWLEDGE,) if static.patterns else ()),
    )


def plain(made: Instance, model: Model) -> ContinuousQuery:
    """Return the query over one graph, which is that of a window's content and of the static data."""
    triples = tuple(_pattern(made, part) for part in made.template.parts)
    return _query(made, model, Bgp(triples))


def _query(
    made: Instance,
    model: Model,
    pattern: Pattern,
    windows: tuple[NamedWindow, ...] = (),
    dataset: Dataset | None = None,
) -> ContinuousQuery:
    for condition in made.filters:
        pattern = Filter(condition, pattern)
    columns = tuple(Variable(name) for name in made.template.shown)
    used = [part.predicate for part in made.template.parts] + [iri.value for iri in made.constants.values()]
    prefixes = tuple((name, iri) for name, iri in model.prefixes if any(one.startswith(iri) for one in used))
    return ContinuousQuery(Select(columns), Project(pattern, columns), windows, dataset or Dataset(), prefixes=prefixes)


def _bgp(made: Instance, *, streamed: bool) -> Bgp:
    return Bgp(tuple(_pattern(made, part) for part in made.template.parts if part.streamed is streamed))


def _pattern(made: Instance, part: Part) -> TriplePattern:
    def term(name: str) -> PatternTerm:
        return made.constants.get(name) or Variable(name)

    return TriplePattern(term(part.subject), Iri(part.predicate), term(part.object))
