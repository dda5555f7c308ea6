"""`hydrograph convert`: a recorded stream from one format to another, with elements in canonical order."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import click
import duckdb
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hydrograph.cli.options import STREAM_FORMAT, time_option
from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.encoding import unskolem
from hydrograph.streams import sources
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.elements import Format, StreamElement
from hydrograph.streams.files import STDIN, atomic_output
from hydrograph.streams.format_registry import ENDINGS, PARQUET, TNT, format_named, format_of, written_endings
from hydrograph.streams.formats import parquet, tnt
from hydrograph.streams.schema import BATCH
from hydrograph.streams.sources import RecordedStream
from hydrograph.temporal import Instant

_ROWS = "SELECT t, seq, s, p, o FROM read_parquet($file) ORDER BY t, seq, s, p, o"


def elements_of(files: Iterable[str], salt: str) -> Iterator[StreamElement]:
    """Return the elements of a recorded stream; blank nodes get back the labels they had, triples are sorted."""
    for number, ((t, seq), rows) in enumerate(groupby(_rows(files), key=lambda row: row[:2]), 1):
        triples = ((unskolem(s, salt, seq), p, unskolem(o, salt, seq)) for _, _, s, p, o in rows)
        yield StreamElement(number, t, tuple(dict.fromkeys(triples)))


def _rows(files: Iterable[str]) -> Iterator[tuple[Instant, int, str, str, str]]:
    # One file at a time: files are cut by time, and no time is in two of them.
    with duckdb.connect() as database:
        for file in files:
            reader = database.sql(_ROWS, params={"file": file}).to_arrow_reader(BATCH)
            assert reader is not None
            for part in reader:
                yield from zip(*(column.to_pylist() for column in part.columns), strict=True)


def write_elements(elements: Iterable[StreamElement], target: str, format_: Format) -> None:
    """Write elements to a file that appears when it is complete, to `-`, or where each is a file to a new directory."""
    assert format_.write is not None
    if not format_.one_each:
        with atomic_output(target) as out:
            format_.write(out, elements)
        return
    with parquet.staged(Path(target), force=False) as directory:
        for element in elements:
            name = f"{element.t}_{element.number:08d}{format_.endings[0]}"
            with (directory / name).open("wb") as file:
                format_.write(file, (element,))


@dataclass(slots=True)
class Written:
    """What was written: rows, elements, and how many elements a format of triples could not keep together."""

    rows: int = 0
    elements: int = 0
    split: int = 0


def write_stream(
    files: Iterable[str], salt: str, target: str, format_: Format, seen: Callable[[int], None] = lambda _: None
) -> Written:
    """Write the events of Parquet files in another format; `seen` is told the rows as they go."""
    counted = Written()

    def counting() -> Iterator[StreamElement]:
        for element in elements_of(files, salt):
            counted.rows += len(element.triples)
            counted.elements += 1
            counted.split += format_.only_triples and len(element.triples) > 1
            seen(len(element.triples))
            yield element

    try:
        write_elements(counting(), target, format_)
    except DataError as error:
        raise DataError(f"{target}: {error}") from None
    return counted


@dataclass(frozen=True, slots=True)
class Conversion:
    """Counts of a conversion."""

    rows: int
    elements: int
    bad: int = 0
    split: int = 0


@click.command(name="convert")
@click.argument("source")
@click.argument("target")
@click.option("--from-format", type=STREAM_FORMAT, help="The format of SOURCE; by default that of its ending.")
@click.option("--to-format", type=STREAM_FORMAT, help="The format of TARGET; by default that of its ending.")
@time_option
@click.option(
    "--bad-lines", default="fail", metavar="fail|skip|FILE", show_default=True, help="What to do with broken input."
)
@click.option(
    "--stream", "name", default="", metavar="IRI", help="The IRI of the stream; its blank nodes are named after it."
)
@click.option("--force", is_flag=True, help="Replace the target if it exists.")
@click.option(
    "--placement",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where timed N-Triples are converted to Parquet: in this process, or on Spark.",
)
def command(
    *,
    source: str,
    target: str,
    from_format: str | None,
    to_format: str | None,
    time_of: str | None,
    bad_lines: str,
    name: str,
    force: bool,
    placement: str,
) -> None:
    """Convert the recorded stream SOURCE to TARGET.

    Both are files of a known format (also compressed: .gz, .zst), - for standard input or output, or directories. A
    target without a known ending is a directory of Parquet files or, with --to-format turtle, of a file per element.
    """
    started = time.monotonic()
    stream = sources.open_stream(
        source, name=name, bad_lines=BadLines.read(bad_lines), format=from_format, time=time_of
    )
    kind = _kind(target, to_format)
    if kind == PARQUET:
        if stream.format == PARQUET:
            known = ", ".join(dict.fromkeys(ending for endings in ENDINGS.values() for ending in endings))
            raise UsageError(f"expected a target in another format than Parquet, which ends in {known}; got {target}")
        on_spark = placement == "spark" and stream.format == TNT
        done = (_to_parquet_on_spark if on_spark else _to_parquet)(stream, Path(target), force=force)
    else:
        done = _to_files(stream, target, kind, force=force)
    click.echo(
        f"{done.rows} rows, {done.elements} elements, {done.bad} bad lines, {time.monotonic() - started:.1f} seconds",
        err=True,
    )
    if done.split:
        click.echo(f"{done.split} elements of several triples became one element per triple", err=True)


def _kind(target: str, given: str | None) -> str:
    """Return the format of the target."""
    named = format_of(target)
    if target == STDIN:
        kind = given or TNT
        if kind == PARQUET or (kind != TNT and format_named(kind).one_each):
            raise UsageError(f"{kind} is written as a directory, not to standard output")
        return kind
    if given is None and named is not None:
        if named not in (TNT, PARQUET) and format_named(named).one_each:
            raise UsageError(
                f"{target}: {named} is written as a directory of files: use --to-format {named} and a name"
            )
        return named
    if given is not None and given not in (TNT, PARQUET):
        format_ = format_named(given)
        if not format_.one_each and not target.endswith(written_endings(format_)):
            raise UsageError(f"expected a target that ends in {', '.join(written_endings(format_))}, got {target}")
    return given or PARQUET


def _to_parquet(stream: RecordedStream, target: Path, *, force: bool) -> Conversion:
    parquet.check_target(target, force=force)
    tally = ReadCounts()
    with _progress("reading", None) as seen:
        events = sources.events_as_arrow(stream, tally)
        counted = pa.RecordBatchReader.from_batches(events.schema, _counted(events, seen))
        written = parquet.write_arrow(counted, target, salt=stream.salt, force=force)
    return Conversion(written.rows, written.elements, tally.bad)


def _to_parquet_on_spark(stream: RecordedStream, target: Path, *, force: bool) -> Conversion:
    from hydrograph.runtime.session import spark_session

    parquet.check_target(target, force=force)
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        stream = sources.spool_stdin(stream, Path(directory))
        spark = spark_session()
        with sources.data_errors(), _progress("converting on Spark", None):
            known = sources.bounds(stream, spark)
            events = sources.events_on_spark(stream, spark, need_seq=True, known=known)
            written = parquet.write_spark(events, target, salt=stream.salt, force=force)
    return Conversion(written.rows, written.elements, known.bad)


def _to_files(stream: RecordedStream, target: str, kind: str, *, force: bool) -> Conversion:
    """Write any stream in any format but Parquet, through Parquet, which puts elements in order."""
    one_each = kind != TNT and format_named(kind).one_each
    if target != STDIN and Path(target).exists() and (one_each or not force):
        raise UsageError(f"{target} exists: choose another name{'' if one_each else ' or use --force'}")
    tally = ReadCounts()
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        if stream.manifest is None:
            rows = sources.events_as_arrow(stream, tally)
            parquet.write_arrow(rows, Path(directory) / "stream", salt=stream.salt)
            stream = sources.open_stream(f"{directory}/stream")
        assert stream.manifest is not None
        files = sources.parquet_paths(stream)
        with _progress("writing", stream.manifest.rows) as seen:
            if kind == TNT:
                written = tnt.write_tnt(files, stream.salt, target, seen)
                return Conversion(written, stream.manifest.elements, tally.bad)
            counted = write_stream(files, stream.salt, target, format_named(kind), seen)
    return Conversion(counted.rows, counted.elements, tally.bad, counted.split)


def _counted(events: pa.RecordBatchReader, seen: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    for batch in events:
        seen(batch.num_rows)
        yield batch


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, if it is a terminal; yield the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda rows: bar.advance(task, rows)
