"""`hydrograph explain`: the meaning of a query, and how it is executed."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

import click

from hydrograph import api
from hydrograph.algebra.sse import print_pattern
from hydrograph.cli.options import (
    ProfileOptions,
    QueryText,
    StreamOptions,
    profile_options,
    query_argument,
    read_query,
    static_graphs,
    static_option,
    stream_options,
)
from hydrograph.compile.printers import Target
from hydrograph.language import dialect_of
from hydrograph.live.driver.placement_policy import describe_placement
from hydrograph.live.evaluate.choose import preview_evaluation
from hydrograph.runtime.explain import kernels_in_words, windows_in_words
from hydrograph.runtime.plan import Facts, plan
from hydrograph.streams.sources import open_stream

SPARK_PLAN = "spark-plan"
PARTS = ("text", "windows", "algebra", "optimized", "spark-sql", "duckdb-sql", "kernels", "live", SPARK_PLAN)
"""Parts of an explanation, from the text to Spark's plan; the last one needs a JVM and is shown only on request."""

_BESIDE = {"algebra": "optimized", "spark-sql": "duckdb-sql"}
"""Parts of one query that are shown beside each other."""
_WIDE = 140
"""Columns of a terminal from which on two texts are shown beside each other."""
_BETWEEN = 3
_NARROWEST = 20
_HANG = "  "
"""Columns between two texts, the least width of each, and the indentation of a folded line."""


@click.command(name="explain")
@query_argument
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="Show only this part; may be repeated.")
@click.option("--with", "other", metavar="FILE", help="Explain the query in this file too, to compare.")
@click.option(
    "--side-by-side/--one-by-one", "beside", default=None, help="Whether to use two columns; by default if they fit."
)
@click.option("--spark-plan", is_flag=True, help="Show Spark's own plan too; the same as another --part spark-plan.")
@stream_options("A recorded stream for Spark's plan; empty streams by default.")
@static_option("Static RDF for Spark's plan.")
@profile_options
def command(
    *,
    query_text: QueryText,
    parts: tuple[str, ...],
    other: str | None,
    beside: bool | None,
    spark_plan: bool,
    streams: StreamOptions,
    statics: tuple[str, ...],
    profile: ProfileOptions,
) -> None:
    """Show the query in FILE in words, as algebra before and after optimising, as SQL, and as Spark plans it.

    On a wide terminal, before and after are shown in two columns, and so are two queries.
    """
    shown = parts or tuple(part for part in PARTS if part != SPARK_PLAN)
    if spark_plan and SPARK_PLAN not in shown:
        shown = (*shown, SPARK_PLAN)
    texts = [query_text.text] if other is None else [query_text.text, read_query(None, other)]
    width = shutil.get_terminal_size().columns
    if beside is None:
        beside = sys.stdout.isatty() and width >= _WIDE
    explained = []
    for text in texts:
        query = api.query(text, dialect=query_text.dialect, preset=query_text.preset, overrides=profile.overrides)
        sections = _sections(text, dialect_of(text, query_text.dialect).title, query, profile.t0)
        if SPARK_PLAN in shown:
            sections[SPARK_PLAN] = _spark_plan(query, streams, statics, profile.t0)
        explained.append(sections)
    for heading, section in _shown(explained, shown, width if beside else None):
        click.echo(f"-- {heading}\n{section}\n")


def _sections(text: str, language: str, query: api.Query, t0: int | None) -> dict[str, str]:
    planned = plan(query.algebra, query.profile, t0)
    evaluation = preview_evaluation(planned)
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
        "live": f"{evaluation.description}\nplacement: {describe_placement(keeps_rows=evaluation.keeps_rows)}",
    }


def _spark_plan(query: api.Query, streams: StreamOptions, statics: tuple[str, ...], t0: int | None) -> str:
    """Return Spark's plan over the given streams, or over empty ones."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        if streams.locations:
            recorded = streams.recorded(query, "fail")
        else:
            empty = Path(directory, "empty.tnt")
            empty.touch()
            names = {window.stream.value for window in query.algebra.windows}
            recorded = {name: open_stream(str(empty), name=name) for name in names}
        with query.over(dict(recorded), static_graphs(statics), t0=t0, placement="spark") as run:
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


def side_by_side(left: str, right: str, width: int) -> str:
    r"""Return both texts in columns of at most `width` together; lines that differ have a bar between them.

    >>> print(side_by_side("a\nb\nc", "a\nx y\nc\nd", 43))
    a                      a
    b                    | x y
    c                      c
                         | d
    """
    column = max(_NARROWEST, (width - _BETWEEN) // 2)
    lines = []
    for ours, theirs, same in _align(left.splitlines(), right.splitlines()):
        for first, second in zip_longest(_fold(ours, column), _fold(theirs, column), fillvalue=""):
            lines.append(f"{first:<{column}} {' ' if same else '|'} {second}".rstrip())
    return "\n".join(lines)


def _align(left: list[str], right: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Return pairs of lines, and whether they are equal."""
    for kind, start, end, first, last in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for ours, theirs in zip_longest(left[start:end], right[first:last], fillvalue=""):
            yield ours, theirs, kind == "equal"


def _fold(line: str, width: int) -> list[str]:
    """Return a line in pieces that fit; those that follow keep its indentation and hang a little."""
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    pieces = []
    rest = line
    while len(rest) > width:
        cut = rest.rfind(" ", len(indent) + len(_HANG) + 1, width + 1)
        cut = cut if cut > 0 else width
        pieces.append(rest[:cut])
        rest = f"{indent}{_HANG}{rest[cut:].lstrip()}"
    return [*pieces, rest]
