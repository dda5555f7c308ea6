"""Where recorded streams come from: a location becomes a stream, a stream becomes rows in the encoded schema.

A format is one entry of `FORMATS`. Nothing here imports Spark before rows on Spark are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.encoding import salt_of
from hydrograph.rdf.xsd import INEXACT
from hydrograph.streams.formats import parquet, tnt
from hydrograph.streams.formats.tnt import BadLines
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hydrograph.streams.formats.tnt_spark import Found

__all__ = [
    "FORMATS",
    "PARQUET",
    "TNT",
    "BadLines",
    "Bounds",
    "RecordedStream",
    "bounds",
    "data_errors",
    "events_as_arrow",
    "events_on_spark",
    "expected_on_spark",
    "format_of",
    "has_next",
    "open_stream",
    "parquet_paths",
    "spooled",
    "tnt",
]

TNT, PARQUET = "tnt", "parquet"

FORMATS: dict[str, tuple[str, ...]] = {
    TNT: (".tnt", ".tnt.gz", ".tnt.zst"),
    PARQUET: (".parquet",),
}
"""The known formats and how the names of their files end."""


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """A stream at rest: what is needed to read it, in any placement, any number of times (standard input: once)."""

    location: str
    name: str
    format: str
    files: tuple[str, ...]
    salt: str
    bad_lines: BadLines
    manifest: parquet.Manifest | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one pass over a stream tells: first and last event time (None if it is empty), and what it holds."""

    first: Instant | None
    last: Instant | None
    rows: int
    blanks: bool
    grouped: bool
    bad: int = 0
    inexact: bool = True
    """Whether floats or doubles may be among the literals."""
    found: Found | None = None


def open_stream(location: str, *, name: str = "", bad_lines: BadLines | None = None) -> RecordedStream:
    """Return the stream at `location`: a file, a directory of files, or `-` for standard input.

    `name` is the IRI of the stream; it keeps its blank nodes apart from those of other streams. Raise DataError if
    there is no such path or no known format.
    """
    bad_lines = bad_lines or BadLines()
    salt = salt_of(name)
    if location == tnt.STDIN:
        return RecordedStream(location, name, TNT, (tnt.STDIN,), salt, bad_lines)
    path = Path(location)
    if not path.exists():
        raise DataError(f"{location}: no such file or directory")
    if not path.is_dir():
        if format_of(path) != TNT:
            raise DataError(
                f"{location}: expected a {_known()}; Parquet is read as the directory `hydrograph convert` writes"
            )
        return RecordedStream(location, name, TNT, (str(path.resolve()),), salt, bad_lines)
    inside = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith((".", "_"))]
    if (path / parquet.MANIFEST).exists() or any(format_of(file) == PARQUET for file in inside):
        manifest = parquet.Manifest.read(path)
        files = tuple(parquet.paths(path.resolve(), manifest))
        return RecordedStream(location, name, PARQUET, files, manifest.salt, bad_lines, manifest)
    texts = tuple(str(file.resolve()) for file in inside if format_of(file) == TNT)
    if not texts:
        raise DataError(f"{location}: the directory holds no {_known()}")
    return RecordedStream(location, name, TNT, texts, salt, bad_lines)


def format_of(path: Path) -> str | None:
    """Return the format that the name of a file says, or None."""
    return next((name for name, endings in FORMATS.items() if path.name.endswith(endings)), None)


def _known() -> str:
    return "file of a known format: " + ", ".join(ending for endings in FORMATS.values() for ending in endings)


