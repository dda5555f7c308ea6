"""Spark Structured Streaming as the driver: it asks the sources, spreads their reading and calls the step.

What Spark says about a batch is not trusted (its number comes again with other rows after some accidents): each row
brings the offsets it stands at, what our record has already is left out, and what is missing is read outside of Spark.
So Spark's own progress may be written behind, which saves most of the time of a trigger.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.errors import RunError
from hydrograph.live.arrivals import Arrival
from hydrograph.live.files import files_at
from hydrograph.live.inputs import Input
from hydrograph.live.progress import Stopwatch
from hydrograph.live.runner import Runner
from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.sources.source import Source
from hydrograph.runtime.placement.spark import cause_of
from hydrograph.streams.schema import EVENTS, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.streaming.query import StreamingQuery

_MARKS = (("input", pa.int64()), ("from_offset", pa.int64()), ("to_offset", pa.int64()), ("rejected", pa.int64()))
ROWS = pa.schema([*EVENTS, *_MARKS])
"""Encoded events, and where in which source they stand."""
_DDL = f"{ddl(EVENTS)}, " + ", ".join(f"{name} BIGINT" for name, _ in _MARKS)


@dataclass(frozen=True, slots=True)
class Reachable:
    """How any process finds a source again."""

    number: int
    stream: str
    url: str
    partition: int
    log: str
    logged: bool
    """Whether it is read from its log, and not from its origin."""
    bad: str


def chunks_of(reachable: Reachable, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Return what lies between two offsets of a source, in any process."""
    from hydrograph.live.log import read_log

    if reachable.logged:
        chunks = read_log(files_at(reachable.log), "log", start, end)
    else:
        chunks = _reader(reachable).read(start, end)
    for chunk in chunks:
        events = chunk.events
        if not events.num_rows:  # what was rejected is told by a row without a time
            events = pa.table([pa.nulls(1, field.type) for field in EVENTS], schema=EVENTS)
        marks = (reachable.number, chunk.start, chunk.end, chunk.rejected)
        for (name, kind), value in zip(_MARKS, marks, strict=True):
            events = events.append_column(name, pa.array([value] * events.num_rows, kind))
        yield from events.cast(ROWS).combine_chunks().to_batches()


def end_of(reachable: Reachable, known: int) -> int:
    """Return the offset behind what can be read of a source, in any process."""
    from hydrograph.live.log import log_end

    if reachable.logged:
        return log_end(files_at(reachable.log), "log", known)
    return _reader(reachable).end()


@lru_cache(64)
def _reader(reachable: Reachable) -> Source:
    """Return a source that is read from its origin, as the driver has found it; nothing is written."""
    from hydrograph.live.sources.registry import open_source
    from hydrograph.rdf.terms import Iri

    log = files_at(reachable.log)
    return open_source(Iri(reachable.stream), reachable.url, log, partition=reachable.partition, bad=reachable.bad)


