"""A query that runs: started, watched, joined by others, stopped. A plain loop from the sources to the sinks."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from hydrograph.errors import HydrographError, UsageError
from hydrograph.live.checkpoint.query_store import Roster, plan_fingerprint, static_fingerprint
from hydrograph.live.driver.batch_loop import Out, Runner
from hydrograph.live.driver.command_queue import Turns
from hydrograph.live.driver.placement_policy import Places
from hydrograph.live.driver.query_registry import Enrolment, Meant
from hydrograph.live.driver.registered_query import Member
from hydrograph.live.driver.spark_driver import StructuredDriver, answering, own_directory, query_error
from hydrograph.live.driver.spark_source import reachable_inputs
from hydrograph.live.progress import Stopwatch, query_status, together
from hydrograph.live.settings import Driver, Settings
from hydrograph.live.sources.inputs import Input, below, check_streams, log_name, open_inputs
from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.live.sources.push_stream import LiveStream
from hydrograph.live.status import STATUS
from hydrograph.live.step.stepper import Stepper
from hydrograph.live.step.units import Unit
from hydrograph.live.storage.disk_full import Room
from hydrograph.live.storage.files import LocalFiles, files_at
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.options import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.streams.static import Given, StaticGraphs

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_STATUS_EVERY = 1.0
_LOOK_EVERY = 0.5
"""Seconds between two looks whether windows have outgrown the driver."""
_TRIES = 3
"""Times that Spark may end one after the other without a batch in between."""
_WAIT = 0.05
"""Seconds after which the loop looks around though nobody has woken it."""


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
        self.urls = [url for _, url in streams]
        self._places = Places(settings)
        roster = Roster(self.checkpoint)
        self._enrolment = Enrolment(name, self.inputs, settings.lateness, roster, self._places, self._ask)
        query = self._enrolment.registered(name, plan)
        self.runner = self._enrolment.runner = Runner(
            Member(Stepper(query, static, self._places.first(query.name)), static_fingerprint(static)),
            self.inputs,
            self.checkpoint,
            self.results,
            [self._telling(out) for out in outs],
            about={"query": name, "version": query.version, "plan": plan_fingerprint(plan)},
            idle_after=settings.idle_after,
            enrol=self._enrolment.enrol,
            forget_static=roster.forget_static,
        )
        self.had_ended = False
        """Whether all streams had ended before this start."""
        self._tells: int | None = None
        self._ended_by: str | None = None
        self.restarts: list[str] = []
        """Why Spark was asked to read again, each time that it had ended by itself."""
        self._written = self._looked = 0.0

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
        """The streams that this program may fill, by their IRIs; behind that of a further partition stands its number.

        A stream that is given twice has the partitions `IRI` and `IRI 1`.
        """
        return {
            each.name: LiveStream(each.name, each.source)
            for each in self.inputs
            if isinstance(each.source, LoggedSource) and not each.source.receive
        }

    def __enter__(self) -> Self:
        """Start the query in the background, unless it runs already."""
        return self.start() if self._thread is None else self

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
        if self._thread is not None:
            raise UsageError("the query was started already: to go on after a stop make another on its checkpoint")
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
        try:
            with answering():
                self._run(ready)
        except Exception as error:
            self._say_why(error)
            raise
        finally:
            self.close()

    def _run(self, ready: Callable[[], None]) -> None:
        self.runner.open()
        for each in self.inputs:
            if each.name in self.runner.batch.ended and isinstance(each.source, LoggedSource):
                each.source.finish()  # nobody would read what still comes
        self.had_ended = self.runner.is_over
        for each in self.inputs:
            each.source.start(self._woken.set)
        self._turns.open()
        ready()
        if self.settings.driver is Driver.SPARK or self.settings.placement is Placement.SPARK:
            self._run_on_spark()
        else:
            self._run_here()
        self._write_status(force=True)

    def _say_why(self, error: Exception) -> None:
        """Leave in the checkpoint why the query has ended, unless it is another driver's, and tell those who send."""
        self._ended_by = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        for each in self.inputs:
            if isinstance(each.source, LoggedSource):
                each.source.refuse(f"the query has ended: {self._ended_by}")
        if not self.runner.has_lease:
            return
        try:
            self._write_status(force=True)
        except (HydrographError, OSError):
            return  # whoever started the query is told the error that has ended it

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
        for files in (self.checkpoint, self.results, *(each.log for each in self.inputs)):
            if isinstance(files, LocalFiles):
                files.close()

    def stop(self) -> None:
        """Finish the batch at hand, and stop; a later start goes on from there."""
        self._stopping.set()
        self._woken.set()
        if not self._is_telling:  # who is told of a unit can't wait for the end of its batch
            self.wait()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has come to its end; return whether it has."""
        self._check_elsewhere()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
        self._raise()
        return True

    def _telling(self, out: Out) -> Out:
        """Return an out during whose calls it is known that somebody is being told."""

        def told(unit: Unit) -> None:
            self._tells = threading.get_ident()
            try:
                out(unit)
            finally:
                self._tells = None

        return told

    @property
    def _is_telling(self) -> bool:
        return self._tells == threading.get_ident()

    def _check_elsewhere(self) -> None:
        if self._is_telling:
            raise UsageError(
                "on_unit is part of a batch, and this waits for the end of the batch: call it from another thread"
            )

    def _ask(self, turn: Callable[[], None]) -> None:
        self._check_elsewhere()
        self._turns.ask(turn)

    def _raise(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def add(self, text: str, static: Given | None = None, **meant: Unpack[Meant]) -> tuple[str, int]:
        """Let another query run beside those that do, from the next batch on (S40); return its name and version.

        It reads the streams that are there, sees what comes from now on and nothing before, and is there again when the
        checkpoint is started again. Its name is the one it is registered under, or `name`.
        """
        return self._enrolment.add(text, static, meant)

    def replace(self, text: str, static: Given | None = None, **meant: Unpack[Meant]) -> tuple[str, int]:
        """Let a changed query take the place of the one of its name, under the next version; see `add`.

        Windows of the old one that have not closed are not reported. Without `static` it sees what the old one saw.
        """
        return self._enrolment.replace(text, static, meant)

    def remove(self, name: str) -> None:
        """Let a query run no more, from the next batch on; the others do not notice."""
        self._enrolment.remove(name)

    def replace_static(self, static: Given, *, name: str | None = None) -> None:
        """Let the reports from the next batch on see other static data (S27); returns when they do.

        It is for the query of a `name`, or for all, and is kept in the checkpoint: a later start sees it too.
        """
        self._enrolment.replace_static(static, name)

    @property
    def queries(self) -> dict[str, int]:
        """The versions of the queries that run, by their names."""
        return self._enrolment.queries

    def _turn(self) -> None:
        """Do between two batches what somebody asked for, and what has become necessary."""
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._looked = now
            for name in self.runner.failed:
                self._places.leave(name)
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
            "troubles": [each.trouble for each in self.inputs if each.trouble],
            "stopped": self._ended_by,
            "restarts": len(self.restarts),
            "restarted": next(reversed(self.restarts), None),
        }

    def _write_status(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._written > _STATUS_EVERY:
            self._written = now
            self.runner.check_lease()  # where nothing comes, nobody else would notice that another has taken over
            self.checkpoint.write(STATUS, json.dumps(self.status()).encode())
