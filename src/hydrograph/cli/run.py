"""`hydrograph run`: one query over recorded streams, a line for each report; with `--follow` over live ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from hydrograph import api
from hydrograph.cli.follow import FollowOptions, follow_options, follow_query
from hydrograph.cli.options import (
    ProfileOptions,
    QueryText,
    StreamOptions,
    profile_options,
    query_options,
    static_graphs,
    static_option,
    stream_options,
)
from hydrograph.errors import RunError, UsageError
from hydrograph.runtime.replay.run import Run
from hydrograph.runtime.result_formats import DIGEST, FORMATS
from hydrograph.streams.files import STDIN

_INTERVAL = 0.5
"""Seconds between two updates of the bar from Spark."""


@click.command(name="run")
@query_options
@stream_options("A recorded stream, - for standard input; with --follow a URL or a growing directory.")
@static_option("Static RDF: the default graph, or a named one.")
@profile_options
@click.option("--from", "after", type=int, metavar="MS", help="Report only after this instant.")
@click.option("--until", type=int, metavar="MS", help="Report up to this instant.")
@click.option(
    "-t",
    "--results-format",
    "--format",
    "results_format",
    default="json",
    type=click.Choice([*FORMATS, DIGEST]),
    show_default=True,
    help="Format of the answers.",
)
@click.option("-o", "--output", metavar="FILE", help="Write answers to a file, or to DIRECTORY/ with one per report.")
@click.option(
    "--bad-lines", default="fail", metavar="fail|skip|FILE", show_default=True, help="What to do with broken input."
)
@click.option(
    "--placement",
    default="auto",
    type=click.Choice(["auto", "spark", "local"]),
    show_default=True,
    help="Where the query runs: on Spark, or in this process.",
)
@click.option("--master", metavar="URL", help="Spark's master; local[*] by default.")
@click.option("--memory", metavar="SIZE", help="Memory of Spark's driver, such as 4g; half the machine's by default.")
@follow_options
def command(
    *,
    query_text: QueryText,
    streams: StreamOptions,
    statics: tuple[str, ...],
    profile: ProfileOptions,
    after: int | None,
    until: int | None,
    results_format: str,
    output: str | None,
    bad_lines: str,
    placement: str,
    master: str | None,
    memory: str | None,
    follow: FollowOptions | None,
) -> None:
    """Answer a query over recorded streams, or with --follow over live ones.

    Each report is one line of JSON by default. Every format separates the reports of one file; -o DIRECTORY/ writes a
    document for each report instead.

    For example: hydrograph run -f query.rq --stream http://example.org/visits=visits.tnt
    """
    query = api.query(
        query_text.text, dialect=query_text.dialect, preset=query_text.preset, overrides=profile.overrides
    )
    where: dict[str, Any] = {"placement": placement, "master": master, "memory": memory}
    if follow is not None:
        if after is not None or until is not None or output is not None or results_format != "json":
            raise UsageError("--from, --until, -o and -t are for recorded streams: leave them out with --follow")
        follow_query(query, follow, streams.live(query), static_graphs(statics), t0=profile.t0, bad=bad_lines, **where)
        return
    if after is not None and until is not None and until <= after:
        raise UsageError(f"expected --until after --from, got ({after}, {until}]")
    recorded = dict(streams.recorded(query, bad_lines))
    run = query.over(recorded, static_graphs(statics), t0=profile.t0, after=after, until=until, **where)
    with _progress(run) as clear_bar:
        with run:
            _write(run, output or STDIN, results_format, query.algebra.name or "query", clear_bar)
        if run.bad_lines:
            click.echo(f"hydrograph: {run.bad_lines} broken lines were left out", err=True)


def _write(run: Run, target: str, format_: str, name: str, on_report: Callable[[], None]) -> None:
    try:
        run.write(target, format_, name=name, on_report=on_report)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"{target}: {error.strerror or error}") from None


@contextmanager
def _progress(run: Run) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error, if it is a terminal; yield the function that removes it before output."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    bar = Progress(*columns, console=console, transient=True)
    task = bar.add_task("reading", total=None)
    over = threading.Event()
    updates = threading.Thread(target=_update_bar, args=(run, bar, task, over), daemon=True)

    def clear() -> None:
        if not over.is_set():
            over.set()
            bar.stop()

    with bar:
        updates.start()
        try:
            yield clear
        finally:
            over.set()
            updates.join(2 * _INTERVAL)


def _update_bar(run: Run, bar: Progress, task: TaskID, over: threading.Event) -> None:
    while not over.wait(_INTERVAL):
        tasks = run.tasks()
        if tasks is not None:
            finished, known = tasks
            bar.update(task, description="running on Spark", completed=finished, total=known)
