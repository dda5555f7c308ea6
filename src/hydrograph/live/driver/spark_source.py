"""Spark data source over the partitions of a query: executors read ranges of offsets that the driver has published.

Only the driver asks a partition for its end, because that may write files or read all input. It writes the ends to a
small file beside Spark's own, which Spark's planning process reads. Executors only call `read`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hydrograph.live.sources.inputs import Input
from hydrograph.live.sources.registry import reopen
from hydrograph.live.sources.source import PartitionLocator, PartitionReader
from hydrograph.live.storage.files import LocalFiles
from hydrograph.streams.schema import EVENTS, ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit

_MARKS = (("input", pa.int64()), ("from_offset", pa.int64()), ("to_offset", pa.int64()), ("rejected", pa.int64()))
SPARK_ROWS = pa.schema([*EVENTS, *_MARKS])
"""Encoded events, with their input and their range of offsets."""
_DDL = f"{ddl(EVENTS)}, " + ", ".join(f"{name} BIGINT" for name, _ in _MARKS)
_ENDS = "ends.json"

Offsets = Mapping[str, int]
"""Offset of each input, by its number as text, because Spark stores JSON."""


@dataclass(frozen=True, slots=True)
class SourceLocator:
    """Partition of a query, located for any process, with its number among the inputs."""

    number: int
    partition: PartitionLocator


class PublishedOffsets:
    """Offsets up to which Spark may read, in a local file of the driver's machine."""

    def __init__(self, directory: Path) -> None:
        """Store the file in a directory."""
        self._files = LocalFiles(directory)

    def publish(self, ends: Offsets) -> None:
        """Publish the offset up to which each input may be read."""
        self._files.write(_ENDS, json.dumps(ends).encode())

    def read(self, start: Offsets) -> dict[str, int]:
        """Return the published offsets, not before `start`."""
        published = json.loads(self._files.read(_ENDS) or b"{}")
        return {number: max(offset, published.get(number, offset)) for number, offset in start.items()}


def read_range(locator: SourceLocator, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Return the rows between two offsets of a partition, in any process."""
    for chunk in _reader(locator.partition).read(start, end):
        events = chunk.events
        if not events.num_rows:  # rejected elements are counted in a row without a time
            events = pa.table([pa.nulls(1, field.type) for field in EVENTS], schema=EVENTS)
        marks = (locator.number, chunk.start, chunk.end, chunk.rejected)
        for (name, kind), value in zip(_MARKS, marks, strict=True):
            events = events.append_column(name, pa.array([value] * events.num_rows, kind))
        yield from events.cast(SPARK_ROWS).combine_chunks().to_batches()


@lru_cache(64)
def _reader(partition: PartitionLocator) -> PartitionReader:
    """Return a reader that was not resumed: it writes nothing."""
    return reopen(partition)


def register_source(
    session: SparkSession, name: str, inputs: Sequence[SourceLocator], first: Offsets, directory: Path
) -> None:
    """Register the sources of a query with Spark under a name, from the offsets `first` up to the published ones."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class OffsetRange(InputPartition):
        def __init__(self, locator: SourceLocator, start: int, end: int) -> None:
            super().__init__(None)
            self.locator, self.start, self.end = locator, start, end

    class StreamReader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return dict(first)

        def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
            return PublishedOffsets(directory).read(start)

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
            return [
                OffsetRange(each, start[str(each.number)], end[str(each.number)])
                for each in inputs
                if start[str(each.number)] < end[str(each.number)]
            ]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            assert isinstance(partition, OffsetRange)
            return read_range(partition.locator, partition.start, partition.end)

        def commit(self, end: dict[str, int]) -> None:
            """Do nothing: the batch loop releases input when it has committed."""

    class LiveInput(DataSource):
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> str:
            return _DDL

        def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
            return StreamReader()

    session.dataSource.register(LiveInput)


def locate_sources(inputs: Sequence[Input]) -> list[SourceLocator]:
    """Return what other processes need to open the partitions of a query."""
    return [SourceLocator(number, each.locator) for number, each in enumerate(inputs)]
