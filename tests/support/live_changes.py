"""Random histories in which queries come, change and go, and drivers die, over streams that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from hydrograph.algebra.queries import StreamOperator
from hydrograph.live.checkpoint.query_store import static_fingerprint
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.step.records import InputBatch, Lateness, QuerySpec, QueryVersion, partition_of
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.windows.profile import Origin
from hydrograph.windows.stream import Element
from tests.support.live_faults import DeadError, MemoryFiles, MemorySource, memory_input
from tests.support.live_histories import DISORDER, History, random_history
from tests.support.random_cases import Case
from tests.support.random_data import Shape, random_graph, random_stream
from tests.support.random_queries import STREAMS
from tests.support.replay_adapter import encode_elements
from tests.support.reported import reports_any

LATENESS = Lateness(delay=DISORDER)


@dataclass(slots=True)
class Lived:
    """A version of a query, and the part of the streams that it has seen."""

    name: str
    version: int
    case: Case
    start: dict[Iri, int]
    end: dict[Iri, int] | None = None
    """Where it was when it was removed."""
    watermark: int | None = None
    """How far it had come when it was removed."""
    replaced: tuple[int, Case] | None = None
    """After how many reports it was given other static data, and the case with it."""

    @property
    def waits(self) -> bool:
        return self.case.profile.origin is not Origin.EPOCH

    @property
    def streams(self) -> tuple[Iri, ...]:
        return tuple(dict.fromkeys(window.stream for window in self.case.query.windows))

    def member(self, placed: Local, graphs: str | None = None) -> RegisteredQuery:
        """Return the query, with the static data of a fingerprint if it has had several."""
        planned = plan(self.case.query, self.case.profile, None if self.waits else self.case.t0)
        partitions = tuple(map(partition_of, self.streams))
        query = QuerySpec(name=self.name, plan=planned, version=self.version, lateness=LATENESS, partitions=partitions)
        cases = [self.case, *([] if self.replaced is None else [self.replaced[1]])]
        statics = [History(case, (), LATENESS).static() for case in cases]
        by_graphs = {static_fingerprint(static): static for static in statics}
        first = static_fingerprint(statics[0])
        placed.forget()
        return RegisteredQuery(
            Stepper(query, by_graphs[graphs or first], EvaluationChoice(placed)), graphs or first, first
        )

    def expected(self, elements: dict[Iri, tuple[Element, ...]], placed: Local) -> list[tuple[int, str]]:
        """Return time and line of what replay reports over what it has seen."""
        found = self._replayed(self.case, elements, placed)
        if self.replaced is None:
            return found
        number, case = self.replaced
        return found[:number] + self._replayed(case, elements, placed)[number:]

    def _replayed(self, case: Case, elements: dict[Iri, tuple[Element, ...]], placed: Local) -> list[tuple[int, str]]:
        ends = {stream: None if self.end is None else self.end[stream] for stream in elements}
        seen = {stream: every[self.start[stream] : ends[stream]] for stream, every in elements.items()}
        if self.waits:
            first = min((element.t for stream in self.streams for element in seen[stream]), default=None)
            case = replace(case, t0=case.profile.start_at(first))
        placed.forget()
        reports = reports_any(replace(case, elements=seen), placed)
        return [(report.t, report.json(self.name, self.version)) for report in reports]


@dataclass(slots=True)
class Group:
    """Queries that share two streams, the files they leave, and drivers that come and go."""

    seed: int
    databases: list[Local]
    rng: Random = field(init=False)
    elements: dict[Iri, tuple[Element, ...]] = field(init=False)
    sources: dict[Iri, MemorySource] = field(init=False)
    batches: list[dict[Iri, int]] = field(init=False)
    checkpoint: MemoryFiles = field(init=False, default_factory=MemoryFiles)
    results: MemoryFiles = field(init=False, default_factory=MemoryFiles)
    lived: dict[tuple[str, int], Lived] = field(init=False, default_factory=dict)
    did: list[str] = field(init=False, default_factory=list)
    loop: BatchLoop = field(init=False)
    _drawn: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Draw the streams, how they are cut, and the first query."""
        self.rng = Random(f"changes {self.seed}")
        self.elements = {
            stream: random_stream(Random(f"changes {self.seed} {stream.value}"), Shape(24, 0, 50, disorder=DISORDER))
            for stream in STREAMS
        }
        at = dict.fromkeys(STREAMS, 0)
        chunks: dict[Iri, list[InputBatch]] = {stream: [] for stream in STREAMS}
        self.batches = []
        while any(at[stream] < len(every) for stream, every in self.elements.items()):
            for stream, every in self.elements.items():
                taken = every[at[stream] : at[stream] + self.rng.randrange(6)]
                if taken:
                    chunks[stream].append(
                        InputBatch(stream, encode_elements(taken), at[stream], at[stream] + len(taken))
                    )
                    at[stream] += len(taken)
            self.batches.append(dict(at))
        self.sources = {stream: MemorySource(found) for stream, found in chunks.items()}
        self._enlist("q0", 1)
        self.start()

    def _enlist(self, name: str, version: int) -> Lived:
        """Draw a query, which begins where the streams stand."""
        while True:
            self._drawn += 1
            case = random_history(1000 * self.seed + self._drawn).case
            if {window.stream for window in case.query.windows} <= set(STREAMS):
                break
        start = {stream: source.there for stream, source in self.sources.items()} if self.lived else {}
        self.lived[name, version] = Lived(name, version, case, {stream: start.get(stream, 0) for stream in STREAMS})
        return self.lived[name, version]

    def _database(self, name: str) -> Local:
        return self.databases[int(name[1:]) % len(self.databases)]

    def start(self) -> None:
        """Start a driver, which finds out where the one before it was."""

        def enrol(name: str, enrolled: QueryVersion, _: RegisteredQuery | None) -> RegisteredQuery:
            return self.lived[name, enrolled.version].member(self._database(name), enrolled.graphs)

        self.loop = BatchLoop(
            self.lived["q0", 1].member(self._database("q0")),
            [memory_input(stream, source) for stream, source in self.sources.items()],
            self.checkpoint,
            self.results,
            about={"query": "q0"},
            restore=enrol,
        )
        self.loop.open()

    def _attempt(self, action: Callable[[], object]) -> None:
        """Do something; now and then a write in it fails, the driver dies and another one takes over."""
        files = self.rng.choice((self.checkpoint, self.results))
        if self.rng.random() < 0.4:
            files.fails, files.half = files.changes + self.rng.randrange(1, 4), self.rng.random() < 0.5
        try:
            action()
        except DeadError:
            files.fails = None
            self.did.append("death")
            self.start()
        files.fails = None

    def change(self) -> None:
        """Let something happen between two batches."""
        running = [self.lived[name, member.stepper.query.version] for name, member in self.loop.queries.items()]
        kind = self.rng.choice(("add", "remove", "replace", "static", "restart", "nothing"))
        if kind == "add" and len(running) < len(self.databases):
            free = set(range(len(self.databases))) - {int(each.name[1:]) for each in running}
            self._add(f"q{min(free)}")
        elif kind == "remove" and running:
            gone = self.rng.choice(running)
            self._end(gone)
            self._attempt(lambda: self.loop.remove(gone.name))
            if self._runs(gone):
                gone.end = None
        elif kind == "replace" and running:
            gone = self.rng.choice(running)
            self._end(gone)
            self._add(gone.name)
            if self._runs(gone):
                gone.end = None
        elif kind == "static" and (able := [each for each in running if self._takes_static(each)]):
            self._replace_static(self.rng.choice(able))
        elif kind == "restart":
            self.start()
        else:
            return
        self.did.append(kind)

    def _runs(self, lived: Lived) -> bool:
        """Tell whether a version of a query is among those that run."""
        member = self.loop.queries.get(lived.name)
        return member is not None and member.stepper.query.version == lived.version

    def _add(self, name: str) -> None:
        versions = [version for known, version in self.lived if known == name]
        lived = self._enlist(name, max(versions, default=0) + 1)
        self._attempt(lambda: self.loop.add(lived.member(self._database(name))))
        if not self._runs(lived):  # the driver died before it was written down
            del self.lived[lived.name, lived.version]

    def _replace_static(self, lived: Lived) -> None:
        case = replace(lived.case, static=replace(lived.case.static, default=random_graph(self.rng, 6)))
        lived.replaced = (len(self.found(lived)), case)
        static = History(case, (), LATENESS).static()
        graphs = static_fingerprint(static)
        member = self.loop.queries[lived.name]
        stepper = Stepper(member.stepper.query, static, member.stepper.evaluations)
        self._attempt(lambda: self.loop.replace_static({lived.name: (stepper, graphs)}))
        if self.loop.queries[lived.name].graphs != graphs:
            lived.replaced = None

    def _takes_static(self, lived: Lived) -> bool:
        """Tell whether replay can say what it reports with two versions: one report for each window, on its own."""
        planned = self.loop.queries[lived.name].stepper.query.plan
        plain = planned.operator is StreamOperator.RSTREAM and planned.reports is not None and not planned.needs_content
        return plain and planned.profile.emit_empty and lived.replaced is None and bool(lived.case.static.default)

    def _end(self, lived: Lived) -> None:
        lived.end = {stream: source.there for stream, source in self.sources.items()}
        lived.watermark = self.loop.queries[lived.name].record.decision.watermark

    def play(self) -> None:
        """Let the streams come, batch by batch, and end."""
        for ends in self.batches:
            for stream, end in ends.items():
                self.sources[stream].there = end
            self._attempt(lambda: self.loop.run_once())
            self.loop.run_once()  # what a driver that died has left
            self.change()
        for source in self.sources.values():
            source.over = True
        self.loop.run_once()
        assert self.loop.is_over

    def found(self, lived: Lived) -> list[str]:
        """Return the lines of a version of a query that stand."""
        units = read_units(self.results, self.loop.segments)
        return [text for key, text in units if (key.query, key.version) == (lived.name, lived.version)]
