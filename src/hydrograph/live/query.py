"""A query that runs: started, watched, joined by others, stopped. A plain loop from the sources to the sinks."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import psutil

from hydrograph.errors import RunError, UsageError
from hydrograph.language import parse
from hydrograph.live.arrivals import partition_of
from hydrograph.live.evaluate import Evaluator
from hydrograph.live.files import Files, LocalFiles, files_at
from hydrograph.live.progress import Stopwatch, query_status, together
from hydrograph.live.record import Enrolled
from hydrograph.live.roster import Definition, Roster, static_fingerprint
from hydrograph.live.runner import Input, Member, Out, Runner
from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.sources.registry import open_source
from hydrograph.live.state import State
from hydrograph.live.step import Registered, Stepper
from hydrograph.live.streams import LiveStream
from hydrograph.live.structured import StructuredDriver, answering, query_error, reachable_inputs
from hydrograph.live.watermark import Lateness
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.given import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.session import spark_session
from hydrograph.streams.static import Given, StaticGraphs, given_graphs
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Habits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATUS = "status.json"
_STATUS_EVERY = 1.0
_LOOK_EVERY = 0.5
"""Seconds between two looks whether windows have outgrown the driver."""
_SHARE = 8
"""One part in so many of the machine's memory is what the state of a query may take in the driver."""
_WAIT = 0.05
"""Seconds after which the loop looks around though nobody has woken it."""


