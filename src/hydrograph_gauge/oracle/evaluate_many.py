"""Expected reports of many queries at once, from a store that slides along the streams.

A window is a named graph of the store; queries that read the same window of the same stream share it. Queries with
windows in the default graph have their own store, because others must not see that content. This works for queries
that report when their time windows close; `evaluate` answers all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyoxigraph as ox

from hydrograph.algebra.nodes import Graph, Window
from hydrograph.algebra.queries import Construct, ContinuousQuery, StreamOperator
from hydrograph.algebra.walk import visible_variables
from hydrograph.algebra.windows import PastWindow, TimeWindow
from hydrograph.errors import HydrographError
from hydrograph.rdf.terms import Iri, Variable
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.content import WindowedStream
from hydrograph.windows.profile import Profile
from hydrograph.windows.r2s import difference
from hydrograph.windows.report import When
from hydrograph.windows.scope import Grid
from hydrograph_gauge.oracle.dataset import TripleText, terms_of, texts_of
from hydrograph_gauge.oracle.evaluate import instantiate
from hydrograph_gauge.oracle.plain_sparql import nodes, rewrite, sparql_by_time
from hydrograph_gauge.oracle.window_store import TextQuads, WindowStore, graph_name
from hydrograph_gauge.run_records import RowText


@dataclass(frozen=True, slots=True)
class OracleQuery:
    """Query for the oracle; `text` is the SPARQL for each report, if it is not to be made from the query.

    The profile is complete: it already has the operator and the period of the query's text.
    """

    name: str
    query: ContinuousQuery
    profile: Profile
    text: str | None = None


@dataclass(frozen=True, slots=True)
class WindowView:
    """One window on one stream, placed in time."""

    stream: str
    grid: Grid
    delay: Duration = 0

    def content(self, t: Instant) -> tuple[Instant, Instant]:
        """Return from when to before when lies what the window holds at a report at `t`: its last closed content."""
        k = self.grid.last_closed(t)
        if k is None:
            return 0, 0
        start, end = max(self.grid.open(k), self.grid.t0), self.grid.close(k)
        return start - self.delay, max(start, end) - self.delay


@dataclass(frozen=True, slots=True)
class DueReport:
    """A report that is due; `said` is False where it only comes before the first one that counts."""

    name: str
    t: Instant
    open: Instant | None
    close: Instant | None
    said: bool = True


@dataclass(frozen=True, slots=True)
class OracleReport:
    """Expected report in N-Triples, with the number of triples in its windows."""

    name: str
    t: Instant
    open: Instant | None
    close: Instant | None
    content: int
    rows: Counter[RowText]


def can_slide(asked: OracleQuery) -> bool:
    """Tell whether a query reports at the closes of time windows, and does not ask what its windows are called."""
    if asked.profile.report.when is not When.WINDOW_CLOSE or not asked.query.windows:
        return False
    if asked.text is not None and any(window.name is not None for window in asked.query.windows):
        return False  # its own SPARQL calls windows by their names, which they do not have in a store that is shared
    definitions = [asked.profile.windowing(window.definition) for window in asked.query.windows]
    closing = all(isinstance(each, TimeWindow | PastWindow) and each.slide is not None for each in definitions)
    found = nodes(asked.query.pattern)
    return closing and not any(isinstance(node, Window) and isinstance(node.name, Variable) for node in found)


def view_of(stream: Iri, placed: WindowedStream) -> WindowView:
    """Return the view of a placed window."""
    assert placed.grid is not None
    return WindowView(stream.value, placed.grid, placed.delay)


@dataclass(frozen=True, slots=True)
class StaticTexts:
    """Static triples as texts: the default graph, and named ones by IRI."""

    default: Sequence[TripleText] = ()
    named: Mapping[str, Sequence[TripleText]] = field(default_factory=dict)


class SlidingOracle:
    """Answers the reports of many queries in order of time."""

    def __init__(
        self,
        asked: Iterable[OracleQuery],
        views: Mapping[str, Sequence[WindowView]],
        streams: Mapping[str, pa.Table],
        static: StaticTexts,
    ) -> None:
        """Take the queries, the views of each in the order of its windows, and the streams as columns t, s, p, o."""
        self._to_quad = TextQuads()
        self._streams = {name: _StreamRows(table) for name, table in streams.items()}
        self._static = static
        self._stores: dict[object, _SharedStore] = {}
        self._prepared: dict[str, _PreparedQuery] = {}
        self.failed: dict[str, str] = {}
        """Queries that cannot be answered, and why."""
        for each in asked:
            try:
                self._prepared[each.name] = self._prepare(each, views[each.name])
            except HydrographError as error:
                self.failed[each.name] = str(error)

    def _prepare(self, asked: OracleQuery, views: Sequence[WindowView]) -> _PreparedQuery:
        query = asked.query
        slots = tuple(_Slot(view, window.name is None) for window, view in zip(query.windows, views, strict=True))
        feeding = tuple(slot for slot in slots if slot.feeds)
        key = query.dataset.default, query.dataset.named, feeding
        if key not in self._stores:
            self._stores[key] = _SharedStore(self._static, query, self._to_quad)
        store = self._stores[key]
        graphs = [store.open_window(slot) for slot in slots]
        names = {window.name: graph for window, graph in zip(query.windows, graphs, strict=True) if graph is not None}
        sparql = _sparql_of(asked, names, store.static_names)
        return _PreparedQuery(asked, tuple(dict.fromkeys(slots)), store, sparql, visible_variables(query.pattern))

    def answers(self, due: Iterable[DueReport]) -> Iterator[OracleReport]:
        """Yield what is expected of each report; they come in order of time. A query that fails is asked no more."""
        for each in due:
            if each.name in self.failed:
                continue
            prepared = self._prepared[each.name]
            store, profile = prepared.store, prepared.asked.profile
            for slot in prepared.slots:
                store.move(slot, self._streams[slot.view.stream], each.t)
            try:
                answer = Counter(store.answer(prepared.sparql(each.t)))
            except (HydrographError, SyntaxError) as error:
                self.failed[each.name] = str(error)
                continue
            rows = difference(profile.operator, prepared.previous, answer, sets=profile.r2s_set)
            if profile.operator is not StreamOperator.RSTREAM:
                prepared.previous = answer
            if isinstance(prepared.asked.query.form, Construct):
                rows = _construct(prepared.asked.query.form, prepared.columns, rows)
            if each.said and (rows or profile.emit_empty):
                content = sum(store.size(slot) for slot in prepared.slots)
                yield OracleReport(each.name, each.t, each.open, each.close, content, rows)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A view and whether it feeds the default graph."""

    view: WindowView
    feeds: bool


