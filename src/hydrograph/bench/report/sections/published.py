"""The paper's figures next to those of this run."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean

from hydrograph.bench.report.document import Column, Format, Section, Table, Value, section
from hydrograph.bench.report.gather import Condition, Run, natural
from hydrograph.bench.report.sections.measures import worst
from hydrograph.bench.results import Outcome, Setting

_NUMBERS: tuple[tuple[str, Format, str, Callable[[Outcome], float | None]], ...] = (
    ("executions a second", "rate", "1/s", lambda each: each.executions_rate),
    ("median delay", "ms", "ms", lambda each: each.delay_median),
    ("rows", "count", "", lambda each: each.output or None),
)


def published(run: Run) -> Section | None:
    """Return the published table, each row beside what this run found for the query, test or engine of that name."""
    rows = run.origin.published
    if not rows:
        return None
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    found = {name: _found(run, name) for name in rows}
    columns = [
        Column("", "text"),
        *(Column(name, _format([r.get(name) for r in rows.values()]), group="published") for name in names),
    ]
    extra: list[Column] = []
    values: dict[str, list[Value]] = {name: [] for name in rows}
    for label, form, unit, measure in _NUMBERS:
        for engine in run.engines:
            cells = {name: _mean(some.get(engine, []), measure) for name, some in found.items()}
            if any(cell is not None for cell in cells.values()):
                extra.append(Column(engine, form, unit, group=f"this run: {label}"))
                for name, cell in cells.items():
                    values[name].append(cell)
    for engine in run.engines:
        words = {name: worst(some.get(engine, [])) for name, some in found.items()}
        if any(words.values()):
            extra.append(Column(engine, group="this run: verdict"))
            for name, outcome in words.items():
                values[name].append(outcome.verdict if outcome is not None else None)
    beside = (
        "A row's figures of this run are those of the query, test or engine of its name, over all its conditions and "
        "repetitions; engines and machines differ, so compare relations, not values."
        if extra
        else "No query, test or engine of this run bears the name of a row, so the figures stand alone."
    )
    table = Table(
        f"Figures of the publication that this experiment repeats. {beside}",
        (*columns, *extra),
        tuple((name, *(rows[name].get(each) for each in names), *values[name]) for name in sorted(rows, key=natural)),
    )
    return section("Published figures", table)


def _found(run: Run, name: str) -> dict[str, list[Outcome]]:
    """Return by engine the outcomes that a row's name speaks of."""
    wanted = name.casefold()
    by_engine: dict[str, list[Outcome]] = {}
    for asked, outcomes in run.outcomes.items():
        if wanted in _names(asked.condition, asked.query, asked.engine):
            by_engine.setdefault(asked.engine, []).extend(outcomes)
    return by_engine


def _names(condition: Condition, query: str, engine: str) -> set[str]:
    """Return what a row can be called: a query, a test or an engine, or two of them, with or without settings."""
    tests = (condition.test, condition.label)
    names = {query, engine, *tests, f"{query} {engine}", f"{engine} {query}"}
    names |= {f"{query} {test}" for test in tests} | {f"{test} {query}" for test in tests}
    values = " ".join(str(value) for _, value in condition.settings)
    return {name.casefold() for name in names | {f"{query} {values}"}}


def _mean(outcomes: list[Outcome], measure: Callable[[Outcome], float | None]) -> float | None:
    values = [value for each in outcomes if (value := measure(each)) is not None]
    return fmean(values) if values else None


def _format(values: list[Setting | None]) -> Format:
    return "text" if any(isinstance(value, str | bool) for value in values) else "number"
