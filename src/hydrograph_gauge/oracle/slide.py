"""Expected answers of many queries at once: one store is slid along the stream, and every query due is asked there.

A window is a named graph of the store; queries that read the same window of the same stream share it. What feeds the
default graph needs a store of its own, because other queries must not see it. This serves queries that report when
their time windows close; `evaluate` answers all others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyoxigraph as ox

from hydrograph.algebra.nodes import Graph, Window
from hydrograph.algebra.queries import Construct, ContinuousQuery, StreamOperator
from hydrograph.algebra.windows import PastWindow, TimeWindow
from hydrograph.errors import HydrographError
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_BOOLEAN
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.content import WindowedStream
from hydrograph.windows.profile import Profile
from hydrograph.windows.r2s import difference
from hydrograph.windows.report import When
from hydrograph.windows.scope import Grid
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.evaluate import instantiate
from hydrograph_gauge.oracle.prepare import asks_now, at_time, in_scope, nodes, oracle_query, rewrite

RowText = tuple[str | None, ...]
Text = tuple[str, str, str]
Named = ox.NamedNode | ox.DefaultGraph


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the oracle is asked it; `text` is the SPARQL for each report, if it is not to be made from the query.

    The profile is complete: what the query's text says about operator and period is in it already.
    """

    name: str
    query: ContinuousQuery
    profile: Profile
    text: str | None = None


@dataclass(frozen=True, slots=True)
class View:
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
class Due:
    """A report that is due; `said` is False where it only comes before the first one that counts."""

    name: str
    t: Instant
    open: Instant | None
    close: Instant | None
    said: bool = True


@dataclass(frozen=True, slots=True)
class Expected:
    """What one report says, in N-Triples, and how many triples its windows held."""

    name: str
    t: Instant
    open: Instant | None
    close: Instant | None
    content: int
    rows: Counter[RowText]


def can_slide(asked: Asked) -> bool:
    """Tell whether a query reports at the closes of time windows, and does not ask what its windows are called."""
    if asked.profile.report.when is not When.WINDOW_CLOSE or not asked.query.windows:
        return False
    if asked.text is not None and any(window.name is not None for window in asked.query.windows):
        return False  # its own SPARQL calls windows by their names, which they do not have in a store that is shared
    definitions = [asked.profile.windowing(window.definition) for window in asked.query.windows]
    closing = all(isinstance(each, TimeWindow | PastWindow) and each.slide is not None for each in definitions)
    found = nodes(asked.query.pattern)
    return closing and not any(isinstance(node, Window) and isinstance(node.name, Variable) for node in found)


def view_of(stream: Iri, placed: WindowedStream) -> View:
    """Return the view of a placed window."""
    assert placed.grid is not None
    return View(stream.value, placed.grid, placed.delay)


@dataclass(frozen=True, slots=True)
class Static:
    """Static triples as texts: the default graph, and named ones by IRI."""

    default: Sequence[Text] = ()
    named: Mapping[str, Sequence[Text]] = field(default_factory=dict)


