"""Spark driver: Structured Streaming reads the sources on executors and calls the batch loop.

Spark's batch numbers are not trusted: after some failures a number comes again with other rows. Each row carries its
offsets; rows that the last commit covers are skipped, and missing rows are read outside Spark. So Spark may write its
own progress asynchronously, which saves most of the time of a trigger. Each driver has a Spark directory of its own,
which starts at the last commit.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.errors import RunError
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.spark_source import PublishedOffsets, SourceLocator, register_source
from hydrograph.live.settings import ProgressTracking
from hydrograph.live.sources.inputs import Input
from hydrograph.live.status import Stopwatch
from hydrograph.live.step.records import InputBatch, Partition, end_offsets, start_offsets
from hydrograph.live.storage.files import Files
from hydrograph.runtime.placement.spark import cause_of
from hydrograph.streams.schema import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_ROW_BYTES = 64
"""Smallest size of a row in an input log; bounds the number of rows of a short range."""


@dataclass(slots=True)
class _Call:
    """Callback of a streaming query; Spark keeps it forever, so it must not keep a stopped driver alive."""

    driver: SparkDriver | None

    def __call__(self, frame: DataFrame, _: int) -> None:
        if self.driver is not None:
            self.driver.batch(frame)


@dataclass(slots=True)
class SparkDriver:
    """Batch loop called by Spark, and by `tick` between two calls for idle and ended partitions."""

    loop: BatchLoop
    inputs: Sequence[Input]
    locators: Sequence[SourceLocator]
    session: SparkSession
    directory: Path
    """Local directory for Spark's own progress; see `own_directory`."""
    tracking: ProgressTracking = ProgressTracking.ASYNC
    failure: Exception | None = field(init=False, default=None)
    """Error of a batch after Spark had read it; a restart of the streaming query would not help."""
    _published: Mapping[str, int] = field(init=False, default_factory=dict)
    _measured: dict[Partition, float] = field(init=False, default_factory=dict)
    """Rows per offset in the last batch, for divisible partitions."""
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _call: _Call = field(init=False)

    def __post_init__(self) -> None:
        """Make the callback."""
        self._call = _Call(self)

    def start(self) -> StreamingQuery:
        """Start a streaming query that calls the batch loop."""
        name = f"hydrograph_live_{id(self)}"
        register_source(self.session, name, self.locators, self.first(), self.directory)
        frame = self.session.readStream.format(name).load()
        # With a scheme: a cluster may resolve a plain path in its own file system.
        own = f"file://{self.directory.resolve() / 'progress'}"
        writer = frame.writeStream.foreachBatch(self._call).option("checkpointLocation", own)
        if self.tracking is ProgressTracking.ASYNC:
            writer = (
                writer.option("asyncProgressTrackingEnabled", "true")
                .option("asyncProgressTrackingCheckpointIntervalMs", "1000")
                .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
            )
        return writer.trigger(processingTime="0 seconds").start()

    def batch(self, frame: DataFrame) -> None:
        """Run a batch over the rows that Spark has read."""
        watch = Stopwatch()
        table = frame.toArrow()
        watch.lap("read")
        try:
            with self._lock:
                arrivals = self.uncommitted_input(table)
                watch.lap("decode")
                if arrivals and self._call.driver is not None:
                    self._measure(arrivals)
                    self.loop.run_on(arrivals, watch)
                    self._publish()  # before this returns: Spark asks for the next batch at once
        except Exception as error:  # Spark would wrap it in an error of its own
            self.failure = error
            raise

    def uncommitted_input(self, table: pa.Table) -> list[InputBatch]:
        """Return the rows after the last commit, without gaps."""
        found: list[InputBatch] = []
        by_place = table.sort_by([("input", "ascending"), ("from_offset", "ascending")])
        for each, locator in zip(self.inputs, self.locators, strict=True):
            at = self.loop.batch.end.get(each.name, 0)
            own = by_place.filter(pc.field("input") == locator.number).combine_chunks()
            # Rows of one range are adjacent: a filter per range would take quadratic time.
            starts, firsts = np.unique(own.column("from_offset").to_numpy(), return_index=True)
            ends = np.append(firsts, len(own))[1:]
            for start, first, behind in zip(starts.tolist(), firsts.tolist(), ends.tolist(), strict=True):
                rows = own.slice(first, behind - first)
                end, rejected = (rows.column(name)[0].as_py() for name in ("to_offset", "rejected"))
                if end <= at:
                    continue
                if start > at:
                    found += self.loop.read(each, at, start)
                rows = rows.filter(pc.field("t").is_valid()).select(EVENTS.names).cast(EVENTS)
                found.append(InputBatch(each.stream, rows, start, end, each.number, rejected))
                at = end
        return found

    def first(self) -> dict[str, int]:
        """Return the offsets at which Spark starts: after the last commit."""
        return {str(each.number): at for each, at in zip(self.locators, self._reached(), strict=True)}

    def _reached(self) -> list[int]:
        """Return the committed offset of each input."""
        return [self.loop.batch.end.get(each.name, 0) for each in self.inputs]

    def _publish(self) -> bool:
        """Publish how far Spark may read now; return whether there is uncommitted input."""
        reached, ends = self._reached(), [each.reader.end() for each in self.inputs]
        parts = zip(self.inputs, self.locators, reached, ends, strict=True)
        found = {str(locator.number): self._limit_end(each, at, end) for each, locator, at, end in parts}
        if found != self._published:
            PublishedOffsets(self.directory).publish(found)
            self._published = found
        return any(at < end for at, end in zip(reached, ends, strict=True))

    def _limit_end(self, each: Input, start: int, end: int) -> int:
        """Return the offset up to which a batch has about `most_rows` rows, since all of them are in memory at once.

        The rows of a log are counted, which is cheap because its end is cached. For a divisible partition, whose
        offsets count things such as files, the rows per offset of the last batch give an estimate.
        """
        most = self.loop.most_rows
        if each.reader.divisible:
            many = most / self._measured[each.name] if each.name in self._measured else 1
            return min(end, start + max(1, int(many)))
        rows = 0
        for chunk in each.reader.read(start, end) if end - start > most * _ROW_BYTES else ():
            rows += chunk.events.num_rows
            if rows >= most:
                return chunk.end
        return end

    def _measure(self, arrivals: Sequence[InputBatch]) -> None:
        ends = end_offsets(arrivals)
        for name, start in start_offsets(arrivals).items():
            rows = sum(arrival.events.num_rows for arrival in arrivals if arrival.name == name)
            self._measured[name] = max(1, rows) / max(1, ends[name] - start)

    def between(self, work: Callable[[], None]) -> None:
        """Do some work between two batches."""
        with self._lock:
            work()

    def stop(self, query: StreamingQuery) -> None:
        """Stop the streaming query after the current batch."""
        with self._lock:
            self._call.driver = None
        query.stop()

    def tick(self) -> None:
        """Publish new input; if there is none, check for ended and idle partitions."""
        with self._lock:
            if not self._publish():
                self.loop.run_on([], Stopwatch())


