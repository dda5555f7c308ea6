"""A query that runs: started, watched, stopped. A plain loop from the sources through the step to the sinks."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from hydrograph.errors import RunError, UsageError
from hydrograph.live.arrivals import partition_of
from hydrograph.live.files import Files, LocalFiles, files_at
from hydrograph.live.progress import Stopwatch
from hydrograph.live.runner import Input, Out, Runner
from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.sources.registry import open_source
from hydrograph.live.step import Registered, Stepper
from hydrograph.live.streams import LiveStream
from hydrograph.live.structured import StructuredDriver, query_error, reachable_inputs
from hydrograph.live.watermark import Lateness
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.given import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.session import spark_session
from hydrograph.streams.static import StaticGraphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATUS = "status.json"
_STATUS_EVERY = 1.0
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
    local_rows: int = 5_000_000
    """Rows of state beyond which a query that may run anywhere moves to Spark."""
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
        self._stack = ExitStack()
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._turns: list[Callable[[], None]] = []
        self._turn_lock = threading.Lock()
        self.checkpoint = files_at(settings.checkpoint, sync=settings.sync)
        self.results = None if settings.results is None else files_at(settings.results, sync=settings.sync)
        self.inputs = _inputs(streams, settings)
        _check(plan, self.inputs)
        partitions = tuple(each.name for each in self.inputs)
        query = Registered(name=name, plan=plan, lateness=settings.lateness, partitions=partitions)
        self.urls = [url for _, url in streams]
        self.placed = self._placement()
        self._stack.enter_context(self.placed)
        self.runner = Runner(
            Stepper(query, static, self.placed),
            self.inputs,
            self.checkpoint,
            self.results,
            outs,
            about={"query": name, "version": query.version, "plan": fingerprint(plan)},
            idle_after=settings.idle_after,
        )
        self.runner.progress.placement = "local" if isinstance(self.placed, Local) else "spark"
        self._written = 0.0

    def _placement(self) -> Local | Spark:
        if self.settings.placement is Placement.SPARK:
            return Spark(self._session())
        return Local(self.settings.threads, small=True)

    def _session(self) -> SparkSession:
        return self.settings.session or spark_session(self.settings.master, self.settings.memory)

    def _move(self) -> None:
        """Let Spark evaluate from now on: the windows have outgrown the driver. No report is lost: the state stays."""
        if self.settings.placement is Placement.AUTO and isinstance(self.placed, Local):
            self.placed = self._stack.enter_context(Spark(self._session()))
            stepper = self.runner.stepper
            self.runner.stepper = Stepper(stepper.query, stepper.static, self.placed)
            self.runner.progress.placement = "spark"

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
        try:
            self.runner.open()
            for each in self.inputs:
                each.source.start(self._woken.set)
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
                    raise query_error(query)
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
        """Close what is open."""
        for each in self.inputs:
            each.source.stop()
        self._stack.close()
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

    def replace_static(self, static: StaticGraphs) -> None:
        """Let the reports from the next batch on see other static data (S27); returns when they do."""
        done = threading.Event()

        def turn() -> None:
            self.runner.stepper.replace_static(static)
            self.runner.replace_static(self.runner.record.decision.static + 1)
            done.set()

        with self._turn_lock:
            self._turns.append(turn)
        self._woken.set()
        if self._thread is not None:
            done.wait()

    def _turn(self) -> None:
        """Do between two batches what somebody asked for, and what has become necessary."""
        if self.runner.state.size > self.settings.local_rows:
            self._move()
        with self._turn_lock:
            turns, self._turns = self._turns, []
        for turn in turns:
            turn()

    def status(self) -> dict[str, Any]:
        """Return how it is doing."""
        return {"query": self.name, "pid": os.getpid(), "written": time.time(), **self.runner.progress.as_dict()}

    def _write_status(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._written > _STATUS_EVERY:
            self._written = now
            self.checkpoint.write(STATUS, json.dumps(self.status()).encode())


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