class Slides:
    """Answers the reports of many queries in order of time."""

    def __init__(
        self,
        asked: Iterable[Asked],
        views: Mapping[str, Sequence[View]],
        streams: Mapping[str, pa.Table],
        static: Static,
    ) -> None:
        """Take the queries, the views of each in the order of its windows, and the streams as columns t, s, p, o."""
        self._terms = _Terms()
        self._streams = {name: _Rows(table, self._terms) for name, table in streams.items()}
        self._static = static
        self._stores: dict[object, _Store] = {}
        self._standing: dict[str, _Standing] = {}
        self.failed: dict[str, str] = {}
        """Queries that can not be answered, and why."""
        for each in asked:
            try:
                self._standing[each.name] = self._stand(each, views[each.name])
            except HydrographError as error:
                self.failed[each.name] = str(error)

    def _stand(self, asked: Asked, views: Sequence[View]) -> _Standing:
        query = asked.query
        slots = tuple(_Slot(view, window.name is None) for window, view in zip(query.windows, views, strict=True))
        feeding = tuple(slot for slot in slots if slot.feeds)
        key = query.dataset.default, query.dataset.named, feeding
        if key not in self._stores:
            self._stores[key] = _Store(self._static, query, self._terms, counted=bool(feeding))
        store = self._stores[key]
        names = {
            window.name: Iri(graph.value)
            for window, slot in zip(query.windows, slots, strict=True)
            if isinstance(graph := store.graph(slot), ox.NamedNode)
        }
        question = _questions(asked, names, store.static_names)
        return _Standing(asked, tuple(dict.fromkeys(slots)), store, question, in_scope(query.pattern))

    def answers(self, due: Iterable[Due]) -> Iterator[Expected]:
        """Yield what is expected of each report; they come in order of time. A query that fails is asked no more."""
        for each in due:
            if each.name in self.failed:
                continue
            standing = self._standing[each.name]
            store, profile = standing.store, standing.asked.profile
            for slot in standing.slots:
                store.move(slot, self._streams[slot.view.stream], each.t)
            try:
                answer = Counter(store.ask(standing.question(each.t)))
            except (HydrographError, SyntaxError) as error:
                self.failed[each.name] = str(error)
                continue
            rows = difference(profile.operator, standing.previous, answer, sets=profile.r2s_set)
            if profile.operator is not StreamOperator.RSTREAM:
                standing.previous = answer
            if isinstance(standing.asked.query.form, Construct):
                rows = _constructed(standing.asked.query.form, standing.columns, rows)
            if each.said and (rows or profile.emit_empty):
                content = sum(store.size(slot) for slot in standing.slots)
                yield Expected(each.name, each.t, each.open, each.close, content, rows)


@dataclass(frozen=True, slots=True)
class _Slot:
    """A view and whether it feeds the default graph."""

    view: View
    feeds: bool


@dataclass(slots=True)
class _Standing:
    asked: Asked
    slots: tuple[_Slot, ...]
    store: _Store
    question: Callable[[Instant], str]
    columns: tuple[Variable, ...]
    previous: Counter[RowText] = field(default_factory=Counter)


class _Store:
    """A store with static data, in which the content of views is moved along."""

    def __init__(self, static: Static, query: ContinuousQuery, terms: _Terms, *, counted: bool) -> None:
        self._store = ox.Store()
        self._terms = terms
        self._counts: defaultdict[Named, Counter[Text]] = defaultdict(Counter)
        """How often a triple is in a graph: it leaves with its last copy (S3)."""
        self._sizes: defaultdict[_Slot, Counter[Text]] = defaultdict(Counter)
        self._held: dict[_Slot, tuple[int, int]] = {}
        self._graphs: dict[_Slot, Named] = {}
        whole = not query.dataset.default and not query.dataset.named
        default = [static.default, *(static.named.get(name.value, ()) for name in query.dataset.default)]
        seen = list(static.named) if whole else [n.value for n in query.dataset.named if n.value in static.named]
        self.static_names = tuple(Iri(name) for name in seen)
        for part in default:
            self._store.extend([terms.quad(triple, ox.DefaultGraph()) for triple in part])
            if counted:
                self._counts[ox.DefaultGraph()].update(dict.fromkeys(part, 1))
        for name in seen:
            node = ox.NamedNode(name)
            self._store.add_graph(node)
            self._store.extend([terms.quad(triple, node) for triple in static.named[name]])

    def graph(self, slot: _Slot) -> Named:
        """Return the graph that holds a view."""
        if slot not in self._graphs:
            self._graphs[slot] = self._new_graph(len(self._graphs)) if not slot.feeds else ox.DefaultGraph()
        return self._graphs[slot]

    def _new_graph(self, number: int) -> ox.NamedNode:
        node = ox.NamedNode(f"urn:hydrograph:view:{number}")
        self._store.add_graph(node)  # windows without content exist too (A9)
        return node

    def size(self, slot: _Slot) -> int:
        """Return how many triples a view holds."""
        return len(self._sizes[slot] if slot.feeds else self._counts[self._graphs[slot]])

    def move(self, slot: _Slot, rows: _Rows, t: Instant) -> None:
        """Let a view hold what it holds at a report at `t`."""
        start, end = rows.places(slot.view.content(t))
        old_start, old_end = self._held.get(slot, (start, start))
        self._held[slot] = start, end
        for place in (*range(old_start, min(start, old_end)), *range(max(end, old_start), old_end)):
            self._remove(slot, rows.triples[place])
        self._add(slot, rows, range(start, min(old_start, end)))
        self._add(slot, rows, range(max(old_end, start), end))

    def _add(self, slot: _Slot, rows: _Rows, places: range) -> None:
        graph = self._graphs[slot]
        counts = self._counts[graph]
        new = []
        for place in places:
            triple = rows.triples[place]
            counts[triple] += 1
            if counts[triple] == 1:
                new.append(self._terms.quad(triple, graph))
            if slot.feeds:
                self._sizes[slot][triple] += 1
        self._store.extend(new)

    def _remove(self, slot: _Slot, triple: Text) -> None:
        graph = self._graphs[slot]
        if _taken(self._counts[graph], triple):
            self._store.remove(self._terms.quad(triple, graph))
        if slot.feeds:
            _taken(self._sizes[slot], triple)

    def ask(self, text: str) -> Iterator[RowText]:
        """Return the rows of an answer."""
        found = self._store.query(text)
        if isinstance(found, ox.QueryBoolean):
            yield (term_text(Literal("true" if found else "false", XSD_BOOLEAN)),)
            return
        assert isinstance(found, ox.QuerySolutions), "CONSTRUCT is asked as SELECT"
        for solution in found:
            yield tuple([None if term is None else _text(term) for term in solution])


