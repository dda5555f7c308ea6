"""`hydrograph explain`: what a query means, and how it is run."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from hydrograph import api
from hydrograph.algebra.sse import print_pattern
from hydrograph.cli.columns import side_by_side
from hydrograph.cli.inputs import static_of, stream_options, streams_of
from hydrograph.cli.profile_options import habit_options
from hydrograph.cli.texts import argument_text, query_text, text_argument
from hydrograph.compile.print import Target
from hydrograph.language import dialect_of
from hydrograph.live.driver.placement_policy import placement_of
from hydrograph.live.evaluate.whole_windows import evaluation_of
from hydrograph.runtime.explain import kernels_in_words, windows_in_words
from hydrograph.runtime.plan import Facts, plan
from hydrograph.streams.sources import open_stream
from hydrograph.windows.profile import Habits

SPARK_PLAN = "spark-plan"
PARTS = ("text", "windows", "algebra", "optimized", "spark-sql", "duckdb-sql", "kernels", "live", SPARK_PLAN)
"""The parts of an explanation, from what the user wrote to what Spark does; the last takes a JVM and only if asked."""

_BESIDE = {"algebra": "optimized", "spark-sql": "duckdb-sql"}
"""What stands beside each other for one query."""
_WIDE = 140


@click.command(name="explain")
@text_argument
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Show only this; may be repeated.")
@click.option("--with", "other", metavar="FILE", help="Explain the query in this file too, beside the first one.")
@click.option(
    "--side-by-side/--one-by-one", "beside", default=None, help="Whether to use two columns; by default if they fit."
)
@click.option("--spark-plan", is_flag=True, help="Show Spark's own plan too; the same as another --part spark-plan.")
@click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help="A stream for Spark's plan; else none.")
@stream_options
@click.option("--static", "statics", multiple=True, metavar="[IRI=]PATH", help="Static RDF for Spark's plan.")
@habit_options
def command(
    *,
    file: str | None,
    query_text: str | None,
    query_file: str | None,
    dialect: str | None,
    preset: str | None,
    parts: tuple[str, ...],
    other: str | None,
    beside: bool | None,
    spark_plan: bool,
    streams: tuple[str, ...],
    stream_format: str | None,
    time_of: str | None,
    statics: tuple[str, ...],
    habits: Habits,
    t0: int | None,
) -> None:
    """Show the query in FILE in plain words, as algebra before and after optimising, as SQL, and as Spark plans it.

    On a wide terminal, before and after stand beside each other, and so do two queries.
    """
    shown = parts or tuple(part for part in PARTS if part != SPARK_PLAN)
    if spark_plan and SPARK_PLAN not in shown:
        shown = (*shown, SPARK_PLAN)
    text = argument_text(file, query_text, query_file)
    texts = [text] if other is None else [text, _text(None, other)]
    width = shutil.get_terminal_size().columns
    if beside is None:
        beside = sys.stdout.isatty() and width >= _WIDE
    found = []
    for each in texts:
        query = api.query(each, dialect=dialect, preset=preset, habits=habits)
        sections = _sections(each, dialect_of(each, dialect).title, query, t0)
        if SPARK_PLAN in shown:
            sections[SPARK_PLAN] = _spark_plan(query, streams, statics, t0, (stream_format, time_of))
        found.append(sections)
    for heading, section in _shown(found, shown, width if beside else None):
        click.echo(f"-- {heading}\n{section}\n")


_text = query_text


def _sections(text: str, language: str, query: api.Query, t0: int | None) -> dict[str, str]:
    planned = plan(query.algebra, query.profile, t0)
    program = planned.program(Facts({}, static=True, named=True))
    spark, duckdb = program.text(Target.SPARK), program.text(Target.DUCKDB)
    return {
        "text": f"# {language}, preset {query.profile.name}\n{text.strip()}",
        "windows": windows_in_words(planned),
        "algebra": print_pattern(query.algebra.pattern),
        "optimized": print_pattern(planned.pattern),
        "spark-sql": spark,
        "duckdb-sql": duckdb,
        "kernels": kernels_in_words(duckdb),
        "live": f"{(evaluated := evaluation_of(planned))}\nplacement: {placement_of(evaluated)}",
    }


def _spark_plan(
    query: api.Query,
    streams: tuple[str, ...],
    statics: tuple[str, ...],
    t0: int | None,
    how: tuple[str | None, str | None],
) -> str:
    """Return Spark's plan over the given streams; where none is given, over empty ones."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        if streams:
            given = streams_of(query, streams, "fail", format_=how[0], time=how[1])
        else:
            nothing = Path(directory, "nothing.tnt")
            nothing.touch()
            names = {window.stream.value for window in query.algebra.windows}
            given = {name: open_stream(str(nothing), name=name) for name in names}
        with query.over(dict(given), static_of(statics), t0=t0, placement="spark") as run:
            return run.explain_spark()


def _shown(found: list[dict[str, str]], parts: tuple[str, ...], width: int | None) -> Iterator[tuple[str, str]]:
    """Return headings and sections, in two columns where a width is given."""
    if len(found) > 1:
        first, second = found
        for part in parts:
            if width is not None:
                yield part, side_by_side(first[part], second[part], width)
            else:
                yield f"{part} of the first query", first[part]
                yield f"{part} of the second query", second[part]
        return
    (sections,) = found
    done: set[str] = set()
    for part in parts:
        after = _BESIDE.get(part)
        if part in done:
            continue
        if width is not None and after in parts:
            assert after is not None
            done.add(after)
            yield f"{part} | {after}", side_by_side(sections[part], sections[after], width)
        else:
            yield part, sections[part]
