"""Throughput, delay and the last result against what an experiment sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

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
    Value,
    section,
)
from hydrograph_gauge.report.gather import Asked, Condition, Run, asked_of
from hydrograph_gauge.report.sections.measures import is_wide
from hydrograph_gauge.results import Outcome, Setting

Measure = Callable[[Outcome], float | None]

_MEASURES: tuple[tuple[str, Format, str, Measure], ...] = (
    ("executions a second", "rate", "1/s", lambda each: each.executions_rate),
    ("input rate", "rate", "triples/s", lambda each: each.rate),
    ("median delay", "ms", "ms", lambda each: each.delay_median),
    ("peak memory", "megabytes", "MB", lambda each: each.memory_peak),
)

_STATIC = "static triples"


@dataclass(frozen=True, slots=True)
class _Sweep:
    """A number that differs between the conditions of a test."""

    name: str
    at: Mapping[Condition, float]
    """Its values."""
    beside: Mapping[Condition, Condition]
    """What else is swept."""


def scaling(run: Run) -> Section | None:
    """Return charts over each swept number, such as static size, number of queries, stations or input rate."""
    blocks = [block for test in dict.fromkeys(c.test for c in run.conditions) for block in _test(run, test)]
    return section("Scaling", *blocks, _last_results(run))


def _test(run: Run, test: str) -> Iterator[Block]:
    for sweep in _sweeps(run, [condition for condition in run.conditions if condition.test == test]):
        values = set(sweep.at.values())
        if len(values) < 2:
            continue
        options = []
        for query in run.queries:
            panels = tuple(_panels(run, sweep, query))
            if panels:
                caption = f"{query} in test {test} against {sweep.name}. Means over repetitions."
                axis = Axis(sweep.name, "number", log=is_wide(values))
                options.append(Option(f"{query}, {test}", (Lines(caption, axis, panels, marks="both"),)))
        if options:
            yield Choice(f"Query, against {sweep.name}", tuple(options))


def _sweeps(run: Run, conditions: list[Condition]) -> Iterator[_Sweep]:
    """Yield what a test sweeps, and the size of its static data where that differs."""
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


def _panels(run: Run, sweep: _Sweep, query: str) -> Iterator[Panel]:
    for label, form, unit, measure in _MEASURES:
        if label == "input rate" and "rate" in sweep.name:
            continue  # what was asked for is no finding
        yield from _panel(run, sweep, query, (label, form, unit, measure))
    held: dict[Asked, list[float]] = {}
    for each in run.held:
        held.setdefault(asked_of(each.key), []).append(each.rate)
    series = _series(run, sweep, lambda condition, engine: held.get(Asked(condition, query, engine), []))
    if series:
        yield Panel(Axis("highest rate held", "rate", "1/s", log=_wide(series)), series)


def _panel(run: Run, sweep: _Sweep, query: str, measured: tuple[str, Format, str, Measure]) -> Iterator[Panel]:
    label, form, unit, measure = measured

    def values(condition: Condition, engine: str) -> list[float]:
        found = run.outcome(condition, query, engine)
        return [value for each in found if (value := measure(each)) is not None]

    series = _series(run, sweep, values)
    if series:
        yield Panel(Axis(label, form, unit, log=_wide(series)), series)


def _series(run: Run, sweep: _Sweep, values: Callable[[Condition, str], list[float]]) -> tuple[Series, ...]:
    """Return a series for each engine, and for each combination of what is swept beside."""
    found = []
    for place, engine in enumerate(run.engines):
        for rest in dict.fromkeys(sweep.beside.values()):
            points = [
                (x, fmean(some))
                for condition, x in sweep.at.items()
                if sweep.beside[condition] == rest and (some := values(condition, engine))
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


def _wide(series: tuple[Series, ...]) -> bool:
    return is_wide([y for each in series for _, y in each.points])


def _last_results(run: Run) -> Table | None:
    repeated = any(len(found) > 1 for found in run.outcomes.values())
    kinds: dict[str, Callable[[list[float]], float]] = (
        {"mean": fmean, "min": min, "max": max} if repeated else {"": fmean}
    )
    rows: list[tuple[Value, ...]] = []
    for condition in run.conditions:
        for query in run.queries:
            times = [_arrivals(run.outcome(condition, query, engine)) for engine in run.engines]
            if any(times):
                cells = [kind(found) if found else None for found in times for kind in kinds.values()]
                rows.append((query, condition.label, *cells))
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


def _arrivals(outcomes: Sequence[Outcome]) -> list[float]:
    return [each.last_result / 1000 for each in outcomes if each.last_result is not None]
