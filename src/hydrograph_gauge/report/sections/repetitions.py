"""Section with means and box plots over repetitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from hydrograph_gauge.intervals import LABEL, format_interval, mean_interval
from hydrograph_gauge.report.document import (
    Axis,
    Block,
    Box,
    BoxPanel,
    BoxPlot,
    BoxSeries,
    Choice,
    Column,
    Option,
    Section,
    Table,
    section,
)
from hydrograph_gauge.report.run_data import QueryRun, RunData
from hydrograph_gauge.report.sections.measures import base

WINDOWS = 12
"""Windows with boxes of their own; the first ones of a longer run."""

_OF_WINDOWS = (
    (Axis("precision", "share", top=1.0), "precision"),
    (Axis("recall", "share", top=1.0), "recall"),
    (Axis("delay", "ms", "ms"), "delay"),
)
_OF_RUNS = (
    (Axis("median delay", "ms", "ms"), "delay_median"),
    (Axis("executions a second", "rate", "1/s"), "executions_rate"),
    (Axis("peak memory", "megabytes", "MB"), "memory_peak"),
)
"""Axis, and column of the windows or outcomes."""

Place: TypeAlias = tuple[int, int]
"""Condition and query, by position."""


def show_repetitions(run: RunData) -> Section | None:
    """Return box plots of each query, by window and by run; None where nothing was repeated."""
    repeated: dict[Place, dict[int, int]] = {}
    for condition, query, engine, number in run.sql(
        "SELECT condition, query, engine, count(DISTINCT repetition) AS number FROM outcomes "
        "GROUP BY condition, query, engine HAVING number > 1 ORDER BY condition, query, engine"
    ):
        repeated.setdefault((condition, query), {})[engine] = number
    if not repeated:
        return None
    runs = [(axis, _boxes(run, "outcomes", column, "0")) for axis, column in _OF_RUNS]
    windows = [(axis, _boxes(run, "windows", column, "t")) for axis, column in _OF_WINDOWS]
    times: dict[Place, dict[int, list[int]]] = {}
    for condition, query, engine, t in run.sql("SELECT DISTINCT condition, query, engine, t FROM windows ORDER BY t"):
        if t is not None and engine in repeated.get((condition, query), {}):
            times.setdefault((condition, query), {}).setdefault(engine, []).append(t)
    options = []
    for place, engines in repeated.items():
        condition, query = run.conditions[place[0]], run.queries[place[1]]
        title = f"{query} in test {condition.label}"
        whiskers = f"Over {max(engines.values())} repetitions: median, quartiles, least and greatest."
        plots = [
            *_plot_runs(run, place, engines, runs, f"{title}. {whiskers}"),
            *_plot_windows(run, place, times.get(place, {}), engines, windows, f"Windows of {title}. {whiskers}"),
        ]
        if plots:
            options.append(Option(f"{query}, {condition.label}", tuple(plots)))
    means = _means(run, repeated)
    if not options:
        return section("Repetitions", *means) if means else None
    return section("Repetitions", *means, Choice("Query and test", tuple(options)))


_MEASURES = {
    "precision": Column("precision"),
    "recall": Column("recall"),
    "delay_median": Column("median delay", unit="ms"),
    "executions_rate": Column("executions", unit="1/s"),
    "memory_peak": Column("peak memory", unit="MB"),
}
"""Columns of outcomes whose means are given with intervals."""


def _means(run: RunData, repeated: Mapping[Place, Mapping[int, int]]) -> list[Block]:
    """Return the table of means with intervals; simultaneous copies of a query count as one in each repetition."""
    found: dict[tuple[int, int, int], dict[str, str]] = {}
    for name in _MEASURES:
        for condition, query, engine, values in run.sql(
            f"SELECT condition, query, engine, list(value ORDER BY repetition) FROM (SELECT condition, query, engine, "
            f"repetition, avg({name}) AS value FROM outcomes WHERE isfinite({name}) GROUP BY ALL) GROUP BY ALL"
        ):
            if len(values) > 1:
                found.setdefault((condition, query, engine), {})[name] = format_interval(mean_interval(values))
    used = [name for name in _MEASURES if any(name in values for values in found.values())]
    rows = tuple(
        (
            run.conditions[condition].label,
            run.queries[query],
            run.engines[engine],
            repeated[condition, query][engine],
            *(values.get(name) for name in used),
        )
        for (condition, query, engine), values in sorted(found.items())
    )
    if not rows:
        return []
    first = (Column("test"), Column("query"), Column("engine"), Column("repetitions", "count"))
    caption = f"Means over repetitions, with their confidence intervals ({LABEL})."
    return [Table(caption, (*first, *(_MEASURES[name] for name in used)), rows, headers=3)]


Boxed: TypeAlias = tuple[Axis, Mapping[tuple[int, int, int, int], Box]]
"""Axis of a measure, and its boxes by condition, query, engine and time."""


def _boxes(run: RunData, table: str, column: str, time: str) -> dict[tuple[int, int, int, int], Box]:
    rows = run.sql(
        f"SELECT condition, query, engine, {time} AS time, quantile_cont({column}, [0, 0.25, 0.5, 0.75, 1]), "
        f"count({column}) FROM {table} WHERE {column} IS NOT NULL GROUP BY condition, query, engine, time"
    )
    boxes = {}
    for condition, query, engine, t, (low, lower, median, upper, high), count in rows:
        boxes[condition, query, engine, t] = Box(low, lower, median, upper, high, count)
    return boxes


def _plot_runs(
    run: RunData, place: Place, engines: Iterable[int], measures: Sequence[Boxed], caption: str
) -> Iterator[Block]:
    panels = []
    for axis, boxes in measures:
        found = [(engine, boxes[*place, engine, 0]) for engine in engines if (*place, engine, 0) in boxes]
        if found:
            panels.append(BoxPanel(axis, tuple(BoxSeries(run.engines[at], at, (box,)) for at, box in found)))
    if panels:
        yield BoxPlot(caption, ("",), tuple(panels))


def _plot_windows(
    run: RunData,
    place: Place,
    times: Mapping[int, list[int]],
    engines: Iterable[int],
    measures: Sequence[Boxed],
    caption: str,
) -> Iterator[Block]:
    starts = {
        engine: base(
            run.windows.get(QueryRun(run.conditions[place[0]], run.queries[place[1]], run.engines[engine]), [])
        )
        for engine in engines
    }
    every = sorted({t - starts[engine] for engine, some in times.items() for t in some})
    if not every:
        return
    shown = every[:WINDOWS]
    panels = tuple(
        BoxPanel(
            axis,
            tuple(
                BoxSeries(
                    run.engines[engine], engine, tuple(boxes.get((*place, engine, t + starts[engine])) for t in shown)
                )
                for engine in engines
            ),
        )
        for axis, boxes in measures
    )
    first = f" The first {WINDOWS} of {len(every):,} windows." if len(every) > WINDOWS else ""
    yield BoxPlot(caption + first, tuple(f"{t / 1000:,g} s" for t in shown), panels)