class Driver(StrEnum):
    """Who calls the step: a plain loop, or Spark Structured Streaming."""

    LOOP = "loop"
    SPARK = "spark"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a live query runs."""

    checkpoint: str
    results: str | None = None
    lateness: Lateness = field(default_factory=Lateness)
    idle_after: float | None = None
    """Seconds after which a silent stream is no longer waited for; None waits for ever."""
    bad: str = "skip"
    sync: bool = False
    """Whether to wait until the disk has what is written: survives a loss of power, and costs milliseconds a batch."""
    placement: Placement = Placement.AUTO
    master: str | None = None
    memory: str | None = None
    driver: Driver = Driver.LOOP
    threads: int | None = None
    local_bytes: int | None = None
    """Bytes of state beyond which a query that may run anywhere moves to Spark; None is an eighth of the memory.

    On one machine Spark never overtakes the database beside the driver, however many rows there are. What can run out
    is memory: joins hold their rows several times, and executors elsewhere bring their own.
    """
    session: SparkSession | None = None
    linger: float = 0.0
    """Seconds that a batch waits for more to come: fewer and larger batches."""


class LiveQuery:
    """A query on unbounded streams."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        streams: Sequence[tuple[Iri, str]],
        static: StaticGraphs,
        settings: Settings,
        outs: Sequence[Out] = (),
    ) -> None:
        """Open the sources and the checkpoint; nothing runs yet."""
        self.name = name
        self.settings = settings
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._turns: list[tuple[Future[None], Callable[[], None]]] = []
        self._turn_lock = threading.Lock()
        self._running = False
        self.checkpoint = files_at(settings.checkpoint, sync=settings.sync)
        self.results = None if settings.results is None else files_at(settings.results, sync=settings.sync)
        self.inputs = _inputs(streams, settings)
        _check(plan, self.inputs)
        query = self._registered(name, plan)
        self.urls = [url for _, url in streams]
        self._databases: dict[str, ExitStack] = {}
        self._roster = Roster(self.checkpoint)
        self.runner = Runner(
            Member(self._stepper(query, static), static_fingerprint(static)),
            self.inputs,
            self.checkpoint,
            self.results,
            outs,
            about={"query": name, "version": query.version, "plan": fingerprint(plan)},
            idle_after=settings.idle_after,
            enrol=self._enrol,
            forget_static=self._roster.forget_static,
        )
        self._written = self._looked = 0.0

    def _registered(self, name: str, planned: Plan, version: int = 1) -> Registered:
        """Return a query with the partitions of its streams: it does not wait for others."""
        wanted = {window.stream for window in planned.query.windows}
        partitions = tuple(each.name for each in self.inputs if each.stream in wanted)
        lateness = self.settings.lateness
        return Registered(name=name, plan=planned, version=version, lateness=lateness, partitions=partitions)

    def _stepper(self, query: Registered, static: StaticGraphs, placed: Local | Spark | None = None) -> Stepper:
        """Return a query in a place of its own, or in one that it has already."""
        if placed is None:
            stack = ExitStack()
            if self.settings.placement is Placement.SPARK:
                placed = stack.enter_context(Spark(self._session()))
            else:
                placed = stack.enter_context(Local(self.settings.threads, small=True))
            self._own(query.name, stack)
        return Stepper(query, static, placed)

    def _own(self, name: str, stack: ExitStack | None) -> None:
        """Close the place that a query of this name had, and keep another one for it."""
        before = self._databases.pop(name, None)
        if before is not None:
            before.close()
        if stack is not None:
            self._databases[name] = stack

    def _enrol(self, name: str, enrolled: Enrolled, known: Member | None) -> Member:
        """Return a query as the checkpoint knows it."""
        if known is not None and known.enrolled.version == enrolled.version:
            same = known.graphs == enrolled.graphs
            static = known.stepper.static if same else self._roster.read_static(enrolled.graphs)
            stepper = self._stepper(known.stepper.query, static, known.stepper.placed)
            return Member(stepper, enrolled.graphs, enrolled.first)
        definition = self._roster.read(name, enrolled.version)
        member = self._member(definition, definition.plan(), self._roster.read_static(enrolled.graphs))
        return replace(member, first=enrolled.first)

    def _member(self, definition: Definition, planned: Plan, static: StaticGraphs) -> Member:
        query = self._registered(definition.name, planned, definition.version)
        return Member(self._stepper(query, static), static_fingerprint(static))

    def _session(self) -> SparkSession:
        return self.settings.session or spark_session(self.settings.master, self.settings.memory)

    def _move(self) -> None:
        """Let Spark evaluate queries whose windows have outgrown the driver. No report is lost: the state stays."""
        if self.settings.placement is not Placement.AUTO:
            return
        most = self.settings.local_bytes
        if most is None:
            most = psutil.virtual_memory().total // _SHARE
        moved = {}
        for name, member in self.runner.members.items():
            stepper = member.stepper
            if isinstance(stepper.placed, Local) and _bytes(member.state) > most:
                stack = ExitStack()
                placed = stack.enter_context(Spark(self._session()))
                moved[name] = Stepper(stepper.query, stepper.static, placed)
                self._own(name, stack)
        if moved:
            self.runner.place(moved)

    @property
    def streams(self) -> Mapping[str, LiveStream]:
        """The streams that this program may fill, by their IRIs."""
        pushed = [each for each in self.inputs if isinstance(each.source, LoggedSource) and not each.source.receive]
        return {each.stream.value: LiveStream(each.stream.value, each.source) for each in pushed}  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        """Start the query in the background."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> Self:
        """Run in a thread of its own; returns when the query is ready to answer."""
        ready = threading.Event()

        def run() -> None:
            try:
                self.run(ready.set)
            except BaseException as error:  # noqa: BLE001 - it is raised again where somebody waits
                self._failure = error
            finally:
                ready.set()

        self._thread = threading.Thread(target=run, name=f"live {self.name}", daemon=True)
        self._thread.start()
        ready.wait()
        self._raise()
        return self

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Run until all streams have ended, or somebody stops it."""
        with answering():
            try:
                self.runner.open()
                for each in self.inputs:
                    each.source.start(self._woken.set)
                with self._turn_lock:
                    self._running = True
                ready()
                if self.settings.driver is Driver.SPARK or self.settings.placement is Placement.SPARK:
                    self._run_on_spark()
                else:
                    self._run_here()
                self._write_status(force=True)
            finally:
                self.close()

    def _run_here(self) -> None:
        while not self._stopping.is_set() and not self.runner.is_over:
            self._turn()
            waited = Stopwatch()
            self._woken.clear()
            if not self.runner.once():
                self._woken.wait(_WAIT)
                if self.settings.linger:
                    time.sleep(self.settings.linger)
                self.runner.progress.waited(waited.total)
            self._write_status()

    def _run_on_spark(self) -> None:
        logs = [self._log_of(each) for each in self.inputs]
        driver = StructuredDriver(
            self.runner,
            self.inputs,
            reachable_inputs(self.inputs, self.urls, logs, self.settings.bad),
            self._session(),
            _below(self.settings.checkpoint, f"spark/{self.runner.epoch:08d}"),
        )
        query = driver.start()
        try:
            while not self._stopping.is_set() and not self.runner.is_over:
                if not query.isActive:
                    raise driver.failure or query_error(query)
                driver.between(self._turn)
                driver.tick()
                self._write_status()
                self._woken.clear()
                self._woken.wait(_WAIT)
        finally:
            driver.stop(query)

    def _log_of(self, each: Input) -> str:
        return _below(self.settings.checkpoint, f"sources/{_log_name(each.stream, each.number)}")

    def close(self) -> None:
        """Close what is open, and tell those who still wait for something that it will not happen."""
        with self._turn_lock:
            self._running = False
            waiting, self._turns = self._turns, []
        for done, _ in waiting:
            done.set_exception(RunError("the query has stopped before this could be done"))
        for each in self.inputs:
            each.source.stop()
        for name in [*self._databases]:
            self._own(name, None)
        for files in (self.checkpoint, self.results):
            if isinstance(files, LocalFiles):
                files.close()

    def stop(self) -> None:
        """Finish the batch at hand, and stop; a later start goes on from there."""
        self._stopping.set()
        self._woken.set()
        self.wait()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has come to its end; return whether it has."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
        self._raise()
        return True

    def _raise(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def add(
        self,
        text: str,
        static: Given | None = None,
        *,
        name: str | None = None,
        dialect: str | None = None,
        preset: str | None = None,
        habits: Habits | None = None,
        t0: Instant | None = None,
    ) -> tuple[str, int]:
        """Let another query run beside those that do, from the next batch on (S40); return its name and version.

        It reads the streams that are there, sees what comes from now on and nothing before, and is there again when the
        checkpoint is started again. Its name is the one it is registered under, or `name`.
        """
        definition = self._definition(text, name, dialect, preset, habits, t0)
        if definition.name in self.queries:
            raise UsageError(f"a query named {definition.name} runs already: give it another name, or replace that one")
        return self._begin(definition, given_graphs(static))

    def replace(
        self,
        text: str,
        static: Given | None = None,
        *,
        name: str | None = None,
        dialect: str | None = None,
        preset: str | None = None,
        habits: Habits | None = None,
        t0: Instant | None = None,
    ) -> tuple[str, int]:
        """Let a changed query take the place of the one of its name, under the next version; see `add`.

        Windows of the old one that have not closed are not reported. Without `static` it sees what the old one saw.
        """
        definition = self._definition(text, name, dialect, preset, habits, t0)
        member = self._known(definition.name)
        return self._begin(definition, member.stepper.static if static is None else given_graphs(static))

    def remove(self, name: str) -> None:
        """Let a query run no more, from the next batch on; the others do not notice."""
        self._known(name)

        def turn() -> None:
            self._known(name)
            self.runner.remove(name)
            self._own(name, None)

        self._between(turn)

    def replace_static(self, static: Given, *, name: str | None = None) -> None:
        """Let the reports from the next batch on see other static data (S27); returns when they do.

        It is for the query of a `name`, or for all, and is kept in the checkpoint: a later start sees it too.
        """
        if name is not None:
            self._known(name)
        graphs = given_graphs(static)

        def turn() -> None:
            chosen = self.runner.members if name is None else {name: self._known(name)}
            for member in chosen.values():  # a driver may have to go back to before the change
                self._roster.write_static(member.stepper.static)
            found = self._roster.write_static(graphs)
            steppers = {each: Stepper(m.stepper.query, graphs, m.stepper.placed) for each, m in chosen.items()}
            self.runner.replace_static({each: (stepper, found) for each, stepper in steppers.items()})

        self._between(turn)

    @property
    def queries(self) -> dict[str, int]:
        """The versions of the queries that run, by their names."""
        return {name: member.stepper.query.version for name, member in self.runner.members.items()}

    def _known(self, name: str) -> Member:
        found = self.runner.members.get(name)
        if found is None:
            raise UsageError(f"no query named {name} runs; queries: {', '.join(self.queries) or 'none'}")
        return found

    def _definition(
        self,
        text: str,
        name: str | None,
        dialect: str | None,
        preset: str | None,
        habits: Habits | None,
        t0: Instant | None,
    ) -> Definition:
        called = name or parse(text, dialect).name or "query"
        known = 1 if called == self.name else 0
        return Definition(
            name=called,
            version=self._roster.next_version(called, known),
            text=text,
            dialect=dialect,
            preset=preset,
            habits=habits or Habits(),
            t0=t0,
        )

    def _begin(self, definition: Definition, graphs: StaticGraphs) -> tuple[str, int]:
        """Check a query as far as can be before it touches others, and let it run from the next batch on."""
        planned = definition.plan()
        _check(planned, self.inputs)
        with Local(1, small=True) as trial:
            # What can not be compiled is to be known here: in the middle of a batch it would stop the others.
            Evaluator(planned if planned.is_placed else planned.starting(0), graphs, trial)

        def turn() -> None:
            if self._roster.next_version(definition.name, definition.version - 1) != definition.version:
                raise UsageError(f"somebody else has given {definition.name} a new version at the same time: try again")
            self._roster.write(definition)
            self._roster.write_static(graphs)
            self.runner.add(self._member(definition, planned, graphs))

        self._between(turn)
        return definition.name, definition.version

    def _between(self, turn: Callable[[], None]) -> None:
        """Do something between two batches, and return when it is done."""
        done: Future[None] = Future()

        def told() -> None:
            try:
                turn()
            except UsageError as error:  # somebody else was quicker: the one who asked is told, nobody else
                done.set_exception(error)
            except BaseException as error:  # the one who asked is told, and the driver ends by it
                done.set_exception(error)
                raise
            else:
                done.set_result(None)

        with self._turn_lock:
            if not self._running:
                raise UsageError("the query does not run: start it first")
            self._turns.append((done, told))
        self._woken.set()
        done.result()

    def _turn(self) -> None:
        """Do between two batches what somebody asked for, and what has become necessary."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._looked = now
            self._move()
        with self._turn_lock:
            turns, self._turns = self._turns, []
        for at, (_, turn) in enumerate(turns):
            try:
                turn()
            except BaseException:
                with self._turn_lock:
                    self._turns = turns[at + 1 :] + self._turns
                raise

    def status(self) -> dict[str, Any]:
        """Return how it is doing."""
        queries = {}
        for name, member in self.runner.members.items():
            placement = "local" if isinstance(member.stepper.placed, Local) else "spark"
            queries[name] = query_status(member.record, member.state, member.stepper.query.version, placement)
            queries[name]["evaluation"] = member.stepper.evaluation
        return {
            "query": self.name,
            "pid": os.getpid(),
            "written": time.time(),
            **self.runner.progress.as_dict(),
            **together([*queries.values()]),
            "queries": queries,
            "failed": dict(self.runner.failed),
            "troubles": [
                each.source.trouble
                for each in self.inputs
                if isinstance(each.source, LoggedSource) and each.source.trouble
            ],
        }

    def _write_status(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._written > _STATUS_EVERY:
            self._written = now
            self.checkpoint.write(STATUS, json.dumps(self.status()).encode())


def _bytes(state: State) -> int:
    """Return how many bytes the rows of a state take."""
    return sum(int(piece.events.nbytes) for pieces in state.pieces.values() for piece in pieces)


def fingerprint(plan: Plan) -> str:
    """Return what tells plans apart: a checkpoint belongs to one."""
    said = repr((plan.query.form, plan.pattern, plan.query.windows, plan.query.dataset, plan.profile))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def read_status(location: str) -> dict[str, Any]:
    """Return what a query has last said of itself in its checkpoint."""
    data = files_at(location).read(STATUS)
    if data is None:
        raise UsageError(
            f"{location}: expected the checkpoint of a live query, got none; see run --follow --checkpoint"
        )
    found: dict[str, Any] = json.loads(data)
    return found


def _inputs(streams: Sequence[tuple[Iri, str]], settings: Settings) -> list[Input]:
    inputs: list[Input] = []
    for stream, location in streams:
        number = sum(each.stream == stream for each in inputs)
        name = _log_name(stream, number)
        log = files_at(_below(settings.checkpoint, f"sources/{name}"), sync=settings.sync)
        source = open_source(stream, location, log, partition=number, bad=settings.bad)
        inputs.append(Input(stream, source, number))
    return inputs


def _log_name(stream: Iri, number: int) -> str:
    return hashlib.sha256(partition_of(stream, number).encode()).hexdigest()[:12]


def _below(location: str, name: str) -> str:
    return f"{location.rstrip('/')}/{name}"


def _check(plan: Plan, inputs: Sequence[Input]) -> None:
    given = {each.stream for each in inputs}
    for window in plan.query.windows:
        if window.stream not in given:
            known = ", ".join(f"<{name.value}>" for name in given) or "none"
            raise UsageError(f"no stream is given for <{window.stream.value}>; given streams: {known}")


__all__ = ["Files", "LiveQuery", "RunError", "Settings", "fingerprint", "read_status"]
