"""Recorded streams: a location becomes a stream, a stream becomes rows in the encoded schema.

Timed N-Triples and Parquet are read by each placement itself; files of any other format are read in this process, and
recorded as Parquet for Spark. Nothing here imports Spark before rows on Spark are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.encoding import salt_of
from hydrograph.rdf.xsd import INEXACT
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.elements import ElementReader
from hydrograph.streams.event_time import EventTime, order_by_time
from hydrograph.streams.files import STDIN, copy_stdin
from hydrograph.streams.format_registry import ENDINGS, FORMATS, PARQUET, TNT, detect_format, format_named, format_of
from hydrograph.streams.formats import parquet, tnt
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from hydrograph.streams.formats.tnt_spark import TextSurvey

__all__ = [
    "FORMATS",
    "PARQUET",
    "TNT",
    "BadLines",
    "Bounds",
    "EventTime",
    "RecordedStream",
    "bounds",
    "data_errors",
    "estimated_rows",
    "events_as_arrow",
    "events_on_spark",
    "format_of",
    "has_next",
    "observed_on_spark",
    "open_stream",
    "parquet_paths",
    "record_as_parquet",
    "spool_stdin",
    "tnt",
]


@dataclass(frozen=True, slots=True)
class RecordedStream:
    """A recorded stream, readable in any placement, any number of times (standard input: once)."""

    location: str
    name: str
    format: str
    files: tuple[str, ...]
    salt: str
    bad_lines: BadLines
    manifest: parquet.Manifest | None = None
    times: EventTime = field(default_factory=EventTime)
    """Source of event times, where the format does not define it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """First and last event time of a stream (None if it is empty), and its contents."""

    first: Instant | None
    last: Instant | None
    rows: int
    blanks: bool
    grouped: bool
    bad: int = 0
    inexact: bool = True
    """Whether floats or doubles may be among the literals."""
    found: TextSurvey | None = None


def open_stream(
    location: str,
    *,
    name: str = "",
    bad_lines: BadLines | None = None,
    format: str | None = None,  # noqa: A002
    time: str | None = None,
) -> RecordedStream:
    """Return the stream at `location`: a file, a directory of files, or `-` for standard input.

    `name` is the IRI of the stream; it keeps its blank nodes apart from those of other streams. `format` is that of the
    files where their names do not tell; `time` the property with the event time of an element, or `name` for the
    names of the files. Raise DataError if there is no such path or no known format.
    """
    if format is not None and format not in (TNT, PARQUET):
        format_named(format)
    times = EventTime.read(time)
    stream = RecordedStream(location, name, TNT, (), salt_of(name), bad_lines or BadLines(), times=times)
    if location == STDIN:
        if format == PARQUET:
            raise UsageError("Parquet cannot be read from standard input: give its directory")
        return replace(stream, format=format or TNT, files=(STDIN,))
    path = Path(location)
    if not path.exists():
        raise DataError(f"{location}: no such file or directory")
    if not path.is_dir():
        found = format or detect_format(str(path))
        if found is None or found == PARQUET:
            raise DataError(
                f"{location}: expected a {_known()}, or --stream-format; "
                "Parquet is read as the directory `hydrograph convert` writes"
            )
        return replace(stream, format=found, files=(str(path.resolve()),))
    inside = [file for file in sorted(path.iterdir()) if file.is_file() and not file.name.startswith((".", "_"))]
    if (path / parquet.MANIFEST).exists() or any(format_of(file.name) == PARQUET for file in inside):
        manifest = parquet.Manifest.read(path)
        files = tuple(parquet.paths(path.resolve(), manifest))
        return replace(stream, format=PARQUET, files=files, salt=manifest.salt, manifest=manifest)
    names = {str(file.resolve()): format or detect_format(str(file)) for file in inside}
    known = sorted({found for found in names.values() if found is not None})
    if not known:
        raise DataError(f"{location}: the directory holds no {_known()}")
    if len(known) > 1:
        raise DataError(
            f"{location}: expected files of one format, got {' and '.join(known)}; give each its own stream"
        )
    files = tuple(file for file, found in names.items() if found is not None)
    # Lines of timed N-Triples have times of their own, so that names give none there.
    return replace(stream, format=known[0], files=files if known[0] == TNT else tuple(order_by_time(files, times)))


