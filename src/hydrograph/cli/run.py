"""`hydrograph run`: one query over recorded streams, a line for each report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from hydrograph import api
from hydrograph.cli.inputs import static_of, stream_options, streams_of
from hydrograph.cli.progress import progress
from hydrograph.cli.results import WRITERS
from hydrograph.cli.texts import query_options, query_text
from hydrograph.errors import RunError, UsageError
from hydrograph.runtime.run import Run


@click.command(name="run")
@query_options
@click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help="A recorded stream; - for stdin.")
@stream_options
@click.option(
    "--static", "statics", multiple=True, metavar="[IRI=]PATH", help="Static RDF: the default graph, or a named one."
)
@click.option("--t0", type=int, metavar="MS", help="Where the first window opens; 0 by default.")
@click.option("--from", "after", type=int, metavar="MS", help="Report only after this instant.")
@click.option("--until", type=int, metavar="MS", help="Report up to this instant.")
@click.option("-t", "--results-format", "--format", "results_format", default="json", type=click.Choice(list(WRITERS)), show_default=True)
@click.option("-o", "--output", metavar="FILE", help="Write the answers there; standard output by default.")
@click.option("--bad-lines", default="fail", metavar="fail|skip|FILE", show_default=True, help="Broken input.")
@click.option("--placement", default="auto", type=click.Choice(["auto", "spark", "local"]), show_default=True)
@click.option("--master", metavar="URL", help="Spark's master; local[*] by default.")
@click.option("--memory", metavar="SIZE", help="Memory of Spark's driver, such as 4g; half the machine's by default.")
def command(
    *,
    query_text: str | None,
    query_file: str | None,
    dialect: str | None,
    preset: str | None,
    streams: tuple[str, ...],
    stream_format: str | None,
    time_of: str | None,
    statics: tuple[str, ...],
    t0: int | None,
    after: int | None,
    until: int | None,
    results_format: str,
    output: str | None,
    bad_lines: str,
    placement: str,
    master: str | None,
    memory: str | None,
) -> None:
    r"""Answer a query over recorded streams: one line for each report, as JSON by default.

    \b
    hydrograph run -f query.rq --stream http://example.org/visits=visits.tnt
    """
    query = api.query(_text(query_text, query_file), dialect=dialect, preset=preset)
    name = query.algebra.name or "query"
    if after is not None and until is not None and until <= after:
        raise UsageError(f"expected --until after --from, got ({after}, {until}]")
    run = query.over(
        dict(streams_of(query, streams, bad_lines, format_=stream_format, time=time_of)),
        static_of(statics),
        t0=t0,
        after=after,
        until=until,
        placement=placement,
        master=master,
        memory=memory,
    )
    with progress(run) as bar:
        with run:
            lines = WRITERS[results_format](run, name)
            with _target(output) as file:
                _write(file, lines, bar)
        _tell(run)


_text: Callable[[str | None, str | None], str] = query_text


def _write(file: IO[str], lines: Iterable[str], done: Callable[[], None]) -> None:
    for line in lines:
        done()
        file.write(line)
        file.write("\n")
    file.flush()


def _tell(run: Run) -> None:
    if run.bad_lines:
        click.echo(f"hydrograph: {run.bad_lines} broken lines were left out", err=True)


@contextmanager
def _target(output: str | None) -> Iterator[IO[str]]:
    """Give the place to write to; a file appears whole or not at all."""
    if output is None:
        yield sys.stdout
        return
    target = Path(output)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            yield file
        partial.replace(target)
    except OSError as error:
        raise RunError(f"{output}: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
