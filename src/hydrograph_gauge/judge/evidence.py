"""What a query would have answered over other content: windows moved, elements left out, single triples taken away.

One store holds the static data and the windows; from question to question only what differs is changed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyoxigraph as ox

from hydrograph.algebra.queries import Construct, ContinuousQuery, StreamOperator
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.temporal import Instant
from hydrograph.windows.content import WindowedStream
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.r2s import difference
from hydrograph.windows.report import When, content_at, domain_tick
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Moment
from hydrograph_gauge.oracle.dataset import NO_STATIC, Evaluator, Row, StaticData, dataset_of, static_names
from hydrograph_gauge.oracle.evaluate import Streams, instantiate, placed_windows
from hydrograph_gauge.oracle.oxigraph import ask, quad_of
from hydrograph_gauge.oracle.prepare import asks_now, at_time, in_scope, oracle_query

Held: TypeAlias = frozenset[tuple[int, Triple]]
"""Triples of the windows of a query, each with the number of its window."""

Place: TypeAlias = tuple[Iri, int]
"""An element: its stream, and its place there."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Windows that begin and end so many milliseconds later than they should; None: they never let go."""

    start: int | None = 0
    end: int = 0


AS_DUE = Moved()

_QUESTION = 100
"""What a question costs beside its content, as so many triples."""


class Evidence:
    """A query and all it was asked over."""

    def __init__(
        self,
        query: ContinuousQuery,
        streams: Streams,
        static: StaticData = NO_STATIC,
        *,
        profile: Profile = RSPQL,
        t0: Instant | None = None,
        text: str | None = None,
    ) -> None:
        """Lay the windows over the streams; `text` is the oracle's own, if it is not to be printed from the query."""
        self._profile = profile.of(query)
        self._query = query
        self._static = static
        start = self._profile.start((e for window in query.windows for e in streams[window.stream]), t0)
        self._placed = placed_windows(query, streams, self._profile, start)
        self._tick = domain_tick(self._placed, self._profile.tick)
        self._questions = _questions(query, self._profile, static, text)
        self._store, self._graphs = _store(query, static)
        self._kept = set(self._store)
        self._now: Held = frozenset()
        self.cost = 0
        """What the evaluator was asked over so far, in triples: searches keep to a budget."""

    @property
    def can_move(self) -> bool:
        """Whether windows have borders that can be moved."""
        closing = self._profile.report.when is When.WINDOW_CLOSE
        return closing and all(windowed.grid is not None for windowed in self._placed)

    @property
    def has_borders(self) -> bool:
        """Whether some window begins at a time: where it really began can be searched for."""
        if self._profile.report.when is When.WINDOW_CLOSE:
            return self.can_move
        return any(windowed.grid is not None for windowed in self._placed)

    @property
    def width(self) -> int:
        """The width of the widest window."""
        return max((windowed.grid.width for windowed in self._placed if windowed.grid is not None), default=0)

    def borders(self, t: Instant) -> list[tuple[Instant, Instant]]:
        """Return what the windows should hold at a report at `t`, if they have borders."""
        found = []
        for windowed in self._placed:
            assert windowed.grid is not None
            k = windowed.grid.last_closed(t)
            if k is not None:
                found.append((max(windowed.grid.open(k), windowed.grid.t0), windowed.grid.close(k)))
        return found

    def times(self, start: Instant, end: Instant) -> list[Instant]:
        """Return the times of elements in an interval, each once, ascending."""
        return sorted({e.t for windowed in self._placed for e in _between(windowed, start, end)})

    def elements(self, t: Instant, seq: int | None = None, moved: Moved = AS_DUE) -> list[tuple[int, Element]]:
        """Return the elements that the windows hold at a report, each with the number of its window."""
        found: list[tuple[int, Element]] = []
        for number, windowed in enumerate(self._placed):
            if moved == AS_DUE:
                moment = self._moment(t) if seq is None else Moment.arrival(t, windowed.stream, seq)
                found += [(number, e) for e in content_at(windowed, moment, self._profile.report, self._tick)]
            else:
                found += [(number, e) for e in _moved(windowed, t, moved)]
        return found

    def opens(self, t: Instant) -> Instant:
        """Return where the widest window begins of those that show what is new at `t`."""
        grids = [windowed.grid for windowed in self._placed if windowed.grid is not None]
        return min((max(grid.open(grid.active(t)), grid.t0) for grid in grids), default=t)

    def seen(self, t: Instant, moved: int, seq: int | None = None) -> list[tuple[int, Element]]:
        """Return what is seen when something new comes at `t`, if windows begin so many milliseconds later."""
        found: list[tuple[int, Element]] = []
        for number, windowed in enumerate(self._placed):
            if (grid := windowed.grid) is None:
                found += [(number, e) for e in content_at(windowed, self._moment(t), self._profile.report, self._tick)]
                continue
            some = _between(windowed, max(grid.open(grid.active(t)), grid.t0) + moved, t + 1)
            found += [(number, e) for e in some if seq is None or e.t < t or e.seq <= seq]
        return found

    def _moment(self, t: Instant) -> Moment:
        return Moment.before(t) if self._profile.report.when is When.WINDOW_CLOSE else Moment.whole(t)

    def place(self, number: int, element: Element) -> Place:
        """Return which element it is, whatever window shows it."""
        return self._query.windows[number].stream, element.seq

    def held(self, elements: Iterable[tuple[int, Element]], without: frozenset[Place] = frozenset()) -> Held:
        """Return the triples of elements."""
        kept = ((n, e) for n, e in elements if not without or self.place(n, e) not in without)
        return frozenset((number, triple) for number, element in kept for triple in element.triples)

    def solutions(self, held: Held, t: Instant) -> Counter[Row]:
        """Return what the query answers over this content at a time, before the stream operator."""
        self.cost += len(held) + _QUESTION
        for number, triple in self._now - held:
            quad = quad_of(triple, self._graphs[number])
            if quad not in self._kept and (self._named(number) or not self._elsewhere(triple, number, held)):
                self._store.remove(quad)
        self._store.extend([quad_of(triple, self._graphs[number]) for number, triple in held - self._now])
        self._now = held
        return Counter(ask(self._questions(t), self._store))

    def _named(self, number: int) -> bool:
        return not isinstance(self._graphs[number], ox.DefaultGraph)

    def _elsewhere(self, triple: Triple, number: int, held: Held) -> bool:
        """Tell whether another window brings a triple into the default graph, which all such windows share."""
        others = (n for n, graph in enumerate(self._graphs) if n != number and isinstance(graph, ox.DefaultGraph))
        return any((other, triple) in held for other in others)

    def cost_of(self, t: Instant, moved: Moved = AS_DUE) -> int:
        """Return what a question about the report at `t` costs."""
        return sum(len(element.triples) for _, element in self.elements(t, moved=moved)) + _QUESTION

    def answer(
        self, t: Instant, before: Instant | None, moved: Moved = AS_DUE, without: frozenset[Place] = frozenset()
    ) -> Counter[Row]:
        """Return the rows of the report at `t`; `before` is the time of the one before it, which Istream needs."""

        def current(at: Instant) -> Counter[Row]:
            return self.solutions(self.held(self.elements(at, moved=moved), without), at)

        return self._said(current, t, before)

    def second(self, t: Instant, before: Instant | None, evaluator: Evaluator) -> Counter[Row]:
        """Return the rows of the report at `t` as another evaluator finds them."""

        def current(at: Instant) -> Counter[Row]:
            contents: list[set[Triple]] = [set() for _ in self._placed]
            for number, element in self.elements(at):
                contents[number] |= element.triples
            graphs = zip(self._query.windows, map(frozenset, contents), strict=True)
            return Counter(evaluator(self._questions(at), dataset_of(self._query, self._static, graphs)))

        return self._said(current, t, before)

    def _said(self, current: Callable[[Instant], Counter[Row]], t: Instant, before: Instant | None) -> Counter[Row]:
        operator = self._profile.operator
        needs = operator is not StreamOperator.RSTREAM
        previous: Counter[Row] = current(before) if needs and before is not None else Counter()
        rows = difference(operator, previous, current(t), sets=self._profile.r2s_set)
        if isinstance(self._query.form, Construct):
            return instantiate(self._query.form.template, in_scope(self._query.pattern), rows)
        return rows


