"""Section on latency, by query and by features of queries, for queries that all compared engines answer correctly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from hydrograph_gauge.report.document import (
    Axis,
    Block,
    Column,
    DotPanel,
    Dots,
    Lines,
    Panel,
    Section,
    Series,
    Strip,
    Table,
    Value,
    section,
)
from hydrograph_gauge.report.run_data import Condition, RunData, natural_key
from hydrograph_gauge.report.sections.measures import is_wide
from hydrograph_gauge.run_records import Setting

CARDINALITIES = ((500, "low (0, 500]"), (900, "medium (500, 900]"))
"""Stream WatDiv's classes of result cardinality; what is above the last is high."""

Latencies = Mapping[tuple[Condition, str], tuple[float | None, ...]]
"""By condition and query, one value for each engine."""


@dataclass(frozen=True, slots=True)
class Grouping:
    """Grouping of queries: returns the name of a query's group, None for a query without one."""

    name: str
    group: Callable[[Mapping[str, Setting | None]], str | None]
    caption: str


def show_latency(run: RunData) -> Section | None:
    """Return latency by query, sorted, and by groups of queries."""
    found = _latencies(run)
    if not found:
        return None
    return section("Latency", *_by_query(run, found), *_by_group(run, found), *_by_value(run, found))


def _latencies(run: RunData) -> Latencies:
    means = run.means("delay_median").items()
    return {(condition, query): values for (condition, query), values in means if not run.is_excluded(condition, query)}


def _by_query(run: RunData, found: Latencies) -> Iterator[Block]:
    """Return one chart for each test, a panel for each of its settings, all sorted by the slowest engine's mean."""
    for test in dict.fromkeys(condition.test for condition, _ in found):
        conditions = [c for c in run.conditions if c.test == test and any(each == c for each, _ in found)]
        queries = {query for condition, query in found if condition.test == test}
        order = sorted(queries, key=lambda query: (_slowest(found, conditions, query), natural_key(query)))
        panels = tuple(
            DotPanel(
                condition.label if len(conditions) > 1 else "",
                tuple(
                    Strip(
                        engine,
                        place,
                        tuple(found.get((condition, q), (None,) * len(run.engines))[place] for q in order),
                    )
                    for place, engine in enumerate(run.engines)
                    if any((condition, q) in found and found[condition, q][place] is not None for q in order)
                ),
            )
            for condition in conditions
        )
        values = [value for (condition, _), some in found.items() if condition.test == test for value in some]
        repeated = " Means over repetitions." if any(len(each) > 1 for each in run.outcomes.values()) else ""
        yield Dots(
            f"Latency by query in test {test}: the median over the windows, from the time an answer was due; "
            f"queries from quick to slow.{repeated}",
            Axis("median latency", "ms", "ms", log=is_wide(values)),
            tuple(order),
            panels,
        )


def _slowest(found: Latencies, conditions: list[Condition], query: str) -> float:
    known = [value for condition in conditions for value in found.get((condition, query), ()) if value is not None]
    return max(known, default=0.0)


def groupings(run: RunData) -> Iterator[Grouping]:
    """Yield the groupings of the queries of a run."""
    yield Grouping("kind", lambda f: _text(f.get("kind")), "streams alone (pure) or static data too (hybrid)")
    yield Grouping("patterns", _patterns, "number of triple patterns")
    yield Grouping("shape", lambda f: _text(f.get("shape")), "shape of the patterns")
    yield Grouping("cardinality", _cardinality, "mean result cardinality of a window")
    for name in _numbers(run):
        if "deviation" in name:
            yield _selectivity(run, name)


def _selectivity(run: RunData, name: str) -> Grouping:
    """Return queries whose patterns are about equally selective, and those above the median deviation."""
    limit = median(value for facts in run.facts.values() if (value := _number(facts.features.get(name))) is not None)

    def group(features: Mapping[str, Setting | None]) -> str | None:
        value = _number(features.get(name))
        return None if value is None else "equally selective" if value <= limit else "variously selective"

    return Grouping(name, group, f"{name}, up to {limit:.3g} (the median query) or above")


def _by_group(run: RunData, found: Latencies) -> Iterator[Block]:
    for grouping in groupings(run):
        members: dict[str, set[str]] = {}
        values: dict[tuple[Condition, str, int], list[float]] = {}
        for (condition, query), some in found.items():
            facts = run.facts.get((condition.test, query))
            group = grouping.group(facts.features) if facts is not None else None
            if group is None:
                continue
            members.setdefault(group, set()).add(query)
            for place, value in enumerate(some):
                if value is not None:
                    values.setdefault((condition, group, place), []).append(value)
        groups = sorted(members, key=lambda name: (_RANK.get(name.split(" ")[0], 0), natural_key(name)))
        if len(groups) < 2:
            continue
        rows: list[tuple[Value, ...]] = []
        for condition in run.conditions:
            for place, engine in enumerate(run.engines):
                row = [values.get((condition, group, place)) for group in groups]
                if any(row):
                    rows.append((condition.label, engine, *(fmean(each) if each else None for each in row)))
        columns = [Column(f"{group} ({len(members[group])})", "ms", "ms") for group in groups]
        yield Table(
            f"Mean latency by {grouping.name}: {grouping.caption}. Numbers of queries in brackets.",
            (Column("test"), Column("engine"), *columns),
            tuple(rows),
            headers=2,
        )


_RANK = {"low": 1, "medium": 2, "high": 3}


_FEW = ("patterns", "streams", "degree")
"""Features with so few values that points would overlap."""


def _by_value(run: RunData, found: Latencies) -> Iterator[Block]:
    """Return latency against cardinality and selectivities, a point for each query on each engine."""
    for name in _numbers(run):
        if name in _FEW or "deviation" in name:
            continue
        panels = []
        for condition in run.conditions:
            series = []
            for place, engine in enumerate(run.engines):
                points, names = [], []
                for (each, query), values in found.items():
                    facts = run.facts.get((each.test, query))
                    x = _number(facts.features.get(name)) if facts is not None else None
                    if each == condition and x is not None and values[place] is not None:
                        points.append((x, values[place]))
                        names.append(query)
                if points:
                    series.append(Series(engine, place, tuple(points), tuple(names)))
            if series:
                wide = is_wide([y for each in series for _, y in each.points])
                label = f"median latency, {condition.label}" if len(run.conditions) > 1 else "median latency"
                panels.append(Panel(Axis(label, "ms", "ms", log=wide), tuple(series)))
        if panels:
            xs = [x for panel in panels for series in panel.series for x, _ in series.points]
            if len(set(xs)) > 2:
                axis = Axis(name, "number", log=is_wide(xs))
                yield Lines(f"Latency against {name}, a point for each query.", axis, tuple(panels), marks="point")


def _numbers(run: RunData) -> list[str]:
    names = dict.fromkeys(name for facts in run.facts.values() for name in facts.features)
    return [n for n in names if any(_number(facts.features.get(n)) is not None for facts in run.facts.values())]


def _number(value: Setting | None) -> float | None:
    return None if value is None or isinstance(value, bool | str) else float(value)


def _text(value: Setting | None) -> str | None:
    return None if value is None else str(value)


def _patterns(features: Mapping[str, Setting | None]) -> str | None:
    value = _number(features.get("patterns"))
    return None if value is None else str(int(value)) if value < 4 else "4-5" if value <= 5 else "6 or more"


def _cardinality(features: Mapping[str, Setting | None]) -> str | None:
    value = _number(features.get("cardinality"))
    if value is None or value <= 0:
        return None
    return next((name for limit, name in CARDINALITIES if value <= limit), "high (900, \N{INFINITY})")
