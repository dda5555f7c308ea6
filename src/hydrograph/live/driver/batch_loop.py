"""Batch loop: each batch goes through eight steps from the sources to the results (A8, S38, S39).

    read -> decide -> record -> classify -> evaluate -> emit -> commit -> forget

`BatchLoop.run_batch` is these steps, in this order. A decision is recorded before the batch is processed, and the batch
is committed after its results are written. So a crash at any point loses nothing: a restart reads the input from the
oldest offset that is still needed, and replays the batches that were decided and not committed.

Several queries may share the sources. Each has its own state and watermark; the batches and their records are common.
Adding, replacing or removing a query, and replacing static data, is a batch without input (S40, S27), so it is recorded
like any other and a restart repeats it. A query that fails is removed, with the reason in the record, and does not stop
the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import duckdb

from hydrograph.errors import HydrographError, RunError
from hydrograph.live.checkpoint.batch_commit import (
    KEPT_BATCHES,
    BatchJournal,
    NoResults,
    ResultSegments,
    newest_batch,
    newest_commits,
)
from hydrograph.live.checkpoint.startup_checks import check_owner, check_resumable
from hydrograph.live.driver.placement_policy import LoadMeter
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.failpoints import reach
from hydrograph.live.results.exactly_once_sink import SegmentSink
from hydrograph.live.sources.inputs import Input
from hydrograph.live.status import Progress, Stopwatch
from hydrograph.live.step.records import (
    BatchDecision,
    BatchOutcome,
    InputBatch,
    Partition,
    QueryVersion,
    ResultUnit,
    end_offsets,
    start_offsets,
)
from hydrograph.live.step.step import ClassifiedInput, Stepper, UnplacedInput
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.lease import Lease

UnitCallback = Callable[[ResultUnit], None]
"""Receives each unit. After a crash the last units may come again, with the same key and text."""

RestoreQuery = Callable[[str, QueryVersion, RegisteredQuery | None], RegisteredQuery]
"""Returns the recorded version of a query, given its name and the query that runs under that name."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_PARALLEL_QUERIES = 4
"""Queries evaluated on Spark at the same time: each plans on one core and keeps the rows of its windows meanwhile."""


def _refuse_unknown(name: str, version: QueryVersion, _: RegisteredQuery | None) -> RegisteredQuery:
    raise RunError(f"the checkpoint refers to version {version.version} of {name}, which is unknown here")


def _step(
    timer: str, failpoint: str | None = None
) -> Callable[[Callable[Concatenate[BatchLoop, _P], _R]], Callable[Concatenate[BatchLoop, _P], _R]]:
    """Decorate a step of a batch: when it returns, stop its timer and pass its failpoint."""

    def decorate(step: Callable[Concatenate[BatchLoop, _P], _R]) -> Callable[Concatenate[BatchLoop, _P], _R]:
        @wraps(step)
        def measured(self: BatchLoop, /, *args: _P.args, **named: _P.kwargs) -> _R:
            result = step(self, *args, **named)
            self.stopwatch.lap(timer)
            if failpoint is not None:
                reach(failpoint)
            return result

        return measured

    return decorate


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTask:
    """One batch to run: new input, a change of queries, or the replay of a recorded batch."""

    queries: Mapping[str, RegisteredQuery]
    read: Callable[[], Sequence[InputBatch]]
    decide: Callable[[Sequence[InputBatch]], BatchDecision | None]
    """Returns the decision about the input; None if there is nothing to do."""
    is_recorded: bool = False


@dataclass(slots=True)
class ClassifiedBatch:
    """Classified input of each query, and the queries that failed with the reason."""

    inputs: dict[str, UnplacedInput | ClassifiedInput] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class BatchResult:
    """Queries after a batch, the units that they emit, their evaluation times, and the queries that failed."""

    queries: dict[str, RegisteredQuery] = field(default_factory=dict)
    units: list[ResultUnit] = field(default_factory=list)
    milliseconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


@contextmanager
def _removing_failed(task: BatchTask, name: str, failed: dict[str, str]) -> Iterator[None]:
    """Add a query to `failed` if it raises an error, unless the error has to end the driver.

    That is an error of a placement that may have failed itself, or of the only query: a restart resumes from the
    checkpoint.
    """
    try:
        yield
    except (HydrographError, duckdb.Error, MemoryError) as error:
        if task.queries[name].stepper.placement.is_retryable or not {*task.queries} - {*failed, name}:
            raise
        failed[name] = f"{type(error).__name__}: {error}".splitlines()[0][:500]


