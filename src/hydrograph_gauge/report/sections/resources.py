"""Section on memory and processor time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from hydrograph_gauge.report.document import (
    Axis,
    Choice,
    Column,
    Lines,
    Option,
    Panel,
    Point,
    Section,
    Series,
    Table,
    section,
)
from hydrograph_gauge.report.run_data import Condition, QueryRun, ResourceSample, RunData
from hydrograph_gauge.report.sections.measures import thin

POINTS = 60_000
"""Points of all series together."""
LONGEST = 240
"""Points of one series."""


def show_resources(run: RunData) -> Section | None:
    """Return a table over all queries, and charts over time of one query at a time."""
    return section("Memory and processor", _peaks(run), _courses(run))


def _peaks(run: RunData) -> Table | None:
    rows = run.sql(
        "SELECT condition, engine, avg(memory_peak), max(memory_peak), max(memory_slope), avg(cpu) FROM outcomes "
        "GROUP BY condition, engine HAVING count(memory_peak) + count(cpu) > 0 ORDER BY condition, engine"
    )
    if not rows:
        return None
    return Table(
        "Memory and processor time of the whole tree of processes, over all queries and repetitions.",
        (
            Column("test"),
            Column("engine"),
            Column("mean peak", "megabytes", "MB"),
            Column("highest peak", "megabytes", "MB"),
            Column("steepest growth", "number", "MB/s"),
            Column("mean processor time", "seconds", "s"),
        ),
        tuple((run.conditions[at].label, run.engines[engine], *figures) for at, engine, *figures in rows),
        headers=2,
    )


def _courses(run: RunData) -> Choice | None:
    """Return memory, processor and threads over time, of the first repetition."""
    options = []
    most = max(20, min(LONGEST, POINTS // (3 * max(1, len(run.samples)))))
    for condition in run.conditions:
        for query in run.queries:
            panels = tuple(_panels(run, condition, query, most))
            if panels:
                caption = (
                    f"Memory, processor and threads while {query} ran in test {condition.label}; first repetition."
                )
                chart = Lines(caption, Axis("time since the engine was started", "seconds", "s"), panels)
                options.append(Option(f"{query}, {condition.label}", (chart,)))
    return Choice("Query and test", tuple(options)) if options else None


def _panels(run: RunData, condition: Condition, query: str, most: int) -> Iterator[Panel]:
    found = [
        (place, engine, moments)
        for place, engine in enumerate(run.engines)
        if (moments := _first(run, QueryRun(condition, query, engine)))
    ]
    plots: list[tuple[Axis, Callable[[Sequence[ResourceSample]], list[Point]]]] = [
        (Axis("memory", "megabytes", "MB"), lambda moments: [(each.at, each.memory) for each in moments]),
        (Axis("processor", "number", "cores"), _cores),
        (Axis("threads", "count"), lambda moments: [(each.at, each.threads) for each in moments]),
    ]
    for axis, points in plots:
        series = tuple(Series(name, place, thin(points(moments), most, max)) for place, name, moments in found)
        if any(each.points for each in series):
            yield Panel(axis, series)


def _first(run: RunData, asked: QueryRun) -> list[ResourceSample]:
    return next((found for (each, _, _), found in run.samples.items() if each == asked), [])


def _cores(moments: Sequence[ResourceSample]) -> list[Point]:
    """Return the number of busy cores between two samples."""
    return [(b.at, max(0.0, b.cpu - a.cpu) / (b.at - a.at)) for a, b in pairwise(moments) if b.at > a.at]
