"""Two engines around pyoxigraph, as practitioners build them by hand.

    python -m hydrograph_gauge.engines.oxigraph incremental
    python -m hydrograph_gauge.engines.oxigraph periodic

`incremental` uses event time: one sliding store, evaluated at each close. `periodic` uses the wall clock, as many
engines do: it evaluates the elements that have arrived once a slide, so load causes duplicates and skipped input.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyoxigraph as ox

from hydrograph.algebra.queries import ContinuousQuery, Select, StreamOperator
from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import UnsupportedError, UsageError
from hydrograph.language import parse
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.terms import Iri
from hydrograph.windows.profile import RSPQL, Origin, Profile
from hydrograph.windows.report import Policy
from hydrograph.windows.scope import Align, Grid
from hydrograph_gauge.engines.adapter import Replies, serve
from hydrograph_gauge.engines.protocol import Answer, Finished
from hydrograph_gauge.oracle.plain_sparql import solutions_query
from hydrograph_gauge.oracle.window_store import GraphName, WindowStore, graph_name

PERIODIC: Profile = replace(
    RSPQL, name="oxigraph-periodic", align=Align.CLOSE, origin=Origin.FIRST_EVENT, report=Policy(non_empty=True)
)
"""What `periodic` does, over the times at which elements come: it asks one slide after the first of them."""


@dataclass(slots=True)
class WindowedQuery:
    """Registered query: its store holds the static data, and each window as a graph of that name."""

    text: str
    grid: Grid
    store: WindowStore[ox.Triple]
    windows: dict[str, list[int]]
    """Numbers of the windows that read a stream."""
    elements: deque[tuple[float, list[int], list[ox.Triple]]] = field(default_factory=deque)
    """Time, windows and triples of the elements in the windows, oldest first."""
    next_close: int | None = None
    last: int = 0

    def add(self, at: float, stream: str, triples: tuple[str, ...]) -> None:
        """Add an element to the windows that read its stream."""
        windows = self.windows.get(stream, [])
        read = [q.triple for q in ox.parse("\n".join(triples).encode(), format=ox.RdfFormat.N_TRIPLES, lenient=True)]
        if windows and read:
            self.elements.append((at, windows, read))
            for window in windows:
                self.store.add(window, read)

    def remove_before(self, start: float) -> None:
        """Remove the elements from before a time."""
        while self.elements and self.elements[0][0] < start:
            _, windows, triples = self.elements.popleft()
            for window in windows:
                self.store.remove(window, triples)

    def rows(self) -> tuple[dict[str, str], ...]:
        """Return the answer over the content of the windows."""
        solutions = self.store.select(self.text)
        names = [variable.value for variable in solutions.variables]
        return tuple(
            {name: str(node) for name in names if (node := solution[name]) is not None} for solution in solutions
        )


def _to_quad(triple: ox.Triple, graph: GraphName) -> ox.Quad:
    return ox.Quad(triple.subject, triple.predicate, triple.object, graph)


class _Oxigraph(ABC):
    """Base of both engines."""

    def __init__(self) -> None:
        self.static: list[tuple[str, str | None]] = []
        self.queries: dict[str, WindowedQuery] = {}

    def load(self, file: str, graph: str | None) -> None:
        """Remember a file; every query has a store of its own."""
        if not Path(file).is_file():
            raise UsageError(f"{file}: no such file")
        self.static.append((file, graph))

    def register(self, name: str, text: str) -> None:
        """Register a query over time windows of one size."""
        query = parse(text)
        grid = _grid(query)
        store = WindowStore(_to_quad)
        for file, graph in self.static:
            store.load_static(graph_name(None if graph is None else Iri(graph)), file)
        windows: dict[str, list[int]] = {}
        for window in query.windows:
            windows.setdefault(window.stream.value, []).append(store.open_window(graph_name(window.name)))
        names = tuple(Iri(graph) for _, graph in self.static if graph is not None)
        self.queries[name] = WindowedQuery(print_sparql(solutions_query(query, names)), grid, store, windows)

    def unregister(self, name: str) -> None:
        """Forget a query."""
        self.queries.pop(name, None)

    @abstractmethod
    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Take an element."""