def _store(query: ContinuousQuery, static: StaticData) -> tuple[ox.Store, Sequence[ox.NamedNode | ox.DefaultGraph]]:
    """Return a store with the static data, and the graph of each window in it."""
    store = ox.Store()
    default = static.default.union(*(static.named.get(name, frozenset()) for name in query.dataset.default))
    store.extend([quad_of(triple, ox.DefaultGraph()) for triple in default])
    for name in static_names(query, static):
        store.extend([quad_of(triple, ox.NamedNode(name.value)) for triple in static.named[name]])
    graphs: list[ox.NamedNode | ox.DefaultGraph] = []
    for window in query.windows:
        graph = ox.DefaultGraph() if window.name is None else ox.NamedNode(window.name.value)
        store.add_graph(graph)
        graphs.append(graph)
    return store, graphs


def _questions(
    query: ContinuousQuery, profile: Profile, static: StaticData, text: str | None
) -> Callable[[Instant], str]:
    if text is not None:
        return lambda _: text
    plain = oracle_query(replace(query, pattern=profile.reading(query.pattern)), static_names(query, static))
    if asks_now(plain):
        return lambda t: print_sparql(at_time(plain, t))
    printed = print_sparql(plain)
    return lambda _: printed


def _moved(windowed: WindowedStream, t: Instant, moved: Moved) -> Sequence[Element]:
    assert windowed.grid is not None
    k = windowed.grid.last_closed(t)
    if k is None:
        return ()
    start = None if moved.start is None else max(windowed.grid.open(k), windowed.grid.t0) + moved.start
    return _between(windowed, start, windowed.grid.close(k) + moved.end)


def _between(windowed: WindowedStream, start: Instant | None, end: Instant) -> Sequence[Element]:
    first = 0 if start is None else bisect_left(windowed.elements, start, key=_time)
    return windowed.elements[first : bisect_left(windowed.elements, end, key=_time)]


def _time(element: Element) -> Instant:
    return element.t
