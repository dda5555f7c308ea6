"""Spark Structured Streaming as the driver: it spreads the reading of the sources and calls the step.

What Spark says about a batch is not trusted (its number comes again with other rows after some accidents): each row
brings the offsets it stands at, what our record has already is left out, and what is missing is read outside of Spark.
So Spark's own progress may be written behind, which saves most of the time of a trigger; and its directory, of which
every driver has its own, begins where our record ends.
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
from hydrograph.live.driver.batch_loop import Runner
from hydrograph.live.driver.spark_source import Ends, Reachable, register_source
from hydrograph.live.progress import Stopwatch
from hydrograph.live.settings import Tracking
from hydrograph.live.sources.inputs import Input
from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.live.step.input_batch import Arrival, Partition, ends_of
from hydrograph.live.storage.files import Files, LocalFiles
from hydrograph.runtime.placement.spark import cause_of
from hydrograph.streams.schema import EVENTS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_ROW_BYTES = 64
"""Bytes that a row takes in a log at least, so that short stretches are known to have few rows."""


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
    directory: Path
    """Where Spark keeps its own progress, on this machine; see `own_directory`."""
    tracking: Tracking = Tracking.ASYNC
    failure: Exception | None = field(init=False, default=None)
    """What a batch has failed with that Spark had read: to read it again would not help."""
    _published: Mapping[str, int] = field(init=False, default_factory=dict)
    _measured: dict[Partition, float] = field(init=False, default_factory=dict)
    """Rows for each step of an offset in the last batch, where an offset is a number of things."""
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _call: _Call = field(init=False)

    def __post_init__(self) -> None:
        """Be ready to be called."""
        self._call = _Call(self)

    def start(self) -> StreamingQuery:
        """Let Spark call the step from now on."""
        name = f"hydrograph_live_{id(self)}"
        register_source(self.session, name, self.reachable, self.first(), self.directory)
        frame = self.session.readStream.format(name).load()
        # With its scheme: a cluster may take a path without one for a path of its own file system.
        own = f"file://{self.directory.resolve() / 'progress'}"
        writer = frame.writeStream.foreachBatch(self._call).option("checkpointLocation", own)
        if self.tracking is Tracking.ASYNC:
            writer = (
                writer.option("asyncProgressTrackingEnabled", "true")
                .option("asyncProgressTrackingCheckpointIntervalMs", "1000")
                .option("_asyncProgressTrackingOverrideSinkSupportCheck", "true")
            )
        return writer.trigger(processingTime="0 seconds").start()

    def batch(self, frame: DataFrame) -> None:
        """Work off what Spark has read."""
        watch = Stopwatch()
        table = frame.toArrow()
        watch.lap("read")
        try:
            with self._lock:
                arrivals = self._arrivals(table)
                watch.lap("decode")
                if arrivals and self._call.driver is not None:
                    self._measure(arrivals)
                    self.runner.arrived(arrivals, watch)
                    self._publish()  # before Spark asks again, which it does at once
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

    def first(self) -> dict[str, int]:
        """Return where Spark is to begin: behind what our record has."""
        return {str(each.number): at for each, at in zip(self.reachable, self._reached(), strict=True)}

    def _reached(self) -> list[int]:
        """Return how far each input has been worked off."""
        return [self.runner.batch.end.get(each.name, 0) for each in self.inputs]

    def _publish(self) -> bool:
        """Tell Spark how far it may read now; return whether there is anything that has not been worked off."""
        reached, ends = self._reached(), [each.source.end() for each in self.inputs]
        parts = zip(self.inputs, self.reachable, reached, ends, strict=True)
        found = {str(way.number): self._bounded(each, at, end) for each, way, at, end in parts}
        if found != self._published:
            Ends(self.directory).publish(found)
            self._published = found
        return any(at < end for at, end in zip(reached, ends, strict=True))

    def _bounded(self, each: Input, start: int, end: int) -> int:
        """Return an offset up to which a batch has about as many rows as it may: all of them stand in memory at once.

        A log is looked at, which costs little where it is in memory anyway. Elsewhere an offset is a number of things,
        as files, and the rows of things before say how many to read.
        """
        most = self.runner.most_rows
        if not isinstance(each.source, LoggedSource):
            many = most / self._measured[each.name] if each.name in self._measured else 1
            return min(end, start + max(1, int(many)))
        rows = 0
        for chunk in each.source.read(start, end) if end - start > most * _ROW_BYTES else ():
            rows += chunk.events.num_rows
            if rows >= most:
                return chunk.end
        return end

    def _measure(self, arrivals: Sequence[Arrival]) -> None:
        ends = ends_of(arrivals, behind=True)
        for name, start in ends_of(arrivals, behind=False).items():
            rows = sum(arrival.events.num_rows for arrival in arrivals if arrival.name == name)
            self._measured[name] = max(1, rows) / max(1, ends[name] - start)

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
        """Tell Spark what has come; look for sources that have ended or are silent, when everything is worked off."""
        with self._lock:
            if not self._publish():
                self.runner.arrived([], Stopwatch())


@contextmanager
def own_directory(checkpoint: Files, epoch: int) -> Iterator[Path]:
    """Give Spark a directory on this machine: in the checkpoint, where that is here, else one for the time being.

    Nothing in it is needed again, so those of drivers before are removed. One that was believed dead may miss its own;
    it must not write any more anyhow.
    """
    if not isinstance(checkpoint, LocalFiles):
        with tempfile.TemporaryDirectory(prefix="hydrograph-spark-", ignore_cleanup_errors=True) as made:
            yield Path(made)
        return
    every = checkpoint.root / "spark"
    every.mkdir(parents=True, exist_ok=True)
    for old in every.iterdir():
        if old.name.isdigit() and int(old.name) < epoch:
            shutil.rmtree(old, ignore_errors=True)
    yield every / f"{epoch:08d}"


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
