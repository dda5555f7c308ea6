"""Expected reports of one query: window content from `hydrograph.windows`, answers from a foreign evaluator.

Nothing here knows how the engine compiles or runs a query; what both share (language, window specification) is guarded
by its own tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hydrograph.algebra.nodes import Distinct, OrderBy, Pattern, Project, Reduced, Slice
from hydrograph.algebra.queries import Construct, ContinuousQuery, StreamOperator, TemplateTriple
from hydrograph.algebra.walk import visible_variables
from hydrograph.errors import UsageError
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term, Variable
from hydrograph.temporal import Instant
from hydrograph.windows.content import WindowedStream, place
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.r2s import difference
from hydrograph.windows.report import Range, content_at, domain_tick, reports
from hydrograph.windows.stream import Element, merged
from hydrograph.windows.tick import Moment
from hydrograph_gauge.oracle import window_store
from hydrograph_gauge.oracle.dataset import NO_STATIC, Evaluator, Row, StaticData, dataset_of, static_names
from hydrograph_gauge.oracle.plain_sparql import sparql_by_time


@dataclass(frozen=True, slots=True)
class Report:
    """Expected report; `rows` are triples for CONSTRUCT and one boolean for ASK.

    `open` and `close` are given where the report belongs to one time window (A11), `seq` where one event made it.
    """

    t: Instant
    open: Instant | None
    close: Instant | None
    rows: Counter[Row]
    ordered: tuple[Row, ...] | None = None
    """The rows in order, if an Rstream query has ORDER BY at the top."""
    seq: int | None = None
    content: int | None = field(default=None, compare=False)
    """Triples in its windows."""


Streams = Mapping[Iri, Sequence[Element]]


def evaluate_reports(
    query: ContinuousQuery,
    elements: Streams,
    static: StaticData = NO_STATIC,
    *,
    profile: Profile = RSPQL,
    t0: Instant | None = None,
    from_: Instant | None = None,
    until: Instant | None = None,
    text: str | None = None,
    evaluator: Evaluator = window_store.evaluate,
) -> list[Report]:
    """Return the reports of a query over recorded streams, in order, with `from_ < t <= until` (A1).

    `text` is the SPARQL to evaluate at each report, if it is not to be printed from the query.
    """
    profile = profile.of(query)
    query = replace(query, pattern=profile.reading(query.pattern))
    start = profile.start((e for window in query.windows for e in _stream(elements, window.stream)), t0)
    placed = place_windows(query, elements, profile, start)
    tick = domain_tick(placed, profile.tick)
    found: list[Report] = []
    ask = sparql_by_time(query, static_names(query, static), text)
    previous: Counter[Row] = Counter()
    for reported in reports(placed, profile.report, profile.tick, Range(from_, until), start):
        contents = [merged(content_at(windowed, reported.moment, profile.report, tick)) for windowed in placed]
        dataset = dataset_of(query, static, zip(query.windows, contents, strict=True))
        answer = evaluator(ask(reported.moment.t), dataset)
        current = Counter(answer)
        rows = difference(profile.operator, previous, current, sets=profile.r2s_set)
        previous = current
        if isinstance(query.form, Construct):
            rows = instantiate(query.form.template, visible_variables(query.pattern), rows)
        if rows or profile.emit_empty:
            scope = reported.scope
            open_, close = (None, None) if scope is None else (scope.start, scope.end)
            ordered = answer if profile.operator is StreamOperator.RSTREAM and _is_ordered(query) else None
            size = sum(map(len, contents))
            found.append(Report(reported.moment.t, open_, close, rows, ordered, _seq(reported.moment), size))
    return found


def place_windows(query: ContinuousQuery, elements: Streams, profile: Profile, t0: Instant) -> list[WindowedStream]:
    """Lay each window of a query over its stream; streams are ranked in the order in which the query names them."""
    ranks = {stream: rank for rank, stream in enumerate(dict.fromkeys(window.stream for window in query.windows))}
    return [
        place(
            profile.windowing(window.definition),
            _stream(elements, window.stream),
            t0=t0,
            align=profile.align,
            stream=ranks[window.stream],
        )
        for window in query.windows
    ]


def _stream(elements: Streams, name: Iri) -> Sequence[Element]:
    try:
        return elements[name]
    except KeyError:
        known = ", ".join(sorted(stream.value for stream in elements)) or "none"
        raise UsageError(f"no stream named {name.value!r} is given; given streams: {known}") from None


def _seq(moment: Moment) -> int | None:
    return moment.seq if moment.is_arrival else None


def _is_ordered(query: ContinuousQuery) -> bool:
    pattern: Pattern = query.pattern
    while isinstance(pattern, Slice | Distinct | Reduced | Project):
        pattern = pattern.inner
    return isinstance(pattern, OrderBy) and not isinstance(query.form, Construct)


def instantiate(
    template: Iterable[TemplateTriple], variables: tuple[Variable, ...], solutions: Counter[Row]
) -> Counter[Row]:
    """Return the triples of a template, each once; blank nodes are fresh for each solution (S4)."""
    triples: dict[Row, None] = {}
    for number, row in enumerate(solutions.elements()):
        binding = dict(zip(variables, row, strict=True))
        for part in template:
            subject, predicate, object_ = (
                _fill(term, binding, number) for term in (part.subject, part.predicate, part.object)
            )
            if isinstance(subject, Iri | BlankNode) and isinstance(predicate, Iri) and object_ is not None:
                triples[subject, predicate, object_] = None
    return Counter(triples.keys())


def _fill(
    term: Iri | Literal | BlankNode | Variable, binding: Mapping[Variable, Term | None], number: int
) -> Term | None:
    if isinstance(term, Variable):
        return binding.get(term)
    return BlankNode(f"{number}.{term.label}") if isinstance(term, BlankNode) else term
