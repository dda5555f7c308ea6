"""Live query: the handle with which a program starts, watches, changes and stops continuous queries on streams."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, Unpack

from hydrograph.errors import HydrographError, RunError, UsageError
from hydrograph.live.checkpoint.query_store import QueryStore, plan_fingerprint
from hydrograph.live.driver.batch_loop import BatchLoop, UnitCallback
from hydrograph.live.driver.placement_policy import LoadMeter, PlacementPolicy
from hydrograph.live.driver.query_registry import QueryFactory, QueryOptions, QueryRegistry
from hydrograph.live.driver.spark_driver import SparkDriver, java_errors, own_directory, query_error
from hydrograph.live.driver.spark_source import locate_sources
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.settings import Driver, Settings
from hydrograph.live.sources.inputs import check_streams, open_inputs
from hydrograph.live.sources.push import LiveStream
from hydrograph.live.status import STATUS, Stopwatch, combined_status, query_status
from hydrograph.live.step.records import ResultUnit
from hydrograph.live.step.step import Stepper
from hydrograph.live.storage.disk_full import DiskFullWait
from hydrograph.live.storage.files import files_at
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.plan import Plan
from hydrograph.streams.static_graphs import Given, StaticGraphs

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


class CommandQueue:
    """Commands that wait for the end of a batch, in the order of their submission."""

    def __init__(self, wake: Callable[[], object]) -> None:
        """Call `wake` when a command is submitted; commands are accepted after `open`."""
        self._wake = wake
        self._waiting: list[tuple[Future[None], Callable[[], None]]] = []
        self._lock = threading.Lock()
        self._running = False

    def open(self) -> None:
        """Accept commands from now on."""
        with self._lock:
            self._running = True

    def close(self) -> None:
        """Accept no more commands, and fail those that still wait."""
        with self._lock:
            self._running = False
            waiting, self._waiting = self._waiting, []
        for done, _ in waiting:
            done.set_exception(RunError("the query stopped before this was done"))

    def submit(self, command: Callable[[], None]) -> None:
        """Submit a command and return when it is done; raise the error that it raises."""
        done: Future[None] = Future()

        def run() -> None:
            try:
                command()
            except UsageError as error:  # only the caller's mistake: the driver continues
                done.set_exception(error)
            except BaseException as error:  # raised in the caller and in the driver, which ends
                done.set_exception(error)
                raise
            else:
                done.set_result(None)

        with self._lock:
            if not self._running:
                raise UsageError("the query is not running: start it first")
            self._waiting.append((done, run))
        self._wake()
        done.result()

    def run(self) -> None:
        """Run the waiting commands; if one ends the driver, those after it stay until `close`."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for at, (_, command) in enumerate(waiting):
            try:
                command()
            except BaseException:
                with self._lock:
                    self._waiting = waiting[at + 1 :] + self._waiting
                raise


_STATUS_EVERY = 1.0
_PLACEMENT_EVERY = 0.5
"""Seconds between two checks of the placement of queries."""
_SPARK_ATTEMPTS = 3
"""Successive failures of Spark without a batch in between that end the query."""
_WAIT = 0.05
"""Longest wait for new input, in seconds."""