@dataclass(slots=True)
class BatchLoop:
    """Batches of all queries on one checkpoint."""

    founding: RegisteredQuery
    """The query that the checkpoint was made for; others may have been added since, and it may have been removed."""
    inputs: Sequence[Input]
    checkpoint: Files
    results: Files | None = None
    outs: Sequence[UnitCallback] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    """Description of the founding query in each record: a checkpoint of another query is refused."""
    idle_after: float | None = None
    """Seconds without input after which a partition is idle."""
    clock: Callable[[], float] = time.monotonic
    most_rows: int = 200_000
    """Rows after which no more input is read for one batch."""
    restore: RestoreQuery = _refuse_unknown
    forget_static: Callable[[str], None] = lambda _: None
    """Receives the fingerprint of static data that no record refers to any more."""
    queries: Mapping[str, RegisteredQuery] = field(init=False)
    batch: BatchDecision = field(init=False, default_factory=BatchDecision)
    """The last committed batch."""
    segments: Mapping[str, int] = field(init=False, default_factory=dict)
    failed: Mapping[str, str] = field(init=False, default_factory=dict)
    """Queries that have failed and no longer run, with the reason."""
    progress: Progress = field(init=False, default_factory=Progress)
    load: dict[str, LoadMeter] = field(init=False, default_factory=dict)
    """Load of each query since its placement or the set of queries last changed."""
    stopwatch: Stopwatch = field(init=False, default_factory=Stopwatch)
    """Timer of the current batch."""
    _lease: Lease | None = field(init=False, default=None)
    _journal: BatchJournal = field(init=False)
    _sink: SegmentSink | None = field(init=False, default=None)
    _pool: QueryPool = field(init=False)
    _last_input: dict[Partition, float] = field(init=False, default_factory=dict)
    _needed: list[tuple[Mapping[Partition, int], set[str]]] = field(init=False, default_factory=list)
    """Offsets and static data that recovery to each of the last batches needs."""

    def __post_init__(self) -> None:
        """Start with the founding query."""
        self.queries = {self.founding.name: self.founding}
        self._pool = QueryPool(self.clock)

    # The eight steps of a batch.

    def run_batch(self, task: BatchTask) -> bool:
        """Run one batch; return False if there was nothing to do."""
        arrivals = self._read(task)
        batch = self._decide(task, arrivals)
        if batch is None:
            return False
        self._record(task, batch)
        classified = self._classify(task, batch, arrivals)
        result = self._evaluate(task, classified)
        self._emit(result)
        outcome = self._commit(batch, result)
        self._forget(outcome)
        self._count(batch, arrivals, result)
        return True

    @_step("read")
    def _read(self, task: BatchTask) -> Sequence[InputBatch]:
        """Read new input, or the input of a recorded batch again."""
        return task.read()

    def _decide(self, task: BatchTask, arrivals: Sequence[InputBatch]) -> BatchDecision | None:
        """Decide what each query does with the input: which event times to trust, and how far the watermark goes."""
        return task.decide(arrivals)

    @_step("plan")
    def _record(self, task: BatchTask, batch: BatchDecision) -> None:
        """Record the decision before anything depends on it; a replayed batch is recorded already."""
        if not task.is_recorded:
            self.check_lease()
            self._journal.record(batch)
            reach("begun")

    def _classify(self, task: BatchTask, batch: BatchDecision, arrivals: Sequence[InputBatch]) -> ClassifiedBatch:
        """Classify the elements of each query as on time or late."""
        classified = ClassifiedBatch()
        for name, query in task.queries.items():
            with _removing_failed(task, name, classified.failed):
                classified.inputs[name] = query.classify(arrivals, batch.decisions[name])
        return classified

    @_step("execute")
    def _evaluate(self, task: BatchTask, classified: ClassifiedBatch) -> BatchResult:
        """Evaluate the due reports of each query; remove queries that fail."""
        result = BatchResult(failed=classified.failed)
        queries = {name: task.queries[name] for name in classified.inputs}
        calls = {name: partial(query.evaluate, classified.inputs[name]) for name, query in queries.items()}
        remote = {name for name, query in queries.items() if not query.stepper.placement.in_process}
        for name, finish in self._pool.start(calls, remote).items():
            with _removing_failed(task, name, result.failed):
                (result.queries[name], units), result.milliseconds[name] = finish()
                result.units += units
        return result

    @_step("write", failpoint="written")
    def _emit(self, result: BatchResult) -> None:
        """Write the units to the results and pass them to the callbacks."""
        self.check_lease()
        if self._sink is not None:
            self._sink.write(result.units)
            self.segments = self._sink.lengths
        for unit in result.units:
            for out in self.outs:
                out(unit)

    @_step("commit", failpoint="done")
    def _commit(self, decided: BatchDecision, result: BatchResult) -> BatchOutcome:
        """Commit the batch: from here on, recovery starts after it."""
        self.check_lease()
        batch = replace(
            decided,
            queries={name: version for name, version in decided.queries.items() if name in result.queries},
            decisions={name: decision for name, decision in decided.decisions.items() if name in result.queries},
        )
        records = {name: query.record for name, query in result.queries.items()}
        failed = {name: reason for name, reason in self.failed.items() if name not in decided.queries} | result.failed
        outcome = BatchOutcome(batch=batch, records=records, segments=self.segments, failed=failed)
        self._journal.commit(outcome)
        self.queries, self.batch, self.failed = result.queries, batch, failed
        return outcome

    def _forget(self, outcome: BatchOutcome) -> None:
        """Release input and static data that no kept record needs."""
        self._needed.append(_needs(outcome))
        if len(self._needed) > KEPT_BATCHES:
            offsets, graphs = self._needed.pop(0)
            for each in self.inputs:
                if each.name in offsets:
                    each.reader.forget(offsets[each.name])
            for unused in graphs.difference(*(kept for _, kept in self._needed)):
                self.forget_static(unused)

    def _count(self, batch: BatchDecision, arrivals: Sequence[InputBatch], result: BatchResult) -> None:
        """Count the batch in the progress and in the load of each query."""
        self.progress.count_batch(batch.number, arrivals, result.units, self.stopwatch)
        for name, milliseconds in result.milliseconds.items():
            self.load.setdefault(name, LoadMeter()).count_batch(milliseconds, result.queries[name].record.last)

    # Start and recovery.

    def open(self) -> None:
        """Take the lease on the checkpoint, restore the last commit, and replay the batches recorded after it."""
        self._check_resumable(newest_batch(self.checkpoint, self.about))
        if self.results is not None:
            check_owner(self.checkpoint, self.results)
        self._lease = Lease(self.checkpoint)
        self._journal = BatchJournal(self.checkpoint, self.about, self._lease.epoch)
        stored: ResultSegments = NoResults()
        if self.results is not None:
            self._sink = SegmentSink(self.results, self._lease.epoch, self.checkpoint)
            stored = self._sink.stored_lengths()
        point = self._journal.recover(stored)
        committed = None if point.outcome is None else point.outcome.batch
        last = point.batches[-1] if point.batches else committed
        self._check_resumable(last)
        for each in self.inputs:
            each.reader.resume(self._lease, 0 if last is None else last.end.get(each.name, 0))
        if self._sink is not None:
            self._sink.resume({} if point.outcome is None else point.outcome.segments)
        if point.outcome is not None:
            self._restore_state(point.outcome)
            commits = newest_commits(self.checkpoint, self.about)
            self._needed = [_needs(each) for each in commits if each.batch.number <= self.batch.number][-KEPT_BATCHES:]
        for batch in point.batches:
            self._replay(batch)
        now = self.clock()
        self._last_input = {each.name: now for each in self.inputs}
        self.progress.batch = self.batch.number

    def _check_resumable(self, last: BatchDecision | None) -> None:
        check_resumable(last, self.founding.name, self.founding.version, [each.name for each in self.inputs])

    def _restore_state(self, outcome: BatchOutcome) -> None:
        """Rebuild the state of each query from its record and the input since its oldest offset."""
        self.batch, self.segments, self.failed = outcome.batch, outcome.segments, outcome.failed
        queries = {}
        for name, query in self._restore_queries(outcome.batch).items():
            record = outcome.records[name]
            state = query.stepper.rebuild(record, self._read_between(record.oldest, record.decision.end))
            queries[name] = replace(query, state=state, record=record)
        self.queries = queries

    def _restore_queries(self, batch: BatchDecision) -> dict[str, RegisteredQuery]:
        """Return the queries that a recorded batch was decided for."""
        queries: dict[str, RegisteredQuery] = {}
        for name, version in batch.queries.items():
            known = self.queries.get(name)
            if known is not None and known.version == version:
                queries[name] = known
                continue
            restored = self.restore(name, version, known)
            if known is not None and known.version.version == version.version:
                queries[name] = replace(restored, state=known.state, record=known.record)
            else:
                queries[name] = restored.start_after(batch.number - 1, batch.start)
        return queries

    def _replay(self, batch: BatchDecision) -> None:
        self.stopwatch = Stopwatch()
        self.run_batch(
            BatchTask(
                queries=self._restore_queries(batch),
                read=lambda: [*self._read_between(batch.start, batch.end)],
                decide=lambda _: batch,
                is_recorded=True,
            )
        )

    def close(self) -> None:
        """Wait for queries that are still being evaluated."""
        self._pool.close()

    # Batches of new input.

    def run_once(self) -> bool:
        """Run a batch over new input; return False if there was nothing to do."""
        self.stopwatch = Stopwatch()
        return self.run_batch(BatchTask(queries=self.queries, read=self._read_new, decide=self._decide_input))

    def run_on(self, arrivals: Sequence[InputBatch], stopwatch: Stopwatch) -> bool:
        """Run a batch over input that was read elsewhere; return False if there was nothing to do."""
        self.stopwatch = stopwatch
        return self.run_batch(BatchTask(queries=self.queries, read=lambda: arrivals, decide=self._decide_input))

    def _read_new(self) -> list[InputBatch]:
        arrivals: list[InputBatch] = []
        for each in self.inputs:
            rows = 0
            for arrival in self.read(each, self.batch.end.get(each.name, 0), each.reader.end()):
                arrivals.append(arrival)
                rows += arrival.events.num_rows
                if rows >= self.most_rows:
                    break
        return arrivals

    def _read_between(self, start: Mapping[Partition, int], end: Mapping[Partition, int]) -> Iterable[InputBatch]:
        for each in self.inputs:
            yield from self.read(each, start.get(each.name, 0), end.get(each.name, 0))

    def read(self, each: Input, start: int, end: int) -> Iterator[InputBatch]:
        """Return the input between two offsets of a partition."""
        if start < end:
            for chunk in each.reader.read(start, end):
                yield InputBatch(each.stream, chunk.events, chunk.start, chunk.end, each.number, chunk.rejected)

    def _decide_input(self, arrivals: Sequence[InputBatch]) -> BatchDecision | None:
        """Decide about new input, partitions that have ended or are idle, and reports that the last batch left over."""
        over = {each.name for each in self.inputs if each.reader.has_ended() and self._is_read(each, arrivals)}
        ended = tuple(sorted({*self.batch.ended, *over}))
        now = self.clock()
        for arrival in arrivals:
            self._last_input[arrival.name] = now
        idle = () if self.idle_after is None else self._idle(now - self.idle_after, arrivals)
        unchanged = ended == self.batch.ended and idle == self.batch.idle and not self._leaves_more
        if not arrivals and (unchanged or (not self.batch.end and not ended)):
            return None
        reach("read")
        return self._decide_for(self.queries, arrivals, idle, ended)

    def _is_read(self, each: Input, arrivals: Sequence[InputBatch]) -> bool:
        """Return whether a partition has no unread input after these arrivals."""
        ends = [arrival.end for arrival in arrivals if arrival.name == each.name]
        return max(ends, default=self.batch.end.get(each.name, 0)) >= each.reader.end()

    def _idle(self, since: float, arrivals: Sequence[InputBatch]) -> tuple[Partition, ...]:
        """Return the partitions without input since a time.

        A partition with unread input is not idle: the loop was busy, or has read as many rows as a batch may have.
        """
        silent = [each for each in self.inputs if self._last_input[each.name] < since and self._is_read(each, arrivals)]
        return tuple(sorted(each.name for each in silent))

    def _decide_for(
        self,
        queries: Mapping[str, RegisteredQuery],
        arrivals: Sequence[InputBatch],
        idle: Sequence[Partition],
        ended: Sequence[Partition],
        renewed: Collection[str] = (),
    ) -> BatchDecision:
        """Return the decision of each query; `renewed` queries get new static data."""
        decisions = {}
        for name, query in queries.items():
            decisions[name] = query.stepper.decide(
                query.state,
                [arrival for arrival in arrivals if arrival.name in query.stepper.query.partitions],
                query.record,
                idle=query.own_partitions(idle),
                ended=query.own_partitions(ended),
                static=query.record.decision.static + (name in renewed),
            )
        active = {arrival.name for arrival in arrivals if arrival.events.num_rows}
        return BatchDecision(
            number=self.batch.number + 1,
            start={**self.batch.end, **start_offsets(arrivals)},
            end={**self.batch.end, **end_offsets(arrivals)},
            idle=tuple(name for name in idle if name not in active),
            ended=tuple(ended),
            queries={name: query.version for name, query in queries.items()},
            decisions=decisions,
        )

    # Changes of queries, between two batches.

    def add(self, query: RegisteredQuery) -> None:
        """Run a query from the next batch on, in place of the one with its name if there is one."""
        self._change({**self.queries, query.name: query.start_after(self.batch.number, self.batch.end)})

    def remove(self, name: str) -> None:
        """Stop a query; windows that are still open are not reported."""
        self._change({other: query for other, query in self.queries.items() if other != name})

    def replace_static(self, replaced: Mapping[str, tuple[Stepper, str]]) -> None:
        """Give queries other static data for the reports from the next batch on (S27)."""
        queries = dict(self.queries)
        for name, (stepper, graphs) in replaced.items():
            before = queries[name]
            queries[name] = replace(before, stepper=stepper, graphs=graphs, first=before.version.first)
        self._change(queries, replaced)

    def _change(self, queries: Mapping[str, RegisteredQuery], renewed: Collection[str] = ()) -> None:
        self.load.clear()  # the set of queries has changed
        self.stopwatch = Stopwatch()
        before = self.batch
        self.run_batch(
            BatchTask(
                queries=queries,
                read=list,
                decide=lambda arrivals: self._decide_for(queries, arrivals, before.idle, before.ended, renewed),
            )
        )

    def place(self, steppers: Mapping[str, Stepper]) -> None:
        """Evaluate queries in other placements from now on; nothing that is recorded changes."""
        self.load.clear()  # the remaining queries have more of the driver
        self.queries = {
            name: replace(query, stepper=steppers.get(name, query.stepper)) for name, query in self.queries.items()
        }

    # Lease and end.

    def check_lease(self) -> None:
        """Raise FencedError if another driver has taken over."""
        assert self._lease is not None, "the loop is not open"
        self._lease.check()

    @property
    def has_lease(self) -> bool:
        """Whether the lease was taken; another driver may have taken it since."""
        return self._lease is not None

    @property
    def epoch(self) -> int:
        """The epoch of this driver's lease."""
        assert self._lease is not None, "the loop is not open"
        return self._lease.epoch

    @property
    def is_over(self) -> bool:
        """Whether every partition has ended and everything is reported."""
        return {each.name for each in self.inputs} <= {*self.batch.ended} and not self._leaves_more

    @property
    def _leaves_more(self) -> bool:
        """Whether more reports were due than the last batch has evaluated."""
        return any(query.record.decision.more for query in self.queries.values())


