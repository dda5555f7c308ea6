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
from hydrograph.algebra.queries import NamedWindow, StreamOperator
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
from hydrograph.compile.inputs import AllVisibility, CountUnit, CountVisibility, TimeVisibility
from hydrograph.compile.printers import Target
from hydrograph.language import dialect_of
from hydrograph.live.driver.placement_policy import describe_placement
from hydrograph.live.evaluate.choose import preview_evaluation
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.kernels import called_kernels
from hydrograph.runtime.plan import Facts, Plan, plan
from hydrograph.streams.sources import open_stream
from hydrograph.temporal import DAY, HOUR, MINUTE, SECOND, Duration
from hydrograph.windows.report import Multi, When
from hydrograph.windows.tick import Tick

_OPERATORS = {
    StreamOperator.RSTREAM: "all answers that hold then",
    StreamOperator.ISTREAM: "the answers that did not hold at the report before",
    StreamOperator.DSTREAM: "the answers that held at the report before and no longer do",
}


def windows_in_words(plan: Plan) -> str:
    """Return what the windows hold and when the query reports, with the first reports as an example."""
    lines = []
    for window in plan.query.windows:
        assert window.name is not None
        lines += _window_in_words(plan, window.name, window)
    lines.append(f"{_reports_in_words(plan)} ({plan.profile.name}), and gives {_OPERATORS[plan.operator]}")
    if plan.profile.r2s_set and plan.operator is not StreamOperator.RSTREAM:
        lines.append("  answers are compared as sets: how often one holds does not matter")
    if plan.profile.report.non_empty:
        lines.append("nothing is reported while no window has content")
    lines.append("an empty answer is reported too" if plan.profile.emit_empty else "an empty answer is not reported")
    return "\n".join(lines)


def _window_in_words(plan: Plan, name: Iri, window: NamedWindow) -> list[str]:
    own = "a window that feeds the default graph" if name in plan.feeding else f"window <{name.value}>"
    stream = f"stream <{window.stream.value}>"
    match plan.visibilities[name]:
        case TimeVisibility(_, delay):
            grid = plan.windows[name]
            every = "continuously" if grid.slide is None else f"every {spoken(grid.step)}"
            ago = f", as it was {spoken(delay)} before" if delay else ""
            until = f"until t + {grid.width}" if grid.slide is None else "while open <= t < close"
            lines = [
                f"{own} holds the last {spoken(grid.width)} of {stream}{ago}, {every}: an element at t is in it {until}"
            ]
            if not plan.is_placed:
                return [*lines, "  windows are counted from the first element on"]
            if grid.slide is not None:
                scopes = ", ".join(str(grid.scope(k)) for k in range(3))
                lines.append(f"  windows from t0 = {grid.t0}: {scopes}, … (milliseconds of event time)")
            if grid.width < grid.step:
                gap = spoken(grid.step - grid.width)
                lines.append(f"  between two windows lies a gap of {gap}: nothing there counts")
            return lines
        case CountVisibility(size, slide, unit):
            what = "elements of its newest instant" if unit is CountUnit.TIMES else f"last {size} {unit.value}"
            return [f"{own} holds the {what} of {stream}, every {slide}; an element is never split"]
        case AllVisibility():
            return [f"{own} holds all of {stream} since t0"]


def _reports_in_words(plan: Plan) -> str:
    policy = plan.profile.report
    one = "each element of one time is an instant of its own" if plan.tick is Tick.TUPLE else ""
    match policy.when:
        case When.WINDOW_CLOSE:
            windows = "a window closes" if policy.multi is Multi.ANY else "all windows close"
            return f"reports when {windows}"
        case When.CONTENT_CHANGE:
            ends = " or leaves one" if policy.expiry else ""
            return f"reports when an element enters a window{ends}{'; ' + one if one else ''}"
        case When.PERIODIC:
            return f"reports every {spoken(policy.period or 1)} from t0 on"


def spoken(duration: Duration) -> str:
    """Return a duration in the largest unit that divides it.

    >>> spoken(90_000), spoken(1500), spoken(3_600_000)
    ('90 s', '1500 ms', '1 h')
    """
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min"), (SECOND, "s")):
        if duration % unit == 0 and duration >= unit and not (unit == MINUTE and duration < 2 * MINUTE):
            return f"{duration // unit} {name}"
    return f"{duration} ms"


def kernels_in_words(text: str) -> str:
    """Return which steps leave SQL for Python."""
    names = [kernel.name for kernel in called_kernels(text)]
    return "\n".join(f"{name}: evaluated in Python, column by column" for name in names) or "none: all of it is SQL"


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
