"""Records of a run for the report: in memory by query, engine and condition, and as tables for SQL.

A large run has hundreds of thousands of windows, most of them right. Their rows are dropped. Of the wrong windows the
first ones of each query on each engine keep their rows, up to limits that the page states.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, assert_never

import duckdb
import pyarrow as pa

from hydrograph_gauge.oracle.rdflib_arbiter import ArbiterVerdict as Opinion
from hydrograph_gauge.run_records import (
    ExclusionRecord,
    FunctionalRecord,
    Key,
    MaxRateRecord,
    MismatchRecord,
    MissingEngineRecord,
    OutcomeRecord,
    Provenance,
    QueryRecord,
    Record,
    SampleRecord,
    Setting,
    WindowRecord,
    read_provenance,
    read_records,
)

KEPT_BY_GROUP = 20
"""Wrong windows of one query on one engine whose rows are kept."""

Settings: TypeAlias = tuple[tuple[str, Setting], ...]


class Condition(NamedTuple):
    """Condition of a query run: a test, and the values of its swept parameters."""

    test: str
    settings: Settings

    @property
    def label(self) -> str:
        """The test and its settings, as text."""
        return ", ".join([self.test, *(f"{name} {_plain(value)}" for name, value in self.settings)])


class QueryRun(NamedTuple):
    """One query on one engine under one condition; its repetitions and simultaneous copies share it."""

    condition: Condition
    query: str
    engine: str


class WindowScore(NamedTuple):
    """One window, without its rows."""

    repetition: int
    t: int | None
    open: int | None
    close: int | None
    used: tuple[int, int] | None
    content: int | None
    expected: int
    actual: int
    precision: float
    recall: float
    delay: float | None

    @property
    def right(self) -> bool:
        """Whether no row is missing and none is extra."""
        return self.precision == 1 and self.recall == 1


class ResourceSample(NamedTuple):
    """Memory and processor time at one moment."""

    at: float
    memory: float
    cpu: float
    threads: int


@dataclass
class RunData:
    """Records of one run."""

    origin: Provenance
    facts: dict[tuple[str, str], QueryRecord] = field(default_factory=dict)
    outcomes: dict[QueryRun, list[OutcomeRecord]] = field(default_factory=dict)
    windows: dict[QueryRun, list[WindowScore]] = field(default_factory=dict)
    wrong: dict[QueryRun, list[WindowRecord]] = field(default_factory=dict)
    wrong_count: dict[QueryRun, int] = field(default_factory=dict)
    disputed: list[WindowRecord] = field(default_factory=list)
    """Windows for which a second evaluator did not confirm the oracle."""
    samples: dict[tuple[QueryRun, int, str], list[ResourceSample]] = field(default_factory=dict)
    mismatches: list[MismatchRecord] = field(default_factory=list)
    held: list[MaxRateRecord] = field(default_factory=list)
    functional: list[FunctionalRecord] = field(default_factory=list)
    excluded: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    absent: dict[tuple[str, str], str] = field(default_factory=dict)
    """Reason by test and engine, for engines that could not be run and have no results."""
    number: int = 0
    """Position of the run in the page."""

    @cached_property
    def engines(self) -> tuple[str, ...]:
        """All engines, in the order in which they first appear."""
        names = [run.engine for run in self.outcomes]
        names += [each.engine for each in self.functional]
        names += [run.engine for run in self.windows]
        names += [each.key.engine for each in self.held]
        return tuple(dict.fromkeys(names))

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions: tests in the order in which they appear, then by the values of swept parameters."""
        tests = list(dict.fromkeys(run.condition.test for run in self.outcomes))
        found = dict.fromkeys(run.condition for run in self.outcomes)
        return tuple(sorted(found, key=lambda each: (tests.index(each.test), _sortable(each.settings))))

    @cached_property
    def queries(self) -> tuple[str, ...]:
        """All queries in natural order: q2 before q10."""
        return tuple(sorted({run.query for run in self.outcomes}, key=natural_key))

    @property
    def tests(self) -> tuple[str, ...]:
        """All tests that have outcomes."""
        return tuple(dict.fromkeys(condition.test for condition in self.conditions))

    @property
    def anchors(self) -> dict[QueryRun, str]:
        """Identifiers in the page of the query runs with wrong windows."""
        return {run: f"wrong-{self.number}-{place}" for place, run in enumerate(self.wrong)}

    def outcome(self, condition: Condition, query: str, engine: str) -> list[OutcomeRecord]:
        """Return the outcomes of all repetitions."""
        return self.outcomes.get(QueryRun(condition, query, engine), [])

    def is_excluded(self, condition: Condition, query: str) -> bool:
        """Tell whether performance is not compared on a query."""
        return (condition.test, query) in self.excluded

    @cached_property
    def database(self) -> duckdb.DuckDBPyConnection:
        """The tables `outcomes` and `windows`, with the columns of their records.

        `condition`, `query` and `engine` are positions in the tuples of that name, so ORDER BY gives the order of the
        page.
        """
        database = duckdb.connect()
        outcomes = [(run, outcome) for run, found in self.outcomes.items() for outcome in found]
        windows = [(run, window) for run, found in self.windows.items() for window in found]
        for name, columns, rows in (("outcomes", _OUTCOME_COLUMNS, outcomes), ("windows", _WINDOW_COLUMNS, windows)):
            table = self._places([run for run, _ in rows])
            table |= {each: pa.array([getattr(row, each) for _, row in rows], of) for each, of in columns.items()}
            if name == "outcomes":
                table["repetition"] = pa.array([outcome.key.repetition for _, outcome in outcomes], pa.int64())
                table["copy"] = pa.array([outcome.key.query for _, outcome in outcomes], pa.string())
            database.register(name, pa.table(table))
        return database

    def _places(self, runs: list[QueryRun]) -> dict[str, pa.Array]:
        places: list[tuple[str, Mapping[object, int]]] = [
            ("condition", {each: place for place, each in enumerate(self.conditions)}),
            ("query", {each: place for place, each in enumerate(self.queries)}),
            ("engine", {each: place for place, each in enumerate(self.engines)}),
        ]
        return {name: pa.array([known.get(getattr(run, name)) for run in runs], pa.int64()) for name, known in places}

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query over the tables of `database`."""
        return self.database.execute(text).fetchall()

    def means(self, column: str) -> dict[tuple[Condition, str], tuple[float | None, ...]]:
        """Return means over repetitions: by condition and query one value for each engine, None where there is none."""
        found: dict[tuple[Condition, str], list[float | None]] = {}
        for condition, query, engine, mean in self.sql(
            f"SELECT condition, query, engine, avg({column}) FILTER (isfinite({column})) AS mean FROM outcomes "
            "GROUP BY condition, query, engine HAVING mean IS NOT NULL ORDER BY condition, query, engine"
        ):
            key = self.conditions[condition], self.queries[query]
            found.setdefault(key, [None] * len(self.engines))[engine] = mean
        return {key: tuple(values) for key, values in found.items()}


_OUTCOME_COLUMNS = {
    **dict.fromkeys(("verdict", "phase"), pa.string()),
    **dict.fromkeys(("windows", "non_empty", "right", "missing", "extra", "output"), pa.float64()),
    **dict.fromkeys(("precision", "recall", "rate", "executions_rate", "last_result", "delay_median"), pa.float64()),
    **dict.fromkeys(("memory_peak", "memory_slope", "cpu"), pa.float64()),
}
_WINDOW_COLUMNS = {
    **dict.fromkeys(("repetition", "t", "open", "close", "content"), pa.int64()),
    **dict.fromkeys(("expected", "actual", "precision", "recall", "delay"), pa.float64()),
}


def read_run(folder: Path) -> RunData:
    """Return the records of a folder, or raise DataError."""
    return collect_records(read_provenance(folder), read_records(folder))


def collect_records(origin: Provenance, records: Iterable[Record]) -> RunData:
    """Return records as the data of a run."""
    run = RunData(origin)
    outcomes: defaultdict[QueryRun, dict[tuple[int, str], OutcomeRecord]] = defaultdict(dict)
    for record in records:
        match record:
            case QueryRecord():
                run.facts.setdefault((record.test, strip_copy(record.query)), record)
            case OutcomeRecord():
                outcomes[find_query_run(record.key)][record.key.repetition, record.key.query] = record
            case WindowRecord():
                _take_window(run, record)
            case SampleRecord():
                moments = run.samples.setdefault(
                    (find_query_run(record.key), record.key.repetition, record.key.query), []
                )
                moments.append(ResourceSample(record.at, record.memory, record.cpu, record.threads))
            case MismatchRecord():
                run.mismatches.append(record.model_copy(update={"query": strip_copy(record.query)}))
            case MaxRateRecord():
                run.held.append(record)
            case FunctionalRecord():
                run.functional.append(record)
            case ExclusionRecord():
                run.excluded.setdefault((record.test, strip_copy(record.query)), []).append(record.why)
            case MissingEngineRecord():
                run.absent[record.test, record.engine] = record.why
            case _:
                assert_never(record)
    asked = {(key.condition.test, key.engine) for key in outcomes} | {(h.key.test, h.key.engine) for h in run.held}
    run.absent = {key: why for key, why in run.absent.items() if key not in asked}
    run.outcomes = {asked: [found[number] for number in sorted(found)] for asked, found in outcomes.items()}
    return run


def find_query_run(key: Key) -> QueryRun:
    """Return the query run of a key."""
    return QueryRun(make_condition(key.test, key.settings), strip_copy(key.query), key.engine)


def strip_copy(name: str) -> str:
    """Return the name of a query without the number of a copy.

    >>> strip_copy("q3/17"), strip_copy("a/b")
    ('q3', 'a/b')
    """
    return re.sub("/[0-9]+$", "", name)


def make_condition(test: str, settings: Mapping[str, Setting]) -> Condition:
    """Return the condition of a test and its settings."""
    return Condition(test, tuple(sorted(settings.items())))


def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key by which q2 comes before q10.

    >>> sorted(["q10", "q2", "q2b"], key=natural_key)
    ['q2', 'q2b', 'q10']
    """
    parts = re.split("([0-9]+)", name)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts if part)


def _take_window(run: RunData, record: WindowRecord) -> None:
    asked = find_query_run(record.key)
    used = None
    if record.used_open is not None and record.used_close is not None:
        used = record.used_open, record.used_close
    answered = WindowScore(
        record.key.repetition, record.t, record.open, record.close, used, record.content,
        record.expected, record.actual, record.precision, record.recall, record.delay,
    )  # fmt: skip
    run.windows.setdefault(asked, []).append(answered)
    if record.opinion not in ("", Opinion.ENGINE_ERROR):
        run.disputed.append(record)
    if not answered.right:
        run.wrong_count[asked] = run.wrong_count.get(asked, 0) + 1
        if run.wrong_count[asked] <= KEPT_BY_GROUP:
            run.wrong.setdefault(asked, []).append(record)


def _plain(value: Setting) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else value


def _sortable(settings: Settings) -> tuple[tuple[str, int, float, str], ...]:
    return tuple(
        (name, 1, 0.0, value) if isinstance(value, str) else (name, 0, float(value), "") for name, value in settings
    )
