"""Sections that compare engines by their outputs: sizes, mismatch both ways, executions a second."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from statistics import fmean

from hydrograph_gauge.report.document import (
    Axis,
    Block,
    Cell,
    Column,
    DotPanel,
    Dots,
    Section,
    Strip,
    Table,
    Value,
    section,
)
from hydrograph_gauge.report.run_data import Condition, RunData, make_condition, natural_key
from hydrograph_gauge.report.sections.measures import is_wide


def show_outputs(run: RunData) -> Section | None:
    """Return output sizes and two-way mismatch."""
    return section("Output sizes and mismatch", *_outputs(run))


def show_throughput(run: RunData) -> Section | None:
    """Return executions a second by query, and the highest sustained rates."""
    return section("Throughput", *_executions(run), _held(run))


def _outputs(run: RunData) -> Iterator[Block]:
    pairs = list(combinations(run.engines, 2))
    known = {frozenset((each.one, each.other)) for each in run.mismatches}
    pairs = [pair for pair in pairs if frozenset(pair) in known]
    found: dict[tuple[Condition, str, str, str], list[float]] = {}
    apart: set[tuple[Condition, str, frozenset[str]]] = set()
    for each in run.mismatches:
        condition = make_condition(each.test, each.settings)
        found.setdefault((condition, each.query, each.one, each.other), []).append(each.value)
        if not each.comparable:
            apart.add((condition, each.query, frozenset((each.one, each.other))))
    rows: list[tuple[Value, ...]] = []
    for (condition, query), sizes in run.means("output").items():
        if not any(sizes):
            continue
        row: list[Value] = [query, condition.label, *sizes]
        for one, other in pairs:
            values = [found.get((condition, query, a, b)) for a, b in ((one, other), (other, one))]
            row += [fmean(value) if value else None for value in values]
            row.append(_comparable(condition, query, one, other, apart) if any(values) else None)
        rows.append(tuple(row))
    if not rows:
        return
    columns = [Column("query"), Column("test")]
    columns += [Column(engine, "count", group="rows in the output") for engine in run.engines]
    for one, other in pairs:
        group = f"{one} and {other}"
        columns += [
            Column("of the first", "percent", unit="%", group=group),
            Column("of the second", "percent", unit="%", group=group),
            Column("comparable", group=group),
        ]
    what = " and two-way mismatch: the share of each engine's output that the other does not have" if pairs else ""
    yield Table(f"Output sizes{what}. Means over repetitions.", tuple(columns), tuple(rows), headers=2)


def _comparable(
    condition: Condition, query: str, one: str, other: str, apart: set[tuple[Condition, str, frozenset[str]]]
) -> Cell:
    if (condition, query, frozenset((one, other))) in apart:
        return Cell("no", "the mismatch is above the experiment's limit", "wrong")
    return Cell("yes", "", "right")


def _executions(run: RunData) -> Iterator[Block]:
    """Return a chart for each test, with a panel for each of its settings, and one table of all."""
    lines: list[tuple[Value, ...]] = []
    rates = run.means("executions_rate")
    for test in run.tests:
        found = {key: values for key, values in rates.items() if key[0].test == test and any(values)}
        if not found:
            continue
        apart = {each.query for each in run.mismatches if each.test == test and not each.comparable}
        queries = [query for query in run.queries if any(query == each for _, each in found)]
        names = {query: f"{query} *" if query in apart else query for query in queries}
        panels = tuple(
            DotPanel(condition.label, tuple(_strips(run, condition, queries, found)))
            for condition in dict.fromkeys(condition for condition, _ in found)
        )
        wide = is_wide([value for values in found.values() for value in values])
        yield Dots(
            f"Executions a second in test {test}.{_PACE}{_STAR if apart else ''}",
            Axis("executions a second", "rate", "1/s", log=wide),
            tuple(names.values()),
            panels,
            bars=not wide,
        )
        lines += [(names[query], condition.label, *values) for (condition, query), values in found.items()]
    if lines:
        star = any(str(line[0]).endswith(" *") for line in lines)
        yield Table(
            f"Executions a second.{_PACE}{_STAR if star else ''} Means over repetitions.",
            (Column("query"), Column("test"), *(Column(engine, "rate", "1/s") for engine in run.engines)),
            tuple(lines),
            headers=2,
        )


_PACE = (
    " This is the comparable throughput (cmet) where an engine is fed the next input when it has finished the last; "
    "at a set pace it shows no more than the pace."
)
_STAR = " A star marks queries on which the engines' outputs are not comparable."


def _strips(
    run: RunData,
    condition: Condition,
    queries: list[str],
    found: dict[tuple[Condition, str], tuple[float | None, ...]],
) -> Iterator[Strip]:
    for place, engine in enumerate(run.engines):
        values = tuple(found[condition, q][place] if (condition, q) in found else None for q in queries)
        if any(value is not None for value in values):
            yield Strip(engine, place, values)


def _held(run: RunData) -> Table | None:
    if not run.held:
        return None
    rows: list[tuple[Value, ...]] = []
    for each in sorted(run.held, key=lambda held: (held.key.test, natural_key(held.key.query), held.key.engine)):
        condition = make_condition(each.key.test, each.key.settings)
        failed = [rate for rate, held in each.tried if not held]
        rows.append(
            (
                each.key.query,
                condition.label,
                each.key.engine,
                each.rate,
                min(failed, default=None),
                len(each.tried),
                each.unit,
                each.why or None,
            )
        )
    return Table(
        "Highest input rate at which answers stayed right and delay did not grow, by bisection.",
        (
            Column("query"),
            Column("test"),
            Column("engine"),
            Column("held", "rate"),
            Column("lowest not held", "rate"),
            Column("rates tried", "count"),
            Column("unit"),
            Column("why not more"),
        ),
        tuple(rows),
        headers=3,
    )