class QueryPool:
    """Threads that evaluate the queries of a batch in parallel: while Spark plans one, cores are free for another.

    Queries in the driver's own process run one after the other. Threads stay from batch to batch, because Java keeps
    one of its own for each.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start no thread before two queries run outside the driver."""
        self._clock = clock
        self._threads: ThreadPoolExecutor | None = None

    def start(
        self, calls: Mapping[str, Callable[[], _R]], remote: Collection[str]
    ) -> dict[str, Callable[[], tuple[_R, float]]]:
        """Start the `remote` calls; return a function per call that gives its result and its milliseconds."""
        pending: dict[str, Callable[[], tuple[_R, float]]] = {}
        for name, call in calls.items():
            timed = partial(self._time, call)
            if name in remote and len(remote) > 1:
                if self._threads is None:
                    self._threads = ThreadPoolExecutor(_PARALLEL_QUERIES, "hydrograph-query")
                pending[name] = self._threads.submit(timed).result
            else:
                pending[name] = timed
        return pending

    def _time(self, call: Callable[[], _R]) -> tuple[_R, float]:
        begun = self._clock()
        result = call()
        return result, 1000 * (self._clock() - begun)

    def close(self) -> None:
        """Wait for running queries; those that have not started do not start."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None


def _needs(outcome: BatchOutcome) -> tuple[Mapping[Partition, int], set[str]]:
    """Return the oldest offsets and the static data that recovery from an outcome needs."""
    needed = dict(outcome.batch.end)
    for record in outcome.records.values():
        for name, offset in record.oldest.items():
            needed[name] = min(needed.get(name, offset), offset)
    return needed, {version.graphs for version in outcome.batch.queries.values()}
