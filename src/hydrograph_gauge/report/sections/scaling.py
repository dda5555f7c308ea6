"""Section with throughput, delay and the last result against the swept parameters of an experiment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeAlias

from hydrograph_gauge.report.document import (
    Axis,
    Block,
    Choice,
    Column,
    Format,
    Lines,
    Option,
    Panel,
    Section,
    Series,
    Table,
    section,
)
from hydrograph_gauge.report.run_data import Condition, QueryRun, RunData, find_query_run
from hydrograph_gauge.report.sections.measures import is_wide
from hydrograph_gauge.run_records import Setting

_MEASURES: tuple[tuple[str, Format, str, str], ...] = (
    ("executions a second", "rate", "1/s", "executions_rate"),
    ("input rate", "rate", "triples/s", "rate"),
    ("median delay", "ms", "ms", "delay_median"),
    ("peak memory", "megabytes", "MB", "memory_peak"),
)
"""Label, format, unit, and column of the outcomes."""

Means: TypeAlias = Mapping[tuple[Condition, str], Sequence[float | None]]
"""By condition and query, one value for each engine."""
_Measure: TypeAlias = tuple[Axis, Means]

_STATIC = "static triples"


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A number that differs between the conditions of a test."""

    name: str
    at: Mapping[Condition, float]
    """Its values."""
    beside: Mapping[Condition, Condition]
    """The other swept parameters."""


def show_scaling(run: RunData) -> Section | None:
    """Return charts over each swept number, such as static size, number of queries, stations or input rate."""
    measures = _measures(run)
    blocks = [block for test in run.tests for block in _test(run, test, measures)]
    return section("Scaling", *blocks, _last_results(run))


def _test(run: RunData, test: str, measures: Sequence[_Measure]) -> Iterator[Block]:
    for sweep in _sweeps(run, [condition for condition in run.conditions if condition.test == test]):
        values = set(sweep.at.values())
        if len(values) < 2:
            continue
        options = []
        for query in run.queries:
            panels = tuple(_panels(run, sweep, query, measures))
            if panels:
                caption = f"{query} in test {test} against {sweep.name}. Means over repetitions."
                axis = Axis(sweep.name, "number", log=is_wide(values))
                options.append(Option(f"{query}, {test}", (Lines(caption, axis, panels, marks="both"),)))
        if options:
            yield Choice(f"Query, against {sweep.name}", tuple(options))


def _sweeps(run: RunData, conditions: list[Condition]) -> Iterator[_Sweep]:
    """Yield the swept parameters of a test, and the size of its static data where that differs."""
    for name in dict.fromkeys(name for condition in conditions for name, _ in condition.settings):
        at = {c: value for c in conditions if (value := _value(c, name)) is not None}
        yield _Sweep(name, at, {c: _without(c, {name}) for c in conditions})
    static: dict[Condition, float] = {}
    for asked, outcomes in run.outcomes.items():
        if asked.condition in conditions:
            static[asked.condition] = max(static.get(asked.condition, 0.0), *(float(each.static) for each in outcomes))
    sizes: dict[str, dict[Setting, set[float]]] = {}
    for condition, size in static.items():
        for name, setting in condition.settings:
            sizes.setdefault(name, {}).setdefault(setting, set()).add(size)
    makes = {name for name, found in sizes.items() if len(set(map(frozenset, found.values()))) > 1}
    if makes:
        yield _Sweep(_STATIC, static, {c: _without(c, makes) for c in conditions})


def _measures(run: RunData) -> list[_Measure]:
    """Return the axis of each measure, and its means by condition, query and engine."""
    rates: dict[QueryRun, list[float]] = {}
    for each in run.held:
        rates.setdefault(find_query_run(each.key), []).append(each.rate)
    held: dict[tuple[Condition, str], list[float | None]] = {}
    for at, some in rates.items():
        means = held.setdefault((at.condition, at.query), [None] * len(run.engines))
        means[run.engines.index(at.engine)] = fmean(some)
    measures: list[_Measure] = [(Axis(label, form, unit), run.means(name)) for label, form, unit, name in _MEASURES]
    return [*measures, (Axis("highest rate held", "rate", "1/s"), held)]


def _panels(run: RunData, sweep: _Sweep, query: str, measures: Sequence[_Measure]) -> Iterator[Panel]:
    for axis, means in measures:
        if axis.label == "input rate" and "rate" in sweep.name:
            continue  # the requested rate is not a result
        series = _series(run, sweep, query, means)
        if series:
            yield Panel(replace(axis, log=is_wide([y for each in series for _, y in each.points])), series)


def _series(run: RunData, sweep: _Sweep, query: str, means: Means) -> tuple[Series, ...]:
    """Return a series for each engine and each combination of the other swept parameters."""
    found = []
    for place, engine in enumerate(run.engines):
        for rest in dict.fromkeys(sweep.beside.values()):
            points = [
                (x, value)
                for condition, x in sweep.at.items()
                if sweep.beside[condition] == rest and (condition, query) in means
                if (value := means[condition, query][place]) is not None
            ]
            if len(points) > 1:
                label = ", ".join(filter(None, [engine, rest.label.removeprefix(", ")]))
                found.append(Series(label, place, tuple(sorted(points))))
    return tuple(found)


def _without(condition: Condition, names: set[str]) -> Condition:
    return Condition("", tuple(each for each in condition.settings if each[0] not in names))


def _value(condition: Condition, name: str) -> float | None:
    value = dict(condition.settings).get(name)
    return None if value is None or isinstance(value, bool | str) else float(value)


def _last_results(run: RunData) -> Table | None:
    repeated = any(len(found) > 1 for found in run.outcomes.values())
    kinds = ("mean", "min", "max") if repeated else ("",)
    found: dict[tuple[int, int], dict[int, tuple[float, ...]]] = {}
    for condition, query, engine, *seconds in run.sql(
        "SELECT condition, query, engine, avg(last_result / 1000), min(last_result) / 1000, max(last_result) / 1000 "
        "FROM outcomes WHERE last_result IS NOT NULL GROUP BY condition, query, engine ORDER BY condition, query"
    ):
        found.setdefault((condition, query), {})[engine] = tuple(seconds)[: len(kinds)]
    nothing = (None,) * len(kinds)
    rows = [
        (
            run.queries[query],
            run.conditions[condition].label,
            *(cell for engine in range(len(run.engines)) for cell in by_engine.get(engine, nothing)),
        )
        for (condition, query), by_engine in found.items()
    ]
    if not rows:
        return None
    if repeated:
        columns = [Column(kind, "seconds", "s", group=engine) for engine in run.engines for kind in kinds]
    else:
        columns = [Column(engine, "seconds", "s") for engine in run.engines]
    over = ": mean, least and greatest over repetitions" if repeated else ""
    return Table(
        f"Arrival of the last result since the stream was started{over}.",
        (Column("query"), Column("test"), *columns),
        tuple(rows),
        headers=2,
    )
