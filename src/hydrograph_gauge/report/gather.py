"""All records of a run in memory, by what belongs together; of windows only what charts need.

A large run has hundreds of thousands of windows, most of them right. Their rows are not kept; of the wrong ones the
first of each query on each engine are, up to limits that the page names.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias, assert_never

from hydrograph_gauge.oracle.arbiter import Verdict as Opinion
from hydrograph_gauge.results import (
    Absent,
    Excluded,
    Functional,
    Held,
    Key,
    Mismatch,
    Origin,
    Outcome,
    QueryFacts,
    Record,
    Sampled,
    Setting,
    Window,
    read,
    read_origin,
)

KEPT_BY_GROUP = 20
"""Wrong windows of one query on one engine whose rows are kept."""

Settings: TypeAlias = tuple[tuple[str, Setting], ...]


class Condition(NamedTuple):
    """Under what circumstances queries were asked: a test, and the values of what it sweeps."""

    test: str
    settings: Settings

    @property
    def label(self) -> str:
        """The test and its settings in words."""
        return ", ".join([self.test, *(f"{name} {_plain(value)}" for name, value in self.settings)])


class Asked(NamedTuple):
    """One query on one engine under one condition; repetitions share it, and copies that were asked at once."""

    condition: Condition
    query: str
    engine: str


class Answered(NamedTuple):
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
        """Whether neither a row is missing nor one is too much."""
        return self.precision == 1 and self.recall == 1


class Moment(NamedTuple):
    """Resources at one moment."""

    at: float
    memory: float
    cpu: float
    threads: int


@dataclass(slots=True)
class Run:
    """What one folder holds."""

    origin: Origin
    facts: dict[tuple[str, str], QueryFacts] = field(default_factory=dict)
    outcomes: dict[Asked, list[Outcome]] = field(default_factory=dict)
    windows: dict[Asked, list[Answered]] = field(default_factory=dict)
    wrong: dict[Asked, list[Window]] = field(default_factory=dict)
    wrong_count: dict[Asked, int] = field(default_factory=dict)
    settled: list[Window] = field(default_factory=list)
    """Windows that somebody else than the oracle was asked about, and did not find the engine wrong."""
    samples: dict[tuple[Asked, int, str], list[Moment]] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    functional: list[Functional] = field(default_factory=list)
    excluded: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    absent: dict[tuple[str, str], str] = field(default_factory=dict)
    """By test and engine, why it could not be run; one that was asked after all is not absent."""

    @property
    def engines(self) -> tuple[str, ...]:
        """All engines, in the order in which they first appear."""
        names = [asked.engine for asked in self.outcomes]
        names += [each.engine for each in self.functional]
        names += [asked.engine for asked in self.windows]
        names += [each.key.engine for each in self.held]
        return tuple(dict.fromkeys(names))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions: tests in the order in which they appear, then by the values of what is swept."""
        tests = list(dict.fromkeys(asked.condition.test for asked in self.outcomes))
        found = dict.fromkeys(asked.condition for asked in self.outcomes)
        return tuple(sorted(found, key=lambda each: (tests.index(each.test), _sortable(each.settings))))

    @property
    def queries(self) -> tuple[str, ...]:
        """All queries, as people count: q2 before q10."""
        return tuple(sorted({asked.query for asked in self.outcomes}, key=natural))

    def outcome(self, condition: Condition, query: str, engine: str) -> list[Outcome]:
        """Return the outcomes of all repetitions."""
        return self.outcomes.get(Asked(condition, query, engine), [])

    def is_excluded(self, condition: Condition, query: str) -> bool:
        """Tell whether performance is not compared on a query."""
        return (condition.test, query) in self.excluded


def gather(folder: Path) -> Run:
    """Return what a folder holds, or raise DataError."""
    return collect(read_origin(folder), read(folder))


def collect(origin: Origin, records: Iterable[Record]) -> Run:
    """Return the records by what belongs together."""
    run = Run(origin)
    outcomes: defaultdict[Asked, dict[tuple[int, str], Outcome]] = defaultdict(dict)
    for record in records:
        match record:
            case QueryFacts():
                run.facts.setdefault((record.test, plain_query(record.query)), record)
            case Outcome():
                outcomes[asked_of(record.key)][record.key.repetition, record.key.query] = record
            case Window():
                _take_window(run, record)
            case Sampled():
                moments = run.samples.setdefault((asked_of(record.key), record.key.repetition, record.key.query), [])
                moments.append(Moment(record.at, record.memory, record.cpu, record.threads))
            case Mismatch():
                run.mismatches.append(record.model_copy(update={"query": plain_query(record.query)}))
            case Held():
                run.held.append(record)
            case Functional():
                run.functional.append(record)
            case Excluded():
                run.excluded.setdefault((record.test, plain_query(record.query)), []).append(record.why)
            case Absent():
                run.absent[record.test, record.engine] = record.why
            case _:
                assert_never(record)
    asked = {(key.condition.test, key.engine) for key in outcomes} | {(h.key.test, h.key.engine) for h in run.held}
    run.absent = {key: why for key, why in run.absent.items() if key not in asked}
    run.outcomes = {asked: [found[number] for number in sorted(found)] for asked, found in outcomes.items()}
    return run


def asked_of(key: Key) -> Asked:
    """Return a key without its repetition."""
    return Asked(condition_of(key.test, key.settings), plain_query(key.query), key.engine)


def plain_query(name: str) -> str:
    """Return the name of a query without the number of its copy.

    >>> plain_query("q3/17"), plain_query("a/b")
    ('q3', 'a/b')
    """
    return re.sub("/[0-9]+$", "", name)


def condition_of(test: str, settings: Mapping[str, Setting]) -> Condition:
    """Return a condition."""
    return Condition(test, tuple(sorted(settings.items())))


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """Return the sort key by which q2 comes before q10.

    >>> sorted(["q10", "q2", "q2b"], key=natural)
    ['q2', 'q2b', 'q10']
    """
    parts = re.split("([0-9]+)", name)
    return tuple((0, int(part), "") if part[0] in "0123456789" else (1, 0, part) for part in parts if part)


def _take_window(run: Run, record: Window) -> None:
    asked = asked_of(record.key)
    used = None
    if record.used_open is not None and record.used_close is not None:
        used = record.used_open, record.used_close
    answered = Answered(
        record.key.repetition, record.t, record.open, record.close, used, record.content,
        record.expected, record.actual, record.precision, record.recall, record.delay,
    )  # fmt: skip
    run.windows.setdefault(asked, []).append(answered)
    if record.opinion not in ("", Opinion.ENGINE_ERROR):
        run.settled.append(record)
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
