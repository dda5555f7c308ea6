"""A query that runs: started, watched, joined by others, stopped. A plain loop from the sources to the sinks."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypedDict, Unpack

from hydrograph.errors import UsageError
from hydrograph.language import parse
from hydrograph.live.evaluate import Evaluator
from hydrograph.live.files import LocalFiles, files_at
from hydrograph.live.inputs import Input, below, check_streams, log_name, open_inputs
from hydrograph.live.member import Member
from hydrograph.live.places import Places
from hydrograph.live.progress import Stopwatch, query_status, together
from hydrograph.live.reading import reachable_inputs
from hydrograph.live.record import Enrolled
from hydrograph.live.room import Room
from hydrograph.live.roster import Definition, Roster, plan_fingerprint, static_fingerprint
from hydrograph.live.runner import Out, Runner
from hydrograph.live.settings import Driver, Settings
from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.status import STATUS
from hydrograph.live.step import Registered, Stepper
from hydrograph.live.streams import LiveStream
from hydrograph.live.structured import StructuredDriver, answering, own_directory, query_error
from hydrograph.live.turns import Turns
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.given import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.streams.static import Given, StaticGraphs, given_graphs
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Habits

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_STATUS_EVERY = 1.0
_LOOK_EVERY = 0.5
"""Seconds between two looks whether windows have outgrown the driver."""
_TRIES = 3
"""Times that Spark may end one after the other without a batch in between."""
_WAIT = 0.05
"""Seconds after which the loop looks around though nobody has woken it."""


class Meant(TypedDict, total=False):
    """What goes with the text of a query that joins others; None is what the text says."""

    name: str | None
    dialect: str | None
    preset: str | None
    habits: Habits | None
    t0: Instant | None


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
        self._turns = Turns(self._woken.set)
        self._room = room = Room(self._stopping)
        sync = settings.sync
        self.checkpoint = files_at(settings.checkpoint, sync=sync, room=room)
        self.results = None if settings.results is None else files_at(settings.results, sync=sync, room=room)
        self.inputs = open_inputs(streams, settings, room)
        check_streams(plan, self.inputs)
        query = self._registered(name, plan)
        self.urls = [url for _, url in streams]
        self._places = Places(settings)
        self._roster = Roster(self.checkpoint)
        self.runner = Runner(
            Member(Stepper(query, static, self._places.first(query.name)), static_fingerprint(static)),
            self.inputs,
            self.checkpoint,
            self.results,
            outs,
            about={"query": name, "version": query.version, "plan": plan_fingerprint(plan)},
            idle_after=settings.idle_after,
            enrol=self._enrol,
            forget_static=self._roster.forget_static,
        )
        self.restarts: list[str] = []
        """Why Spark was asked to read again, each time that it had ended by itself."""
        self._written = self._looked = 0.0

    def _registered(self, name: str, planned: Plan, version: int = 1) -> Registered:
        """Return a query with the partitions of its streams: it does not wait for others."""
        wanted = {window.stream for window in planned.query.windows}
        partitions = tuple(each.name for each in self.inputs if each.stream in wanted)
        lateness = self.settings.lateness
        return Registered(name=name, plan=planned, version=version, lateness=lateness, partitions=partitions)

    def _enrol(self, name: str, enrolled: Enrolled, known: Member | None) -> Member:
        """Return a query as the checkpoint knows it."""
        if known is not None and known.enrolled.version == enrolled.version:
            same = known.graphs == enrolled.graphs
            static = known.stepper.static if same else self._roster.read_static(enrolled.graphs)
            stepper = Stepper(known.stepper.query, static, known.stepper.placed)
            return Member(stepper, enrolled.graphs, enrolled.first)
        definition = self._roster.read(name, enrolled.version)
        member = self._member(definition, definition.plan(), self._roster.read_static(enrolled.graphs))
        return replace(member, first=enrolled.first)

    def _member(self, definition: Definition, planned: Plan, static: StaticGraphs) -> Member:
        query = self._registered(definition.name, planned, definition.version)
        return Member(Stepper(query, static, self._places.first(query.name)), static_fingerprint(static))

    def _move(self) -> None:
        """Let Spark evaluate queries for which the driver is too small or slow. No report is lost: the state stays."""
        members, paces = self.runner.members, self.runner.paces
        reasons = {name: self._places.outgrown(member.stepper, member.state) for name, member in members.items()}
        if not any(reasons.values()):
            here = {name: (member.stepper, paces[name]) for name, member in members.items() if name in paces}
            reasons = dict([late]) if (late := self._places.overtaken(here)) is not None else {}
        moved = {}
        for name, reason in reasons.items():
            if reason is not None:
                stepper = members[name].stepper
                moved[name] = Stepper(stepper.query, stepper.static, self._places.on_spark(name, reason))
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
        self.launch().wait()
        self._raise()
        return self

    def launch(self) -> threading.Event:
        """Run in a thread of its own; return what is set when the query is ready to answer, or has failed."""
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
        return ready

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Run until all streams have ended, or somebody stops it."""
        with answering():
            try:
                self.runner.open()
                for each in self.inputs:
                    each.source.start(self._woken.set)
                self._turns.open()
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
        """Let Spark call, and call again where it has ended by itself: a process that reads for it may have died."""
        logs = [self._log_of(each) for each in self.inputs]
        reachable = reachable_inputs(self.inputs, self.urls, logs, self.settings.bad)
        session = self._places.session()
        vain = 0
        with own_directory(self.checkpoint, self.runner.epoch) as directory:
            while True:
                own, before = directory / f"{len(self.restarts):04d}", self.runner.batch.number
                driver = StructuredDriver(self.runner, self.inputs, reachable, session, own, self.settings.progress)
                query = driver.start()
                try:
                    if not self._has_ended(query, driver):
                        return
                    self.runner.check_lease()  # who has lost it may have lost Spark's directory with it
                    vain = vain + 1 if self.runner.batch.number == before else 0
                    if driver.failure is not None or vain == _TRIES:
                        raise driver.failure or query_error(query)
                    self.restarts.append(f"Spark is asked to read again: {query_error(query)}")
                finally:
                    driver.stop(query)

    def _has_ended(self, query: StreamingQuery, driver: StructuredDriver) -> bool:
        """Do between the batches of Spark what is to be done; return whether Spark has ended before everything is."""
        while not self._stopping.is_set() and not self.runner.is_over:
            if not query.isActive:
                return True
            driver.between(self._turn)
            driver.tick()
            self._write_status()
            # Not cleared before: what comes while a batch holds things up is told to Spark right after it.
            self._woken.wait(_WAIT)
            self._woken.clear()
        return False

    def _log_of(self, each: Input) -> str:
        return below(self.settings.checkpoint, f"sources/{log_name(each.stream, each.number)}")

    def close(self) -> None:
        """Close what is open, and tell those who still wait for something that it will not happen."""
        self._turns.close()
        for each in self.inputs:
            each.source.stop()
        self.runner.close()
        self._places.close()
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

    def add(self, text: str, static: Given | None = None, **meant: Unpack[Meant]) -> tuple[str, int]:
        """Let another query run beside those that do, from the next batch on (S40); return its name and version.

        It reads the streams that are there, sees what comes from now on and nothing before, and is there again when the
        checkpoint is started again. Its name is the one it is registered under, or `name`.
        """
        definition = self._definition(text, meant)
        if definition.name in self.queries:
            raise UsageError(f"a query named {definition.name} runs already: give it another name, or replace that one")
        return self._begin(definition, given_graphs(static))

    def replace(self, text: str, static: Given | None = None, **meant: Unpack[Meant]) -> tuple[str, int]:
        """Let a changed query take the place of the one of its name, under the next version; see `add`.

        Windows of the old one that have not closed are not reported. Without `static` it sees what the old one saw.
        """
        definition = self._definition(text, meant)
        member = self._known(definition.name)
        return self._begin(definition, member.stepper.static if static is None else given_graphs(static))

    def remove(self, name: str) -> None:
        """Let a query run no more, from the next batch on; the others do not notice."""
        self._known(name)

        def turn() -> None:
            self._known(name)
            self.runner.remove(name)
            self._places.leave(name)

        self._turns.ask(turn)

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

        self._turns.ask(turn)

    @property
    def queries(self) -> dict[str, int]:
        """The versions of the queries that run, by their names."""
        return {name: member.stepper.query.version for name, member in self.runner.members.items()}

    def _known(self, name: str) -> Member:
        found = self.runner.members.get(name)
        if found is None:
            raise UsageError(f"no query named {name} runs; queries: {', '.join(self.queries) or 'none'}")
        return found

    def _definition(self, text: str, meant: Meant) -> Definition:
        called = meant.get("name") or parse(text, meant.get("dialect")).name or "query"
        known = 1 if called == self.name else 0
        return Definition(
            name=called,
            version=self._roster.next_version(called, known),
            text=text,
            dialect=meant.get("dialect"),
            preset=meant.get("preset"),
            habits=meant.get("habits") or Habits(),
            t0=meant.get("t0"),
        )

    def _begin(self, definition: Definition, graphs: StaticGraphs) -> tuple[str, int]:
        """Check a query as far as can be before it touches others, and let it run from the next batch on."""
        planned = definition.plan()
        check_streams(planned, self.inputs)
        with Local(1, small=True) as trial:
            # What can not be compiled is to be known here: in the middle of a batch it would stop the others.
            Evaluator(planned if planned.is_placed else planned.starting(0), graphs, trial)

        def turn() -> None:
            if self._roster.next_version(definition.name, definition.version - 1) != definition.version:
                raise UsageError(f"somebody else has given {definition.name} a new version at the same time: try again")
            self._roster.write(definition)
            self._roster.write_static(graphs)
            self.runner.add(self._member(definition, planned, graphs))

        self._turns.ask(turn)
        return definition.name, definition.version

    def _turn(self) -> None:
        """Do between two batches what somebody asked for, and what has become necessary."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._looked = now
            self._move()
        self._turns.run()

    @property
    def paused(self) -> str | None:
        """What it waits for with everything else, a disk without room; None if it does not."""
        return self._room.paused

    def status(self) -> dict[str, Any]:
        """Return how it is doing."""
        queries = {}
        for name, member in self.runner.members.items():
            placement = "local" if isinstance(member.stepper.placed, Local) else "spark"
            queries[name] = query_status(member.record, member.state, member.stepper.query.version, placement)
            queries[name]["evaluation"] = member.stepper.evaluation
            queries[name]["placed"] = self._places.reason(name)
        return {
            "query": self.name,
            "pid": os.getpid(),
            "written": time.time(),
            **self.runner.progress.as_dict(),
            **together([*queries.values()]),
            "queries": queries,
            "failed": dict(self.runner.failed),
            "paused": self.paused,
            "troubles": [
                each.source.trouble
                for each in self.inputs
                if isinstance(each.source, LoggedSource) and each.source.trouble
            ],
            "restarts": len(self.restarts),
            "restarted": next(reversed(self.restarts), None),
        }

    def _write_status(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._written > _STATUS_EVERY:
            self._written = now
            self.checkpoint.write(STATUS, json.dumps(self.status()).encode())
