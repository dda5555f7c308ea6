"""`hydrograph explain`: what a query means, and how it is run."""

from __future__ import annotations

import click

from hydrograph import api
from hydrograph.algebra.sse import print_pattern
from hydrograph.cli.habits import habit_options
from hydrograph.cli.inputs import static_of, streams_of
from hydrograph.cli.texts import query_options, query_text
from hydrograph.compile.print import Target
from hydrograph.runtime.explain import kernels_in_words, windows_in_words
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import Habits

PARTS = ("windows", "algebra", "optimized", "spark-sql", "duckdb-sql")


@click.command(name="explain")
@query_options
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Show only this; may be repeated.")
@click.option("--spark-plan", is_flag=True, help="Show Spark's own plan too; needs --stream.")
@click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help="A recorded stream, for --spark-plan.")
@click.option("--static", "statics", multiple=True, metavar="[IRI=]PATH", help="Static RDF, for --spark-plan.")
@habit_options
def command(
    *,
    query_text: str | None,
    query_file: str | None,
    dialect: str | None,
    preset: str | None,
    parts: tuple[str, ...],
    spark_plan: bool,
    streams: tuple[str, ...],
    statics: tuple[str, ...],
    habits: Habits,
    t0: int | None,
) -> None:
    """Show a query's windows in plain words, its algebra before and after optimising, and its SQL."""
    query = api.query(_text(query_text, query_file), dialect=dialect, preset=preset, habits=habits)
    planned = plan(query.algebra, query.profile, t0)
    program = planned.program(Facts({}, static=True, named=True))
    sections = {
        "windows": windows_in_words(planned),
        "algebra": print_pattern(query.algebra.pattern),
        "optimized": print_pattern(planned.pattern),
        "spark-sql": program.text(Target.SPARK),
        "duckdb-sql": program.text(Target.DUCKDB),
    }
    for name in PARTS:
        if not parts or name in parts:
            click.echo(f"-- {name}\n{sections[name]}\n")
    if not parts:
        click.echo(f"-- kernels\n{kernels_in_words(sections['duckdb-sql'])}\n")
    if spark_plan:
        run = query.over(dict(streams_of(query, streams, "fail")), static_of(statics), t0=t0, placement="spark")
        with run:
            click.echo(f"-- spark plan\n{run.explain_spark()}")


_text = query_text