@dataclass(slots=True)
class _PreparedQuery:
    asked: OracleQuery
    slots: tuple[_Slot, ...]
    store: _SharedStore
    sparql: Callable[[Instant], str]
    columns: tuple[Variable, ...]
    previous: Counter[RowText] = field(default_factory=Counter)


class _SharedStore:
    """Store of all queries with the same static data and the same windows in the default graph."""

    def __init__(self, static: StaticTexts, query: ContinuousQuery, to_quad: TextQuads) -> None:
        self._store = WindowStore(to_quad)
        self._windows: dict[_Slot, int] = {}
        self._ranges: dict[_Slot, tuple[int, int]] = {}
        """The rows of the stream that each window holds."""
        whole = not query.dataset.default and not query.dataset.named
        for part in (static.default, *(static.named.get(name.value, ()) for name in query.dataset.default)):
            self._store.add_static(ox.DefaultGraph(), part)
        names = list(static.named) if whole else [n.value for n in query.dataset.named if n.value in static.named]
        for name in names:
            self._store.add_static(ox.NamedNode(name), static.named[name])
        self.static_names = tuple(map(Iri, names))

    def open_window(self, slot: _Slot) -> Iri | None:
        """Return the name of the graph of a view, None for the default graph; the first call opens its window."""
        if slot not in self._windows:
            name = None if slot.feeds else _graph_iri(len(self._windows))
            self._windows[slot] = self._store.open_window(graph_name(name))
        return None if slot.feeds else _graph_iri(self._windows[slot])

    def size(self, slot: _Slot) -> int:
        """Return how many triples a view holds."""
        return self._store.size(self._windows[slot])

    def move(self, slot: _Slot, rows: _StreamRows, t: Instant) -> None:
        """Slide a view to its content at a report at `t`."""
        window = self._windows[slot]
        start, end = rows.places(slot.view.content(t))
        old_start, old_end = self._ranges.get(slot, (start, start))
        self._ranges[slot] = start, end
        self._store.remove(window, rows.triples[old_start : min(start, old_end)])
        self._store.remove(window, rows.triples[max(end, old_start) : old_end])
        self._store.add(window, rows.triples[start : min(old_start, end)])
        self._store.add(window, rows.triples[max(old_end, start) : end])

    def answer(self, text: str) -> Iterator[RowText]:
        """Yield the rows of an answer."""
        return self._store.answer_text(text)


def _graph_iri(number: int) -> Iri:
    return Iri(f"urn:hydrograph:view:{number}")


class _StreamRows:
    """A part of a stream in order of time."""

    def __init__(self, table: pa.Table) -> None:
        ordered = table.sort_by("t")
        self._times = ordered.column("t").to_numpy()
        columns = [ordered.column(name).to_pylist() for name in ("s", "p", "o")]
        self.triples: list[TripleText] = list(zip(*columns, strict=True))

    def places(self, times: tuple[Instant, Instant]) -> tuple[int, int]:
        start, end = self._times.searchsorted(times, side="left")
        return int(start), int(end)


def _sparql_of(
    asked: OracleQuery, names: Mapping[Iri | None, Iri], static: tuple[Iri, ...]
) -> Callable[[Instant], str]:
    """Return the SPARQL of a query by the time of a report, with the names that windows have in the store."""

    def rename(node: object) -> object:
        if isinstance(node, Window | Graph) and isinstance(node.name, Iri) and node.name in names:
            return replace(node, name=names[node.name])
        return node

    windows = tuple(
        replace(window, name=None if window.name is None else names[window.name]) for window in asked.query.windows
    )
    pattern = rewrite(asked.profile.reading(asked.query.pattern), rename)
    return sparql_by_time(replace(asked.query, pattern=pattern, windows=windows), static, asked.text)


def _construct(form: Construct, columns: tuple[Variable, ...], rows: Counter[RowText]) -> Counter[RowText]:
    return texts_of(instantiate(form.template, columns, terms_of(rows)))