@contextmanager
def own_directory(checkpoint: Files, epoch: int) -> Iterator[Path]:
    """Yield a local directory for Spark: in the checkpoint if it is local, else a temporary one.

    Nothing in it is needed after a restart, so the directories of earlier drivers are removed. A fenced driver may miss
    its own, but must not write any more.
    """
    if checkpoint.local_root is None:
        with tempfile.TemporaryDirectory(prefix="hydrograph-spark-", ignore_cleanup_errors=True) as temporary:
            yield Path(temporary)
        return
    directory = checkpoint.local_root / "spark"
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        if old.name.isdigit() and int(old.name) < epoch:
            shutil.rmtree(old, ignore_errors=True)
    yield directory / f"{epoch:08d}"


@contextmanager
def java_errors() -> Iterator[None]:
    """Turn errors of Spark's Java process into RunError, also its loss."""
    try:
        yield
    except Exception as error:
        explained = _java_error(error)
        if explained is None:
            raise
        raise explained from error


def _java_error(error: Exception) -> RunError | None:
    if "py4j" not in sys.modules:  # Spark was never started, and the import is slow
        return None
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

    if isinstance(error, Py4JJavaError):
        return RunError(f"Spark failed: {cause_of(str(error))}")
    if isinstance(error, Py4JError | ConnectionError):
        return RunError(
            "Spark's Java process does not respond: it was killed or ran out of memory; start again, no data is lost"
        )
    return None


def query_error(query: StreamingQuery) -> RunError:
    """Return the error that has ended a streaming query."""
    error = query.exception()
    words = str(error).strip().splitlines()[0][:500] if error is not None else "Spark has stopped the query"
    return RunError(f"the streaming query failed: {words}")
