"""`hydrograph convert`: timed N-Triples to a recorded stream in Parquet, and back."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from hydrograph.errors import UsageError
from hydrograph.streams import sources
from hydrograph.streams.formats import parquet, tnt
from hydrograph.streams.formats.tnt import STDIN, BadLines
from hydrograph.streams.sources import RecordedStream

_TEXT = (".tnt", ".tnt.gz", ".tnt.zst")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a conversion tells when it is done."""

    rows: int
    elements: int
    bad: int = 0


@click.command(name="convert")
@click.argument("source")
@click.argument("target")
@click.option(
    "--bad-lines", default="fail", metavar="fail|skip|FILE", show_default=True, help="What to do with broken lines."
)
@click.option("--stream", "name", default="", metavar="IRI", help="The IRI of the stream; keeps its blank nodes apart.")
@click.option("--force", is_flag=True, help="Replace the target if it exists.")
@click.option(
    "--placement",
    type=click.Choice(["local", "spark"]),
    default="local",
    show_default=True,
    help="Where to work: in this process, or on Spark for streams that do not fit it.",
)
def command(source: str, target: str, bad_lines: str, name: str, force: bool, placement: str) -> None:  # noqa: FBT001
    """Convert the recorded stream SOURCE to TARGET.

    SOURCE is timed N-Triples (a file, also .gz or .zst, a directory of them, or - for standard input) and TARGET a
    directory of Parquet files; or SOURCE is such a directory and TARGET a file of timed N-Triples (or - for standard
    output).
    """
    started = time.monotonic()
    stream = sources.open_stream(source, name=name, bad_lines=BadLines.read(bad_lines))
    if stream.format == sources.PARQUET:
        outcome = _to_text(stream, target, force=force)
    elif target == STDIN or target.endswith(_TEXT):
        raise UsageError("expected a directory for Parquet as target, got timed N-Triples on both sides")
    elif placement == "spark":
        outcome = _to_parquet_on_spark(stream, Path(target), force=force)
    else:
        outcome = _to_parquet(stream, Path(target), force=force)
    click.echo(
        f"{outcome.rows} rows, {outcome.elements} elements, {outcome.bad} bad lines, "
        f"{time.monotonic() - started:.1f} seconds",
        err=True,
    )


def _to_parquet(stream: RecordedStream, target: Path, *, force: bool) -> Outcome:
    parquet.check_target(target, force=force)
    tally = tnt.Tally()
    with _progress("reading", None) as seen:
        events = sources.events_as_arrow(stream, tally)
        counted = pa.RecordBatchReader.from_batches(events.schema, _counted(events, seen))
        written = parquet.write_arrow(counted, target, salt=stream.salt, force=force)
    return Outcome(written.rows, written.elements, tally.bad)


def _to_parquet_on_spark(stream: RecordedStream, target: Path, *, force: bool) -> Outcome:
    from hydrograph.runtime.session import spark_session

    parquet.check_target(target, force=force)
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        stream = sources.spooled(stream, Path(directory))
        spark = spark_session()
        with sources.data_errors(), _progress("converting on Spark", None):
            known = sources.bounds(stream, spark)
            events = sources.events_on_spark(stream, spark, need_seq=True, known=known)
            written = parquet.write_spark(events, target, salt=stream.salt, force=force)
    return Outcome(written.rows, written.elements, known.bad)


def _to_text(stream: RecordedStream, target: str, *, force: bool) -> Outcome:
    if target != STDIN:
        if not target.endswith(_TEXT):
            raise UsageError(f"expected a target that ends in {', '.join(_TEXT)}, or -, got {target}")
        if Path(target).exists() and not force:
            raise UsageError(f"{target} exists: choose another name or say --force")
    assert stream.manifest is not None
    with _progress("writing", stream.manifest.rows) as seen:
        rows = tnt.write_tnt(sources.parquet_paths(stream), stream.salt, target, seen)
    return Outcome(rows, stream.manifest.elements)


def _counted(events: pa.RecordBatchReader, seen: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    for batch in events:
        seen(batch.num_rows)
        yield batch


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, if that is a terminal, and give the function that moves it on."""
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
