"""pyoxigraph with windows around it, as people build it by hand; two engines that speak the testbed's protocol.

    python -m hydrograph_gauge.engines.oxigraph incremental
    python -m hydrograph_gauge.engines.oxigraph periodic

`incremental` goes by event time: one store, to which elements are added and from which they are removed, asked at each
close. `periodic` goes by the clock on the wall, as many engines do: it asks once a slide about what has arrived, so
that load shows as duplicates and skipped input.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
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
from hydrograph_gauge.engines.program import Answers, serve
from hydrograph_gauge.engines.protocol import Answer, Finished
from hydrograph_gauge.oracle.prepare import solutions_query

PERIODIC: Profile = replace(
    RSPQL, name="oxigraph-periodic", align=Align.CLOSE, origin=Origin.FIRST_EVENT, report=Policy(non_empty=True)
)
"""What `periodic` does, over the times at which elements come: it asks one slide after the first of them."""


@dataclass(slots=True)
class Standing:
    """A registered query: its store holds the static data, and each window as a graph of that name."""

    text: str
    grid: Grid
    graphs: dict[str, list[ox.NamedNode]]
    """The windows that read a stream."""
    store: ox.Store
    inside: deque[tuple[float, list[ox.Quad]]] = field(default_factory=deque)
    counts: Counter[ox.Quad] = field(default_factory=Counter)
    """How many elements in the window hold a quad: it leaves with the last of them (S3)."""
    next_close: int | None = None
    last: int = 0

    def add(self, at: float, stream: str, triples: tuple[str, ...]) -> None:
        """Take an element in."""
        read = list(ox.parse("\n".join(triples).encode(), format=ox.RdfFormat.N_TRIPLES, lenient=True))
        quads = [
            ox.Quad(quad.subject, quad.predicate, quad.object, graph)
            for graph in self.graphs.get(stream, [])
            for quad in read
        ]
        if quads:
            self.inside.append((at, quads))
            self.counts.update(quads)
            self.store.extend(quads)

    def remove_before(self, start: float) -> None:
        """Let go of elements from before a time."""
        while self.inside and self.inside[0][0] < start:
            for quad in self.inside.popleft()[1]:
                self.counts[quad] -= 1
                if not self.counts[quad]:
                    del self.counts[quad]
                    self.store.remove(quad)

    def rows(self) -> tuple[dict[str, str], ...]:
        """Return the answer over what is inside."""
        found = self.store.query(self.text)
        assert isinstance(found, ox.QuerySolutions)
        names = [variable.value for variable in found.variables]
        return tuple({name: str(term) for name in names if (term := solution[name]) is not None} for solution in found)


class _Oxigraph(ABC):
    """What both engines share."""

    def __init__(self) -> None:
        self.static: list[tuple[str, str | None]] = []
        self.standing: dict[str, Standing] = {}

    def load(self, file: str, graph: str | None) -> None:
        """Remember a file; every query has a store of its own."""
        if not Path(file).is_file():
            raise UsageError(f"{file}: no such file")
        self.static.append((file, graph))

    def register(self, name: str, text: str) -> None:
        """Register a query over time windows of one size."""
        query = parse(text)
        grid = _grid(query)
        store = ox.Store()
        for file, graph in self.static:
            target = ox.DefaultGraph() if graph is None else ox.NamedNode(graph)
            store.bulk_load(path=file, format=ox.RdfFormat.N_TRIPLES, to_graph=target, lenient=True)
        graphs: dict[str, list[ox.NamedNode]] = {}
        for window in query.windows:
            assert window.name is not None
            node = ox.NamedNode(window.name.value)
            store.add_graph(node)
            graphs.setdefault(window.stream.value, []).append(node)
        names = tuple(Iri(graph) for _, graph in self.static if graph is not None)
        self.standing[name] = Standing(print_sparql(solutions_query(query, names)), grid, graphs, store)

    def unregister(self, name: str) -> None:
        """Forget a query."""
        self.standing.pop(name, None)

    @abstractmethod
    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:
        """Take an element."""


class Incremental(_Oxigraph):
    """Event time: a window is answered when an element shows that it is over, and at the end of the stream."""

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:
        """Answer the windows that close up to `t`, then take the element."""
        for name, query in self.standing.items():
            if stream not in query.graphs:
                continue
            yield from self._close(name, query, t)
            if query.next_close is None:
                query.next_close = _first_close(query.grid, t)
            query.add(t, stream, triples)
            query.last = t

    def end(self) -> Answers:
        """Answer the windows that are still open."""
        for name, query in self.standing.items():
            yield from self._close(name, query, query.last + query.grid.width)

    def _close(self, name: str, query: Standing, until: int) -> Answers:
        while query.next_close is not None and query.next_close <= until:
            query.remove_before(query.next_close - query.grid.width)
            yield Answer(query=name, rows=query.rows(), t=query.next_close)
            yield Finished(query=name)
            query.next_close += query.grid.step

    def due(self) -> None:
        """Ask for no clock."""

    def tick(self) -> Answers:
        """Do nothing."""
        return ()


class Periodic(_Oxigraph):
    """The clock on the wall: every slide, the elements that came in the last `width` milliseconds."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        """Start without queries."""
        super().__init__()
        self._clock = clock
        self._sleep = sleep
        self._due: dict[str, float] = {}

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:  # noqa: ARG002
        """Answer what was due before, then take an element as of now; the first starts the clock of each query."""
        yield from self.tick()
        now = self._clock()
        for name, query in self.standing.items():
            if stream in query.graphs:
                self._due.setdefault(name, now + query.grid.step / 1000)
                query.add(now, stream, triples)

    def end(self) -> Answers:
        """Execute each query once more when it is due, then stop: nothing else will come."""
        last = sorted((due, name) for name, due in self._due.items() if name in self.standing)
        for due, name in last:
            self._sleep(max(due - self._clock(), 0))
            yield from self._answers({name: due})

    def due(self) -> float | None:
        """Return the time to the next execution."""
        waiting = [due for name, due in self._due.items() if name in self.standing]
        return max(min(waiting) - self._clock(), 0) if waiting else None

    def tick(self) -> Answers:
        """Execute what is due; slides that were missed are not made up for."""
        now = self._clock()
        late = [name for name, due in self._due.items() if due <= now and name in self.standing]
        due = {}
        for name in late:
            step = self.standing[name].grid.step / 1000
            self._due[name] += step * ((now - self._due[name]) // step + 1)
            due[name] = self._due[name] - step
        return self._answers(due)

    def _answers(self, due: Mapping[str, float]) -> Iterator[Answer | Finished]:
        """Answer over what came since a window before each was due: the first element lies on that border."""
        for name, at in due.items():
            query = self.standing[name]
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
    serve({"incremental": Incremental, "periodic": Periodic}[sys.argv[1]]())
