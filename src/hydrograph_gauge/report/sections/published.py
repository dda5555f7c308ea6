"""Section with published figures next to those of this run.

The name of a published row lists, in any order: a query, a test, an engine, values of swept parameters, a group of
queries as in the latency section, and the measure if the experiment has several. `q1`, `cmet q1`, `latency hybrid 1000`
are such names. The row is shown with the figures of everything that matches all of its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from statistics import fmean

from hydrograph_gauge.report.document import Column, Format, Section, Table, Value, section
from hydrograph_gauge.report.run_data import QueryRun, RunData, find_query_run, make_condition, natural_key, strip_copy
from hydrograph_gauge.report.sections.latency import groupings
from hydrograph_gauge.report.sections.measures import has_failed, worst
from hydrograph_gauge.run_records import OutcomeRecord, Setting

Measure = tuple[str, Format, str, Callable[[OutcomeRecord], float | None]]

_EXECUTIONS: Measure = ("executions a second", "rate", "1/s", lambda each: each.executions_rate)
_DELAY: Measure = ("median delay", "ms", "ms", lambda each: each.delay_median)
_ROWS: Measure = ("rows", "count", "", lambda each: each.output or None)
_LAST: Measure = ("last result", "ms", "ms", lambda each: each.last_result)
_PRECISION: Measure = ("precision", "share", "", lambda each: each.precision)
_RECALL: Measure = ("recall", "share", "", lambda each: each.recall)
_MEMORY: Measure = ("peak memory", "megabytes", "MB", lambda each: each.memory_peak)

MEASURES: dict[str, Measure | None] = {
    "cmet": _EXECUTIONS,
    "throughput": _EXECUTIONS,
    "latency": _DELAY,
    "delay": _DELAY,
    "output": _ROWS,
    "last": _LAST,
    "precision": _PRECISION,
    "recall": _RECALL,
    "memory": _MEMORY,
    "verdict": None,
    "failed": None,
    "mismatch": None,
}
"""Measures by the word in a row's name; None for measures that are not means of outcomes."""


def show_published(run: RunData) -> Section | None:
    """Return a table for each measure, the published columns first."""
    by_measure: dict[str, dict[str, Mapping[str, Setting | None]]] = {}
    for name, row in run.origin.published.items():
        measure = next((word for word in _words(name) if word in MEASURES), "")
        by_measure.setdefault(measure, {})[name] = row
    return section("Published figures", *(_table(run, measure, rows) for measure, rows in by_measure.items()))


def _table(run: RunData, measure: str, rows: Mapping[str, Mapping[str, Setting | None]]) -> Table:
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    # A test that is called after its measure is meant by that word too.
    also = _is_test(run, measure)
    found = {name: _found(run, [word for word in _words(name) if also or word != measure]) for name in rows}
    extra: list[Column] = []
    values: dict[str, list[Value]] = {name: [] for name in rows}
    for label, form, unit, figure in _measures(measure):
        for engine in run.engines:
            cells = {name: _mean(some.get(engine, []), figure) for name, some in found.items()}
            if any(cell is not None for cell in cells.values()):
                extra.append(Column(engine, form, unit, group=f"this run: {label}"))
                for name, cell in cells.items():
                    values[name].append(cell)
    for column, others in _others(run, measure, found):
        extra.append(column)
        for name in rows:
            values[name].append(others[name])
    for engine in run.engines if measure in ("", "verdict") else ():
        words = {name: worst(some.get(engine, [])) for name, some in found.items()}
        if any(words.values()):
            extra.append(Column(engine, group="this run: verdict"))
            for name, outcome in words.items():
                values[name].append(outcome.verdict if outcome is not None else None)
    beside = (
        "Each row shows the means of this run over everything that its name matches; engines and machines differ, so "
        "compare relations, not values."
        if extra
        else "Nothing in this run matches the name of a row, so only the published figures are shown."
    )
    columns = [
        Column(name, "percent", "%", group="published")
        if measure == "mismatch"
        else Column(name, _format([row.get(name) for row in rows.values()]), group="published")
        for name in names
    ]
    return Table(
        f"Figures of the publication that this experiment repeats. {beside}",
        (Column(""), *columns, *extra),
        tuple(
            (name, *(rows[name].get(each) for each in names), *values[name]) for name in sorted(rows, key=natural_key)
        ),
    )