def _known() -> str:
    endings = dict.fromkeys(ending for endings in ENDINGS.values() for ending in endings)
    return f"file of a known format: {', '.join(endings)}, all but the last also with .gz or .zst"


def bounds(stream: RecordedStream, spark: SparkSession | None = None) -> Bounds:
    """Return first and last event time and what the stream holds: at once for Parquet, else in one pass.

    Under the policy `fail` the pass looks at times only; broken statements are found when the rows are read.
    """
    assert stream.format in (TNT, PARQUET), "record other formats first"
    if stream.manifest is not None:
        known = stream.manifest
        inexact = bool(INEXACT & set(known.kinds))
        return Bounds(known.first, known.last, known.rows, known.blanks, known.rows != known.elements, inexact=inexact)
    if spark is not None:
        from hydrograph.streams.formats import tnt_spark

        with data_errors():
            found = tnt_spark.survey(spark, _spark_files(stream), stream.bad_lines)
        return Bounds(found.first, found.last, found.rows, found.blanks, found.grouped, found.bad, found=found)
    tally = ReadCounts()
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


def observed_on_spark(
    stream: RecordedStream, spark: SparkSession, seen: str, t0: Instant, predicates: tuple[str, ...] | None
) -> DataFrame:
    """Return the events of a text as a plan of one pass that observes their bounds as `seen` when it is run.

    It fails on what takes a survey: inside `data_errors` with NotAsExpectedError.
    """
    from hydrograph.streams.formats import tnt_spark

    return tnt_spark.observed_events(spark, _spark_files(stream), seen, t0, predicates)


def events_as_arrow(stream: RecordedStream, tally: ReadCounts | None = None) -> pa.RecordBatchReader:
    """Return the events in the encoded schema, read without Spark, in the order of the files; `tally` counts along."""
    if stream.format == PARQUET:
        batches = ds.dataset(list(stream.files), schema=EVENTS, format="parquet").to_batches()
        return pa.RecordBatchReader.from_batches(EVENTS, batches)
    if stream.format != TNT:
        read = format_named(stream.format)
        return ElementReader(read, stream.files, stream.salt, stream.times, stream.bad_lines).batches(tally)
    return tnt.TntReader(stream.files, stream.salt, stream.bad_lines).batches(tally)


def parquet_paths(stream: RecordedStream) -> list[str]:
    """Return the Parquet files of the stream, in order of time, for an engine that reads them itself; else nothing."""
    return list(stream.files) if stream.format == PARQUET else []


def estimated_rows(stream: RecordedStream) -> int:
    """Return about how many rows a stream has, without reading it."""
    if stream.manifest is not None:
        return stream.manifest.rows
    size = sum(Path(file).stat().st_size for file in stream.files)
    packed = any(file.endswith((".gz", ".zst")) for file in stream.files)
    return size // (15 if packed else 100)


def has_next(stream: RecordedStream) -> bool:
    """Tell whether `t_next` is filled, so that a query need not look for the next arrival of a triple itself."""
    return stream.manifest is not None and stream.manifest.t_next


def spool_stdin(stream: RecordedStream, directory: Path) -> RecordedStream:
    """Return the stream with standard input copied to a file below `directory`, so that it can be read twice."""
    if stream.location != STDIN:
        return stream
    directory.mkdir(parents=True, exist_ok=True)
    copy = directory / "stdin.tnt"
    copy_stdin(copy)
    return replace(stream, files=(str(copy),))


def record_as_parquet(stream: RecordedStream, directory: Path, tally: ReadCounts | None = None) -> RecordedStream:
    """Return the stream as one that Spark can read: text and Parquet as they are, all else as Parquet in `directory`.

    `tally` counts what is read here.
    """
    if stream.format in (TNT, PARQUET):
        return stream
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / f"stream-{len(list(directory.iterdir()))}"
    manifest = parquet.write_arrow(events_as_arrow(stream, tally), target, salt=stream.salt)
    return replace(stream, format=PARQUET, files=tuple(parquet.paths(target, manifest)), manifest=manifest)


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn the failure of a Spark job that met a broken line into a DataError that names file, line and reason.

    One that met what `observed_on_spark` was to be without becomes NotAsExpectedError.
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
    if STDIN in stream.files:
        raise UsageError("Spark cannot read standard input: write it to a file, or choose --placement local")
    return stream.files


def _ddl() -> str:
    from hydrograph.streams.schema import ddl

    return ddl(EVENTS)
