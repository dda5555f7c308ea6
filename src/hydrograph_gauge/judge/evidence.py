"""Counterfactual evidence: answers of a query over other content, with windows moved or elements left out.

One store holds the static data and the windows; between two evaluations only the difference is changed. `explain_row`
finds the smallest set of triples that makes a row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from hydrograph.algebra.queries import Construct, ContinuousQuery, StreamOperator
from hydrograph.algebra.walk import visible_variables
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri, Term, Triple
from hydrograph.temporal import Instant
from hydrograph.windows.content import WindowedStream
from hydrograph.windows.profile import RSPQL, Profile
from hydrograph.windows.r2s import difference
from hydrograph.windows.report import When, content_at, domain_tick
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Moment
from hydrograph_gauge.oracle.compare import Comparison, rows_equal
from hydrograph_gauge.oracle.dataset import NO_STATIC, Evaluator, Row, StaticData, dataset_of, static_names
from hydrograph_gauge.oracle.evaluate import Streams, instantiate, place_windows
from hydrograph_gauge.oracle.plain_sparql import sparql_by_time
from hydrograph_gauge.oracle.window_store import graph_name, load_dataset

WindowTriples: TypeAlias = frozenset[tuple[int, Triple]]
"""Triples of the windows of a query, each with the number of its window."""

ElementId: TypeAlias = tuple[Iri, int]
"""An element: its stream, and its place there."""


@dataclass(frozen=True, slots=True)
class BorderShift:
    """Shift of window borders in milliseconds to later times; a start of None: elements never leave."""

    start: int | None = 0
    end: int = 0


NO_SHIFT = BorderShift()

_QUESTION = 100
"""Fixed cost of an evaluation, in triples."""


class Evidence:
    """Query with all of its input, for evaluation over altered content."""

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
        self._placed = place_windows(query, streams, self._profile, start)
        self._tick = domain_tick(self._placed, self._profile.tick)
        read = replace(query, pattern=self._profile.reading(query.pattern))
        self._sparql = sparql_by_time(read, static_names(query, static), text)
        self._store = load_dataset(dataset_of(query, static, ()))
        for window in query.windows:
            self._store.open_window(graph_name(window.name))
        self._current: WindowTriples = frozenset()
        self.cost = 0
        """Triples that the evaluator has read so far: searches keep to a budget."""

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

    def elements(self, t: Instant, seq: int | None = None, moved: BorderShift = NO_SHIFT) -> list[tuple[int, Element]]:
        """Return the elements that the windows hold at a report, each with the number of its window."""
        found: list[tuple[int, Element]] = []
        for number, windowed in enumerate(self._placed):
            if moved == NO_SHIFT:
                moment = self._moment(t) if seq is None else Moment.arrival(t, windowed.stream, seq)
                found += [(number, e) for e in content_at(windowed, moment, self._profile.report, self._tick)]
            else:
                found += [(number, e) for e in _moved(windowed, t, moved)]
        return found

    def opens(self, t: Instant) -> Instant:
        """Return the start of the widest window that is active at `t`."""
        grids = [windowed.grid for windowed in self._placed if windowed.grid is not None]
        return min((max(grid.open(grid.active(t)), grid.t0) for grid in grids), default=t)

    def is_whole(self, t: Instant) -> bool:
        """Tell whether the first window has closed at `t`: earlier ones begin with the stream."""
        return all(windowed.grid is None or t >= windowed.grid.first_close for windowed in self._placed)

    def seen(self, t: Instant, moved: int, seq: int | None = None) -> list[tuple[int, Element]]:
        """Return the visible elements when an element arrives at `t`, if windows begin `moved` milliseconds later."""
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

    def place(self, number: int, element: Element) -> ElementId:
        """Return which element it is, whatever window shows it."""
        return self._query.windows[number].stream, element.seq

    def held(
        self, elements: Iterable[tuple[int, Element]], without: frozenset[ElementId] = frozenset()
    ) -> WindowTriples:
        """Return the triples of elements."""
        kept = ((n, e) for n, e in elements if not without or self.place(n, e) not in without)
        return frozenset((number, triple) for number, element in kept for triple in element.triples)

    def solutions(self, held: WindowTriples, t: Instant) -> Counter[Row]:
        """Return what the query answers over this content at a time, before the stream operator."""
        self.cost += len(held) + _QUESTION
        for number, triple in self._current - held:
            self._store.remove(number, (triple,))
        entering: list[list[Triple]] = [[] for _ in self._placed]
        for number, triple in held - self._current:
            entering[number].append(triple)
        for number, triples in enumerate(entering):
            self._store.add(number, triples)
        self._current = held
        return Counter(self._store.answer(self._sparql(t)))

    def cost_of(self, t: Instant, moved: BorderShift = NO_SHIFT) -> int:
        """Return what a question about the report at `t` costs."""
        return sum(len(element.triples) for _, element in self.elements(t, moved=moved)) + _QUESTION

    def answer(
        self,
        t: Instant,
        before: Instant | None,
        moved: BorderShift = NO_SHIFT,
        without: frozenset[ElementId] = frozenset(),
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
            return Counter(evaluator(self._sparql(at), dataset_of(self._query, self._static, graphs)))

        return self._said(current, t, before)

    def _said(self, current: Callable[[Instant], Counter[Row]], t: Instant, before: Instant | None) -> Counter[Row]:
        operator = self._profile.operator
        needs = operator is not StreamOperator.RSTREAM
        previous: Counter[Row] = current(before) if needs and before is not None else Counter()
        rows = difference(operator, previous, current(t), sets=self._profile.r2s_set)
        if isinstance(self._query.form, Construct):
            return instantiate(self._query.form.template, visible_variables(self._query.pattern), rows)
        return rows


def _moved(windowed: WindowedStream, t: Instant, moved: BorderShift) -> Sequence[Element]:
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


MAX_ROWS = 20
"""Rows of a window that are shown, missing and extra ones each."""

MAX_EXPLAINED_ROWS = 5
"""Rows of a window whose triples are searched for."""

MAX_EXPLAINED_WINDOWS = 25
"""Wrong windows whose rows are explained."""

EXPLANATION_BUDGET = 3_000_000
"""What all explanations of a run may cost, in triples that the evaluator is asked over."""

MAX_TRIPLES = 12
"""Triples that are shown at most; a row that needs more, such as a count, is blamed on the first."""

_ROW_BUDGET = 100_000
_HOPS = 3

_Makes: TypeAlias = Callable[[WindowTriples], bool]


def explain_row(
    evidence: Evidence, held: WindowTriples, row: Row, t: Instant, by: Comparison = Comparison.EXACT
) -> tuple[str, ...]:
    """Return triples of the content that make a row of the answer; none if they do not."""
    start = evidence.cost

    def makes(some: WindowTriples) -> bool:
        return any(rows_equal(row, other, by) for other in evidence.solutions(some, t))

    def may_ask() -> bool:
        return evidence.cost - start < _ROW_BUDGET

    near = _near(held, row, makes)
    if near is None:
        return ()
    found = _smallest(near, makes, may_ask)
    return triple_texts(found)[:MAX_TRIPLES]


def triple_texts(held: WindowTriples) -> tuple[str, ...]:
    """Return triples as texts, each once, in their order."""
    return tuple(sorted({_text(triple) for _, triple in held}))


def _near(held: WindowTriples, row: Row, makes: _Makes) -> WindowTriples | None:
    """Return content that makes the row, from what has to do with its terms outwards; None if all of it does not."""
    terms: set[Term] = {term for term in row if term is not None}
    before = 0
    for _ in range(_HOPS):
        some = frozenset((n, triple) for n, triple in held if triple.subject in terms or triple.object in terms)
        if len(some) > before and makes(some):
            return some
        before = len(some)
        terms |= {term for _, triple in some for term in (triple.subject, triple.object)}
    return held if makes(held) else None


def _smallest(content: WindowTriples, makes: _Makes, may_ask: Callable[[], bool]) -> WindowTriples:
    """Leave out half of what is left, then quarters, and so on, whatever can go."""
    left = sorted(content, key=lambda each: (each[0], _text(each[1])))
    size = len(left) // 2
    while size and may_ask():
        at = 0
        while at < len(left) and may_ask():
            rest = left[:at] + left[at + size :]
            if makes(frozenset(rest)):
                left = rest
            else:
                at += size
        size = min(size // 2, max(len(left) // 2, 1)) if size > 1 else 0
    return frozenset(left)


def _text(triple: Triple) -> str:
    return f"{term_text(triple.subject)} {term_text(triple.predicate)} {term_text(triple.object)} ."