def _taken(counts: Counter[Text], triple: Text) -> bool:
    """Take one copy away, and tell whether it was the last."""
    counts[triple] -= 1
    if counts[triple]:
        return False
    del counts[triple]
    return True


@dataclass(slots=True)
class _Terms:
    """The evaluator's terms by their texts."""

    _known: dict[str, ox.NamedNode | ox.BlankNode | ox.Literal] = field(default_factory=dict)

    def quad(self, triple: Text, graph: Named) -> ox.Quad:
        s, p, o = (self._term(text) for text in triple)
        assert not isinstance(s, ox.Literal)
        assert isinstance(p, ox.NamedNode)
        return ox.Quad(s, p, o, graph)

    def _term(self, text: str) -> ox.NamedNode | ox.BlankNode | ox.Literal:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = _made(text)
        return found


def _made(text: str) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    match decode(text):
        case Iri(value):
            return ox.NamedNode(value)
        case BlankNode(label):
            return ox.BlankNode("h" + label.encode().hex())  # fewer characters are allowed there than labels have (S4)
        case Literal(lexical, datatype, language):
            if language is not None:
                return ox.Literal(lexical, language=language)
            return ox.Literal(lexical, datatype=ox.NamedNode(datatype))


def _text(term: object) -> str:
    text = str(term)
    return "_:" + bytes.fromhex(text[3:]).decode() if text.startswith("_:h") else text


class _Rows:
    """A part of a stream in order of time."""

    def __init__(self, table: pa.Table, terms: _Terms) -> None:
        ordered = table.sort_by("t")
        self.terms = terms
        self._times = ordered.column("t").to_numpy()
        columns = [ordered.column(name).to_pylist() for name in ("s", "p", "o")]
        self.triples: list[Text] = list(zip(*columns, strict=True))

    def places(self, times: tuple[Instant, Instant]) -> tuple[int, int]:
        start, end = self._times.searchsorted(times, side="left")
        return int(start), int(end)


def _questions(asked: Asked, names: Mapping[Iri | None, Iri], static: tuple[Iri, ...]) -> Callable[[Instant], str]:
    """Return what to ask at a time, with windows called as the store calls them."""
    if (text := asked.text) is not None:
        return lambda _: text

    def renamed(node: object) -> object:
        if isinstance(node, Window | Graph) and isinstance(node.name, Iri) and node.name in names:
            return replace(node, name=names[node.name])
        return node

    windows = tuple(
        replace(window, name=None if window.name is None else names[window.name]) for window in asked.query.windows
    )
    pattern = rewrite(asked.profile.reading(asked.query.pattern), renamed)
    plain = oracle_query(replace(asked.query, pattern=pattern, windows=windows), static)
    if asks_now(plain):
        return lambda t: print_sparql(at_time(plain, t))
    printed = print_sparql(plain)
    return lambda _: printed


def _constructed(form: Construct, columns: tuple[Variable, ...], rows: Counter[RowText]) -> Counter[RowText]:
    solutions: Counter[Row] = Counter()
    for row, count in rows.items():
        solutions[tuple(None if text is None else decode(text) for text in row)] += count
    made = instantiate(form.template, columns, solutions)
    return Counter({tuple(None if term is None else term_text(term) for term in row): n for row, n in made.items()})
