"""The sources of a query as Spark reads them: any process reads a stretch, the driver alone says how far they reach.

A source is asked for its end where it was opened and nowhere else: to look may mean to write down what was seen, or to
read all there is. So the driver writes the ends to a small file beside Spark's own, and the process in which Spark asks
reads that. What a source does beyond `read` is not known here.
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
from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.live.sources.source import Source
from hydrograph.live.storage.files import LocalFiles, files_at
from hydrograph.streams.schema import EVENTS, ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit

_MARKS = (("input", pa.int64()), ("from_offset", pa.int64()), ("to_offset", pa.int64()), ("rejected", pa.int64()))
ROWS = pa.schema([*EVENTS, *_MARKS])
"""Encoded events, and where in which source they stand."""
_DDL = f"{ddl(EVENTS)}, " + ", ".join(f"{name} BIGINT" for name, _ in _MARKS)
_ENDS = "ends.json"

Offsets = Mapping[str, int]
"""An offset for each input, by its number; as text, because that is what Spark writes down."""


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


class Ends:
    """How far Spark may read, in a file of the machine on which the driver runs; Spark asks for it there too."""

    def __init__(self, directory: Path) -> None:
        """Keep the file in a directory."""
        self._files = LocalFiles(directory)

    def publish(self, ends: Offsets) -> None:
        """Say how far each input may be read."""
        self._files.write(_ENDS, json.dumps(ends).encode())

    def seen(self, start: Offsets) -> dict[str, int]:
        """Return how far each input may be read by somebody who has read as far as `start`."""
        said = json.loads(self._files.read(_ENDS) or b"{}")
        return {number: max(offset, said.get(number, offset)) for number, offset in start.items()}


def chunks_of(reachable: Reachable, start: int, end: int) -> Iterator[pa.RecordBatch]:
    """Return what lies between two offsets of a source, in any process."""
    from hydrograph.live.storage.append_log import read_log

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


@lru_cache(64)
def _reader(reachable: Reachable) -> Source:
    """Return a source that is read from its origin, as the driver has found it; nothing is written."""
    from hydrograph.live.sources.registry import open_source
    from hydrograph.rdf.terms import Iri

    log = files_at(reachable.log)
    return open_source(Iri(reachable.stream), reachable.url, log, partition=reachable.partition, bad=reachable.bad)


def register_source(
    session: SparkSession, name: str, inputs: Sequence[Reachable], first: Offsets, directory: Path
) -> None:
    """Make the sources of a query known to Spark under a name, from some offsets on as far as `Ends` says."""
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class Stretch(InputPartition):
        def __init__(self, reachable: Reachable, start: int, end: int) -> None:
            super().__init__(None)
            self.reachable, self.start, self.end = reachable, start, end

    class Reader(DataSourceStreamReader):
        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return dict(first)

        def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
            return Ends(directory).seen(start)

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