def register_source(session: SparkSession, name: str, inputs: Sequence[Reachable]) -> None:
    """Make the sources of a query known to Spark under a name."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Stretch(InputPartition):
        def __init__(self, reachable: Reachable, start: int, end: int) -> None:
            super().__init__(None)
            self.reachable, self.start, self.end = reachable, start, end

    class Reader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {str(each.number): 0 for each in inputs}

        def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
            return {str(each.number): end_of(each, start[str(each.number)]) for each in inputs}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
            return [
                Stretch(each, start[str(each.number)], end[str(each.number)])
                for each in inputs
                if start[str(each.number)] < end[str(each.number)]
            ]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            assert isinstance(partition, Stretch)
            return chunks_of(partition.reachable, partition.start, partition.end)

        def commit(self, end: dict[str, int]) -> None:
            """Nothing: what may be forgotten is said by the query's own record."""

    class Live(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return _DDL

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
            return Reader()

    session.dataSource.register(Live)


@dataclass(slots=True)
class _Call:
    """What Spark calls; it keeps that for ever, and so must not hold on to a driver that has stopped."""

    driver: StructuredDriver | None

    def __call__(self, frame: DataFrame, _: int) -> None:
        if self.driver is not None:
            self.driver.batch(frame)


@dataclass(slots=True)
class StructuredDriver:
    """A runner that is called by Spark, and between its calls by `tick` for what has no rows: silence and ends."""

    runner: Runner
    inputs: Sequence[Input]
    reachable: Sequence[Reachable]
    session: SparkSession
    checkpoint: str
    asynchronous: bool = True
    failure: Exception | None = field(init=False, default=None)
    """What a batch has failed with."""
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _call: _Call = field(init=False)

    def start(self) -> StreamingQuery:
        """Let Spark call the step from now on."""
        name = f"hydrograph_live_{id(self)}"
        register_source(self.session, name, self.reachable)
        frame = self.session.readStream.format(name).load()
        self._call = _Call(self)
        writer = frame.writeStream.foreachBatch(self._call).option("checkpointLocation", self.checkpoint)
        if self.asynchronous:
            writer = (
                writer.option("asyncProgressTrackingEnabled", "true")
                .option("asyncProgressTrackingCheckpointIntervalMs", "1000")
                .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
            )
        return writer.trigger(processingTime="0 seconds").start()

    def batch(self, frame: DataFrame) -> None:
        """Work off what Spark has read."""
        watch = Stopwatch()
        try:
            table = frame.toArrow()
            watch.lap("read")
            with self._lock:
                arrivals = self._arrivals(table)
                watch.lap("decode")
                if arrivals and self._call.driver is not None:
                    self.runner.arrived(arrivals, watch)
        except Exception as error:  # Spark wraps it into words of its own
            self.failure = error
            raise

    def _arrivals(self, table: pa.Table) -> list[Arrival]:
        """Return what our record does not have yet, without gaps."""
        found: list[Arrival] = []
        by_place = table.sort_by([("input", "ascending"), ("from_offset", "ascending")])
        for each, reachable in zip(self.inputs, self.reachable, strict=True):
            at = self.runner.batch.end.get(each.name, 0)
            own = by_place.filter(pc.field("input") == reachable.number).combine_chunks()
            # Rows of one place stand together: to look for them in all rows, for each place, takes its square.
            starts, firsts = np.unique(own.column("from_offset").to_numpy(), return_index=True)
            ends = np.append(firsts, len(own))[1:]
            for start, first, behind in zip(starts.tolist(), firsts.tolist(), ends.tolist(), strict=True):
                rows = own.slice(first, behind - first)
                end, rejected = (rows.column(name)[0].as_py() for name in ("to_offset", "rejected"))
                if end <= at:
                    continue
                if start > at:
                    found += self.runner.read(each, at, start)
                rows = rows.filter(pc.field("t").is_valid()).select(EVENTS.names).cast(EVENTS)
                found.append(Arrival(each.stream, rows, start, end, each.number, rejected))
                at = end
        return found

    def between(self, work: Callable[[], None]) -> None:
        """Do something between two batches."""
        with self._lock:
            work()

    def stop(self, query: StreamingQuery) -> None:
        """Let Spark call no more; a batch at hand is finished first."""
        with self._lock:
            self._call.driver = None
        query.stop()

    def tick(self) -> None:
        """Look for sources that have ended or are silent, when everything they gave has been worked off."""
        with self._lock:
            behind = any(self.runner.batch.end.get(each.name, 0) < each.source.end() for each in self.inputs)
            if not behind:
                self.runner.once()


def reachable_inputs(inputs: Sequence[Input], urls: Sequence[str], logs: Sequence[str], bad: str) -> list[Reachable]:
    """Return how other processes find the sources of a query."""
    found = []
    for number, (each, url, log) in enumerate(zip(inputs, urls, logs, strict=True)):
        logged = isinstance(each.source, LoggedSource)
        reachable = url if logged else _from_anywhere(url)
        found.append(Reachable(number, each.stream.value, reachable, each.number, _from_anywhere(log), logged, bad))
    return found


def _from_anywhere(location: str) -> str:
    """Return a location that means the same in a process that stands in another directory.

    >>> _from_anywhere("results:/data/rooms?query=q"), _from_anywhere("s3://rooms/log")
    ('results:/data/rooms?query=q', 's3://rooms/log')
    """
    place, mark, options = location.partition("?")
    prefix = next(each for each in ("dir:", "results:", "") if place.startswith(each))
    path = place.removeprefix(prefix)
    return location if "://" in path else f"{prefix}{Path(path).resolve()}{mark}{options}"


@contextmanager
def answering() -> Iterator[None]:
    """Make an error of it that says so when Spark's Java process is gone, and of what Java has to say otherwise."""
    try:
        yield
    except Exception as error:
        found = _java_error(error)
        if found is None:
            raise
        raise found from error


def _java_error(error: Exception) -> RunError | None:
    if "py4j" not in sys.modules:  # no Java was ever spoken with, and to import what speaks with it takes time
        return None
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

    if isinstance(error, Py4JJavaError):
        return RunError(f"Spark failed: {cause_of(str(error))}")
    if isinstance(error, Py4JError | ConnectionError):
        return RunError(
            "Spark's Java process does not answer any more: it was killed, or has run out of memory; "
            "start again, nothing is lost"
        )
    return None


def query_error(query: StreamingQuery) -> RunError:
    """Return why Spark has stopped a query."""
    error = query.exception()
    words = str(error).strip().splitlines()[0][:500] if error is not None else "Spark has stopped it"
    return RunError(f"the streaming query failed: {words}")
