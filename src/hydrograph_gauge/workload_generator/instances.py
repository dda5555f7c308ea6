"""Instances of templates, as continuous queries and as texts in every language.

An instance has an entity for each placeholder and a bound for each filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import assert_never

from hydrograph.algebra.expressions import Compare, Comparison, Constant, Expression, Reference
from hydrograph.algebra.nodes import Bgp, Filter, Graph, Join, Pattern, PatternTerm, Project, TriplePattern, Window
from hydrograph.algebra.queries import ContinuousQuery, Dataset, NamedWindow, Select
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UnsupportedError
from hydrograph.language import DIALECTS
from hydrograph.language.printer import print_sparql
from hydrograph.language.translate_dialect import reword
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_DATE, XSD_INTEGER
from hydrograph.windows.profile import preset
from hydrograph_gauge.queries.placeholders import print_with_open_window
from hydrograph_gauge.queries.query_sets import LANGUAGES, SOURCE, prepare_registration
from hydrograph_gauge.workload_generator.templates import RandomChoices, Template, TemplatePattern
from hydrograph_gauge.workload_generator.world_data import WorldData
from hydrograph_gauge.worlds.shop import world as shop
from hydrograph_gauge.worlds.shop.encoding import make_names, make_words
from hydrograph_gauge.worlds.shop.model import Attribute, LiteralKind, Model

KNOWLEDGE = Iri(shop.KNOWLEDGE)
WINDOW = Iri("http://ex.org/window")
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Instance:
    """Template with entities for its placeholders and bounds for its filters."""

    template: Template
    constants: Mapping[str, Iri]
    filters: tuple[Expression, ...]


def fill_template(
    template: Template, number: int, choices: RandomChoices, count: Callable[[str], int], data: WorldData | None
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
    template: Template, name: str, choices: RandomChoices, step: tuple[int, int], *, known: Iri | Literal | None
) -> Expression:
    """Return a comparison with a bound: the known value, which it keeps, or one from the range of the attribute."""
    operator: Comparison = choices.pick("comparison", (">=", "<="), *step)
    bound = known if known is not None else _value(template.literals[name], choices, step)
    return Compare(operator, Reference(Variable(name)), Constant(bound))


def _value(attribute: Attribute, choices: RandomChoices, step: tuple[int, int]) -> Literal:
    match attribute.kind:
        case LiteralKind.INTEGER:
            return Literal(str(attribute.low + _within(attribute, choices, step)), XSD_INTEGER)
        case LiteralKind.DATE:
            day = _EPOCH + timedelta(days=attribute.low + _within(attribute, choices, step))
            return Literal(day.isoformat(), XSD_DATE)
        case LiteralKind.STRING:
            return Literal(choices.pick("bound", make_words(), *step))
        case LiteralKind.NAME:
            return Literal(choices.pick("bound", make_names(), *step))
        case _:
            assert_never(attribute.kind)


def _within(attribute: Attribute, choices: RandomChoices, step: tuple[int, int]) -> int:
    return choices.below("bound", attribute.high - attribute.low + 1, *step)


def build_query(made: Instance, model: Model, window: TimeWindow) -> ContinuousQuery:
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


def build_oracle_query(made: Instance, model: Model) -> ContinuousQuery:
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


def _pattern(made: Instance, part: TemplatePattern) -> TriplePattern:
    def term(name: str) -> PatternTerm:
        return made.constants.get(name) or Variable(name)

    return TriplePattern(term(part.subject), Iri(part.predicate), term(part.object))


@dataclass(frozen=True, slots=True)
class QueryTexts:
    """Texts of a query in the languages that can express it, and the reasons of the others."""

    texts: Mapping[str, str]
    reasons: Mapping[str, str]
    oracle: str
    """Plain SPARQL over one graph of window and static data."""


def print_query_texts(
    name: str, made: Instance, model: Model, window: TimeWindow, *, open_window: bool = False
) -> QueryTexts:
    """Return the texts of an instance, with an open window if wanted: `${WSIZE}` and `${WSLIDE}` for its lengths.

    `name` is the query's name in languages that register queries.
    """
    query = build_query(made, model, window)
    texts: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for language in LANGUAGES:
        try:
            text = reword(prepare_registration(query, name, language), language, preset(DIALECTS[SOURCE].preset)).text
        except UnsupportedError as error:
            reasons[language] = str(error)
        else:
            texts[language] = print_with_open_window(text, language) if open_window else text
    return QueryTexts(texts, reasons, print_sparql(build_oracle_query(made, model)))


def print_template(template: Template, model: Model) -> str:
    """Return a template in WatDiv's syntax.

    Its placeholders are `%v0%`; conditions are not part of that syntax, and are given as comments.
    """

    def name(iri: str) -> str:
        return next(
            (f"{short}:{iri.removeprefix(long)}" for short, long in model.prefixes if iri.startswith(long)), iri
        )

    def term(variable: str) -> str:
        return f"%{variable}%" if variable in template.placeholders else f"?{variable}"

    lines = [f"#mapping {one} {name(template.entities[one].type)} uniform" for one in template.placeholders]
    lines += [f"#filter {one}" for one in template.filtered]
    lines.append(f"SELECT {' '.join(f'?{one}' for one in template.shown)} WHERE {{")
    lines += [f"\t{term(part.subject)}\t{name(part.predicate)}\t{term(part.object)} ." for part in template.parts]
    return "\n".join([*lines, "}", "#end"]) + "\n"