class LiveQuery:
    """Queries on unbounded streams that share one checkpoint."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        streams: Sequence[tuple[Iri, str]],
        static: StaticGraphs,
        settings: Settings,
        outs: Sequence[UnitCallback] = (),
    ) -> None:
        """Open the sources and the checkpoint; nothing runs yet."""
        self.name = name
        self.settings = settings
        self._woken = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._commands = CommandQueue(self._woken.set)
        self._disk_full = DiskFullWait(self._stopping)
        open_files = partial(files_at, sync=settings.sync, disk_full=self._disk_full)
        self.checkpoint = open_files(settings.checkpoint)
        self.results = None if settings.results is None else open_files(settings.results)
        self.inputs = open_inputs(streams, settings, self._disk_full)
        check_streams(plan, self.inputs)
        self._placement = PlacementPolicy(settings)
        store = QueryStore(self.checkpoint)
        factory = QueryFactory(self.inputs, settings.lateness, store, self._placement)
        founding = factory.build(name, plan, static)
        self.loop = BatchLoop(
            founding,
            self.inputs,
            self.checkpoint,
            self.results,
            [self._watch_callback(out) for out in outs],
            about={"query": name, "version": founding.version.version, "plan": plan_fingerprint(plan)},
            idle_after=settings.idle_after,
            restore=factory.restore,
            forget_static=store.forget_static,
        )
        self._registry = QueryRegistry(name, factory, self.loop, self._run_between_batches)
        self.had_ended = False
        """Whether all streams had ended before this start."""
        self._callback_thread: int | None = None
        self._ended_by: str | None = None
        self.restarts: list[str] = []
        """The reason of each restart of the Spark streaming query."""
        self._status_written = self._placement_checked = 0.0

    def _move_queries(self) -> None:
        """Move queries to Spark that are too large or too slow for the driver; they keep their state."""
        queries = {
            name: (query.stepper, query.state, self.loop.load.get(name, LoadMeter()))
            for name, query in self.loop.queries.items()
        }
        moved = {}
        for name, reason in self._placement.choose_moves(queries).items():
            stepper = self.loop.queries[name].stepper
            moved[name] = Stepper(
                stepper.query, stepper.static, EvaluationChoice(self._placement.on_spark(name, reason))
            )
        if moved:
            self.loop.place(moved)

    @property
    def streams(self) -> Mapping[str, LiveStream]:
        """The streams that this program fills, by partition name.

        The name of the first partition is the IRI of the stream; further partitions are `IRI 1`, `IRI 2` and so on.
        """
        handles = {each.name: each.reader.push_stream(each.name) for each in self.inputs}
        return {name: handle for name, handle in handles.items() if handle is not None}

    def __enter__(self) -> Self:
        """Start the query in the background, unless it is running."""
        return self.start() if self._thread is None else self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the query."""
        self.stop()

    def start(self) -> Self:
        """Run in a thread of its own; return when the query is ready."""
        self.launch().wait()
        self._raise()
        return self

    def launch(self) -> threading.Event:
        """Run in a thread of its own; return an event that is set when the query is ready or has failed."""
        if self._thread is not None:
            raise UsageError("the query was started before: to continue after a stop, make another on its checkpoint")
        ready = threading.Event()

        def run() -> None:
            try:
                self.run(ready.set)
            except BaseException as error:  # noqa: BLE001 - raised again by start, stop or wait
                self._failure = error
            finally:
                ready.set()

        self._thread = threading.Thread(target=run, name=f"live {self.name}", daemon=True)
        self._thread.start()
        return ready

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Run until all streams have ended or the query is stopped."""
        try:
            with java_errors():
                self._run(ready)
        except Exception as error:
            self._report_failure(error)
            raise
        finally:
            self.close()

    def _run(self, ready: Callable[[], None]) -> None:
        self.loop.open()
        for each in self.inputs:
            if each.name in self.loop.batch.ended:
                each.reader.finish()  # further input would never be read
        self.had_ended = self.loop.is_over
        for each in self.inputs:
            each.reader.start(self._woken.set)
        self._commands.open()
        ready()
        if self.settings.driver is Driver.SPARK or self.settings.placement is PlacementChoice.SPARK:
            self._run_on_spark()
        else:
            self._run_loop()
        self._write_status(force=True)

    def _report_failure(self, error: Exception) -> None:
        """Write the reason to the status, unless another driver has the checkpoint, and refuse further input."""
        self._ended_by = f"{type(error).__name__}: {error}".splitlines()[0][:500]
        for each in self.inputs:
            each.reader.refuse(f"the query has ended: {self._ended_by}")
        if not self.loop.has_lease:
            return
        try:
            self._write_status(force=True)
        except (HydrographError, OSError):
            return  # the caller gets the error that has ended the query

    def _run_loop(self) -> None:
        while not self._stopping.is_set() and not self.loop.is_over:
            self._work_between_batches()
            waited = Stopwatch()
            self._woken.clear()
            if not self.loop.run_once():
                self._woken.wait(_WAIT)
                if self.settings.linger:
                    time.sleep(self.settings.linger)
                self.loop.progress.count_wait(waited.total)
            self._write_status()

    def _run_on_spark(self) -> None:
        """Let Spark run the batches; restart its streaming query if it ends by itself, e.g. without an executor."""
        locators = locate_sources(self.inputs)
        session = self._placement.session()
        failures = 0
        with own_directory(self.checkpoint, self.loop.epoch) as directory:
            while True:
                own, before = directory / f"{len(self.restarts):04d}", self.loop.batch.number
                driver = SparkDriver(self.loop, self.inputs, locators, session, own, self.settings.progress)
                query = driver.start()
                try:
                    if not self._watch_spark(query, driver):
                        return
                    self.loop.check_lease()  # a fenced driver may have lost Spark's directory
                    failures = failures + 1 if self.loop.batch.number == before else 0
                    if driver.failure is not None or failures == _SPARK_ATTEMPTS:
                        raise driver.failure or query_error(query)
                    self.restarts.append(f"Spark streaming query restarted: {query_error(query)}")
                finally:
                    driver.stop(query)

    def _watch_spark(self, query: StreamingQuery, driver: SparkDriver) -> bool:
        """Work between the batches of Spark until everything is done; return True if Spark ends before that."""
        while not self._stopping.is_set() and not self.loop.is_over:
            if not query.isActive:
                return True
            driver.between(self._work_between_batches)
            driver.tick()
            self._write_status()
            # Cleared after the wait: input that arrives during a batch is published right after it.
            self._woken.wait(_WAIT)
            self._woken.clear()
        return False

    def close(self) -> None:
        """Release all resources, and refuse commands that still wait."""
        self._commands.close()
        for each in self.inputs:
            each.reader.stop()
        self.loop.close()
        self._placement.close()
        for files in (self.checkpoint, self.results, *(each.log for each in self.inputs)):
            if files is not None:
                files.close()

    def stop(self) -> None:
        """Finish the current batch and stop; a later start on the checkpoint continues from there."""
        self._stopping.set()
        self._woken.set()
        if not self._in_callback:  # a callback cannot wait for the end of its own batch
            self.wait()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the query has ended; return False after `seconds`."""
        self._check_outside_callback()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return False
        self._raise()
        return True

    def _watch_callback(self, out: UnitCallback) -> UnitCallback:
        """Wrap an output callback so that re-entrant calls from inside it are detected."""

        def watched(unit: ResultUnit) -> None:
            self._callback_thread = threading.get_ident()
            try:
                out(unit)
            finally:
                self._callback_thread = None

        return watched

    @property
    def _in_callback(self) -> bool:
        return self._callback_thread == threading.get_ident()

    def _check_outside_callback(self) -> None:
        if self._in_callback:
            raise UsageError(
                "on_unit runs inside a batch, and this call waits for the end of the batch: call it from another thread"
            )

    def _run_between_batches(self, command: Callable[[], None]) -> None:
        self._check_outside_callback()
        self._commands.submit(command)

    def _raise(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def add(self, text: str, static: Given | None = None, **options: Unpack[QueryOptions]) -> tuple[str, int]:
        """Add a query that runs beside the others from the next batch on (S40); return its name and version.

        It reads the same streams, sees input from now on and nothing before, and runs again when the checkpoint is
        restarted. Its name is `name`, or the one in its REGISTER clause.
        """
        return self._registry.add(text, static, options)

    def replace(self, text: str, static: Given | None = None, **options: Unpack[QueryOptions]) -> tuple[str, int]:
        """Replace the query of the same name by a changed one, under the next version; see `add`.

        Open windows of the old query are not reported. Without `static` the new query uses the old static data.
        """
        return self._registry.replace(text, static, options)

    def remove(self, name: str) -> None:
        """Stop a query from the next batch on; the others continue."""
        self._registry.remove(name)

    def replace_static(self, static: Given, *, name: str | None = None) -> None:
        """Replace the static data of the query `name`, or of all, from the next batch on (S27).

        The data is stored in the checkpoint, so a restart uses it too.
        """
        self._registry.replace_static(static, name)

    @property
    def queries(self) -> dict[str, int]:
        """The versions of the running queries by name."""
        return self._registry.versions

    def _work_between_batches(self) -> None:
        """Run submitted commands, and check the placement of queries from time to time."""
        now = time.monotonic()
        if now - self._placement_checked > _PLACEMENT_EVERY:
            self._placement_checked = now
            for name in self.loop.failed:
                self._placement.release(name)
            self._move_queries()
        self._commands.run()

    @property
    def paused(self) -> str | None:
        """The write that waits for space on a full disk; None if no write waits."""
        return self._disk_full.paused

    def status(self) -> dict[str, Any]:
        """Return the status of all queries as plain values."""
        queries = {}
        for name, query in self.loop.queries.items():
            placement = query.stepper.placement.name
            queries[name] = query_status(query.record, query.state, query.stepper.query.version, placement)
            queries[name]["evaluation"] = query.stepper.evaluation.description
            queries[name]["placed"] = self._placement.reason(name)
        return {
            "query": self.name,
            "pid": os.getpid(),
            "written": time.time(),
            **self.loop.progress.as_dict(),
            **combined_status([*queries.values()]),
            "queries": queries,
            "failed": dict(self.loop.failed),
            "paused": self.paused,
            "troubles": [each.reader.trouble for each in self.inputs if each.reader.trouble],
            "stopped": self._ended_by,
            "restarts": len(self.restarts),
            "restarted": next(reversed(self.restarts), None),
        }

    def _write_status(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self._status_written > _STATUS_EVERY:
            self._status_written = now
            self.loop.check_lease()  # without input, no batch would notice that another driver has taken over
            self.checkpoint.write(STATUS, json.dumps(self.status()).encode())
