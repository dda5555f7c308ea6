"""`hydrograph run`: one query over recorded streams, a line for each report."""

from __future__ import annotations

from collections.abc import Callable

import click

from hydrograph import api
from hydrograph.cli.follow import Follow, follow_options, follow_query
from hydrograph.cli.inputs import static_of, stream_options, streams_of
from hydrograph.cli.profile_options import habit_options
from hydrograph.cli.progress import progress
from hydrograph.cli.results import NAMES, write_results
from hydrograph.cli.texts import query_options, query_text
from hydrograph.errors import UsageError
from hydrograph.runtime.run import Run
from hydrograph.windows.profile import Habits


@click.command(name="run")
@query_options
@click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help="A recorded stream; - for stdin.")
@stream_options
@click.option(
    "--static", "statics", multiple=True, metavar="[IRI=]PATH", help="Static RDF: the default graph, or a named one."
)
@habit_options
@click.option("--from", "after", type=int, metavar="MS", help="Report only after this instant.")
@click.option("--until", type=int, metavar="MS", help="Report up to this instant.")
@click.option(
    "-t", "--results-format", "--format", "results_format", default="json", type=click.Choice(NAMES), show_default=True
)
@click.option("-o", "--output", metavar="FILE", help="Write the answers there; DIRECTORY/ gets a document for each.")
@click.option("--bad-lines", default="fail", metavar="fail|skip|FILE", show_default=True, help="Broken input.")
@click.option("--placement", default="auto", type=click.Choice(["auto", "spark", "local"]), show_default=True)
@click.option("--master", metavar="URL", help="Spark's master; local[*] by default.")
@click.option("--memory", metavar="SIZE", help="Memory of Spark's driver, such as 4g; half the machine's by default.")
@follow_options
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
    habits: Habits,
    t0: int | None,
    after: int | None,
    until: int | None,
    results_format: str,
    output: str | None,
    bad_lines: str,
    placement: str,
    master: str | None,
    memory: str | None,
    follow: Follow | None,
) -> None:
    """Answer a query over recorded streams: one line for each report, as JSON by default; --follow as data comes.

    All formats keep the reports of one file apart; -o DIRECTORY/ writes a document for each report instead.

    For example: hydrograph run -f query.rq --stream http://example.org/visits=visits.tnt
    """
    query = api.query(_text(query_text, query_file), dialect=dialect, preset=preset, habits=habits)
    name = query.algebra.name or "query"
    if follow is not None:
        if after is not None or until is not None or output is not None or results_format != "json":
            raise UsageError("--from, --until, -o and -t are for recorded streams: leave them out with --follow")
        follow_query(
            query,
            follow,
            streams,
            static_of(statics),
            t0=t0,
            bad=bad_lines,
            format_=stream_format,
            time=time_of,
            placement=placement,
            master=master,
            memory=memory,
        )
        return
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
            write_results(run, name, results_format, output, bar)
        _tell(run)


_text: Callable[[str | None, str | None], str] = query_text


def _tell(run: Run) -> None:
    if run.bad_lines:
        click.echo(f"hydrograph: {run.bad_lines} broken lines were left out", err=True)