def _others(
    run: RunData, measure: str, found: Mapping[str, Mapping[str, list[OutcomeRecord]]]
) -> Iterator[tuple[Column, Mapping[str, Value]]]:
    """Yield the columns of measures that are not means of outcomes, with their cells by row."""
    if measure == "failed":
        for engine in run.engines:
            failed = {name: _failed(some[engine]) for name, some in found.items() if engine in some}
            if failed:
                cells = {name: failed.get(name) for name in found}
                yield Column(engine, "count", group="this run: failed queries"), cells
    if measure == "mismatch":
        for one, other in permutations(run.engines, 2):
            known = {name: _mismatch(run, some.get(one, []), other) for name, some in found.items()}
            if any(value is not None for value in known.values()):
                yield Column(f"{one}, not {other}", "percent", "%", group="this run: mismatch"), known


def _failed(outcomes: list[OutcomeRecord]) -> int:
    """Return how many queries failed in some repetition."""
    return len({strip_copy(each.key.query) for each in outcomes if has_failed(each)})


def _mismatch(run: RunData, outcomes: list[OutcomeRecord], other: str) -> float | None:
    """Return the mean share of outputs that another engine does not have."""
    keys = {(find_query_run(each.key), each.key.repetition) for each in outcomes}
    found = [
        each.value
        for each in run.mismatches
        if each.other == other
        and (QueryRun(make_condition(each.test, each.settings), each.query, each.one), each.repetition) in keys
    ]
    return fmean(found) if found else None


def _measures(name: str) -> tuple[Measure, ...]:
    if not name:
        return _EXECUTIONS, _DELAY, _ROWS
    measure = MEASURES[name]
    return () if measure is None else (measure,)


def _words(name: str) -> list[str]:
    """Return the words of a name, without regard to case and thousands separators.

    >>> _words("Q1, rate 1,000")
    ['q1', 'rate', '1000']
    """
    return re.findall(r"\w+", re.sub(r"(?<=\d),(?=\d)", "", name.casefold()))


def _is_test(run: RunData, word: str) -> bool:
    return any(_words(condition.test) == [word] for condition in run.conditions)


def _found(run: RunData, wanted: list[str]) -> dict[str, list[OutcomeRecord]]:
    """Return by engine the outcomes that all words fit."""
    by_engine: dict[str, list[OutcomeRecord]] = {}
    for asked, outcomes in run.outcomes.items():
        if wanted and set(wanted) <= _known(run, asked):
            by_engine.setdefault(asked.engine, []).extend(outcomes)
    return by_engine


def _known(run: RunData, asked: QueryRun) -> set[str]:
    condition, query, engine = asked
    settings = [text for name, value in condition.settings for text in (name, str(value))]
    known = {word for text in (condition.test, query, engine, *settings) for word in _words(text)}
    facts = run.facts.get((condition.test, query))
    groups = [grouping.group(facts.features) for grouping in groupings(run)] if facts is not None else []
    # The first word of a group: "low (0, 500]" is called low. Numbers of patterns are no names.
    return known | {word for group in groups if group for word in _words(group)[:1] if not word.isdigit()}


def _mean(outcomes: list[OutcomeRecord], measure: Callable[[OutcomeRecord], float | None]) -> float | None:
    values = [value for each in outcomes if (value := measure(each)) is not None]
    return fmean(values) if values else None


def _format(values: list[Setting | None]) -> Format:
    return "text" if any(isinstance(value, str | bool) for value in values) else "number"