def bounds(stream: RecordedStream, spark: SparkSession | None = None) -> Bounds:
    """Return first and last event time and what the stream holds: at once for Parquet, else in one pass.

    Under the policy `fail` the pass looks at times only; broken statements are found when the rows are read.
    """
    if stream.manifest is not None:
        known = stream.manifest
        inexact = bool(INEXACT & set(known.kinds))
        return Bounds(known.first, known.last, known.rows, known.blanks, known.rows != known.elements, inexact=inexact)
    if spark is not None:
        from hydrograph.streams.formats import tnt_spark

        with data_errors():
            found = tnt_spark.survey(spark, _spark_files(stream), stream.bad_lines)
        return Bounds(found.first, found.last, found.rows, found.blanks, found.grouped, found.bad, found=found)
    tally = tnt.Tally()
    first: int | None = None
    last: int | None = None
    for t in tnt.TntReader(stream.files, stream.salt, stream.bad_lines).times(tally):
        first = t if first is None or t < first else first
        last = t if last is None or t > last else last
    return Bounds(first, last, tally.lines, tally.blanks, tally.grouped, tally.bad)


def events_on_spark(
    stream: RecordedStream,
    spark: SparkSession,
    *,
    need_seq: bool = False,
    known: Bounds | None = None,
    predicates: tuple[str, ...] | None = None,
) -> DataFrame:
    """Return the events as a plan in the encoded schema.

    Text gets `seq` only if it is needed, here or for blank nodes, because it costs another pass over the lines;
    `known`, if it is what `bounds` found on the same session, saves that pass. Rows with other predicates than
    `predicates`, texts of terms, may be missing. A broken line fails the job: run it
    inside `data_errors`.
    """
    if stream.format == PARQUET:
        return spark.read.parquet(*stream.files) if stream.files else spark.createDataFrame([], _ddl())
    from hydrograph.streams.formats import tnt_spark

    files = _spark_files(stream)
    known = known if known is not None and known.found is not None else bounds(stream, spark)
    numbered = known.found if need_seq or known.blanks else None
    return tnt_spark.events(spark, files, stream.salt, stream.bad_lines, numbered, predicates)


def expected_on_spark(
    stream: RecordedStream, spark: SparkSession, seen: str, t0: Instant, predicates: tuple[str, ...] | None
) -> DataFrame:
    """Return the events of a text as a plan of one pass that observes their bounds as `seen` when it is run.

    It fails on what takes a survey: inside `data_errors` with NotAsExpectedError.
    """
    from hydrograph.streams.formats import tnt_spark

    return tnt_spark.expected_events(spark, _spark_files(stream), seen, t0, predicates)


def events_as_arrow(stream: RecordedStream, tally: tnt.Tally | None = None) -> pa.RecordBatchReader:
    """Return the events in the encoded schema, read without Spark, in the order of the files; `tally` counts along."""
    if stream.format == PARQUET:
        batches = ds.dataset(list(stream.files), schema=EVENTS, format="parquet").to_batches()
        return pa.RecordBatchReader.from_batches(EVENTS, batches)
    return tnt.TntReader(stream.files, stream.salt, stream.bad_lines).batches(tally)


def parquet_paths(stream: RecordedStream) -> list[str]:
    """Return the Parquet files of the stream, in order of time, for an engine that reads them itself; else nothing."""
    return list(stream.files) if stream.format == PARQUET else []


def has_next(stream: RecordedStream) -> bool:
    """Tell whether `t_next` is filled, so that a query need not look for the next arrival of a triple itself."""
    return stream.manifest is not None and stream.manifest.t_next


def spooled(stream: RecordedStream, directory: Path) -> RecordedStream:
    """Return the stream with standard input copied to a file below `directory`, so that it can be read twice."""
    if stream.location != tnt.STDIN:
        return stream
    copy = directory / "stdin.tnt"
    tnt.copy_stdin(copy)
    return replace(stream, files=(str(copy),))


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn the failure of a Spark job that met a broken line into a DataError that names file, line and reason.

    One that met what `expected_on_spark` was to be without becomes NotAsExpectedError.
    """
    try:
        yield
    except Exception as failure:
        from hydrograph.streams.formats import tnt_spark

        error = tnt_spark.data_error(failure)
        if error is None:
            raise
        raise error from None


def _spark_files(stream: RecordedStream) -> tuple[str, ...]:
    if tnt.STDIN in stream.files:
        raise UsageError("Spark cannot read standard input: write it to a file, or choose --placement local")
    return stream.files


def _ddl() -> str:
    from hydrograph.streams.schema import ddl

    return ddl(EVENTS)