class IncrementalOxigraph(_Oxigraph):
    """Event time: a window is answered when an element shows that it is over, and at the end of the stream."""

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Answer the windows that close up to `t`, then take the element."""
        for name, query in self.queries.items():
            if stream not in query.windows:
                continue
            yield from self._close(name, query, t)
            if query.next_close is None:
                query.next_close = _first_close(query.grid, t)
            query.add(t, stream, triples)
            query.last = t

    def end(self) -> Replies:
        """Answer the windows that are still open."""
        for name, query in self.queries.items():
            yield from self._close(name, query, query.last + query.grid.width)

    def _close(self, name: str, query: WindowedQuery, until: int) -> Replies:
        while query.next_close is not None and query.next_close <= until:
            query.remove_before(query.next_close - query.grid.width)
            yield Answer(query=name, rows=query.rows(), t=query.next_close)
            yield Finished(query=name)
            query.next_close += query.grid.step

    def due(self) -> None:
        """Return no time: this engine needs no clock."""

    def tick(self) -> Replies:
        """Do nothing."""
        return ()


class PeriodicOxigraph(_Oxigraph):
    """Wall clock: every slide, evaluate the elements that arrived in the last `width` milliseconds."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Start without queries."""
        super().__init__()
        self._clock = clock
        self._sleep = sleep
        self._due: dict[str, float] = {}

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:  # noqa: ARG002
        """Answer what was due before, then take an element as of now; the first starts the clock of each query."""
        yield from self.tick()
        now = self._clock()
        for name, query in self.queries.items():
            if stream in query.windows:
                self._due.setdefault(name, now + query.grid.step / 1000)
                query.add(now, stream, triples)

    def end(self) -> Replies:
        """Execute each query once more when it is due, then stop: nothing else will come."""
        last = sorted((due, name) for name, due in self._due.items() if name in self.queries)
        for due, name in last:
            self._sleep(max(due - self._clock(), 0))
            yield from self._answers({name: due})

    def due(self) -> float | None:
        """Return the time to the next execution."""
        waiting = [due for name, due in self._due.items() if name in self.queries]
        return max(min(waiting) - self._clock(), 0) if waiting else None

    def tick(self) -> Replies:
        """Execute what is due; slides that were missed are not made up for."""
        now = self._clock()
        late = [name for name, due in self._due.items() if due <= now and name in self.queries]
        due = {}
        for name in late:
            step = self.queries[name].grid.step / 1000
            self._due[name] += step * ((now - self._due[name]) // step + 1)
            due[name] = self._due[name] - step
        return self._answers(due)

    def _answers(self, due: Mapping[str, float]) -> Iterator[Answer | Finished]:
        """Answer over what came since a window before each was due: the first element lies on that border."""
        for name, at in due.items():
            query = self.queries[name]
            query.remove_before(at - query.grid.width / 1000)
            yield Answer(query=name, rows=query.rows())
            yield Finished(query=name)


def _grid(query: ContinuousQuery) -> Grid:
    """Return the one grid of a query's windows, or raise UnsupportedError."""
    if not isinstance(query.form, Select) or query.operator not in (None, StreamOperator.RSTREAM):
        raise UnsupportedError("only SELECT with Rstream is answered")
    definitions = {window.definition for window in query.windows}
    definition = next(iter(definitions), None)
    if len(definitions) != 1 or not isinstance(definition, TimeWindow) or query.every is not None:
        raise UnsupportedError("only time windows of one width and slide are answered")
    if any(window.name is None for window in query.windows):
        raise UnsupportedError("only windows with a name are answered")
    return Grid.of(definition)


def _first_close(grid: Grid, t: int) -> int:
    """Return the close of the first window that holds `t`."""
    return grid.first_close + max(0, -(-(t + 1 - grid.first_close) // grid.step)) * grid.step


if __name__ == "__main__":
    serve({"incremental": IncrementalOxigraph, "periodic": PeriodicOxigraph}[sys.argv[1]]())
