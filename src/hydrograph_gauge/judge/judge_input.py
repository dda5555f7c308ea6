"""Input of the judge: expected reports, answers of the engine, and the way the run ended."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hydrograph.temporal import Duration, Instant
from hydrograph_gauge.engines.outcome import AnswerBlock
from hydrograph_gauge.engines.outcome import Outcome as Ending
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.oracle.compare import Comparison
from hydrograph_gauge.oracle.dataset import texts_of
from hydrograph_gauge.oracle.evaluate import Report
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import Key, RowText


@dataclass(frozen=True, slots=True)
class ExpectedReport:
    """Report that the semantics demands, its rows as texts: most are compared without being parsed."""

    t: Instant
    open: Instant | None
    close: Instant | None
    rows: Counter[RowText]
    content: int | None = None
    """Triples in its windows, where they were counted."""
    seq: int | None = None
    """The event that made it, where one did."""


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """Answer of one execution, in milliseconds since the start of the run; `t` is the report's time if given."""

    at: float
    rows: Counter[RowText]
    t: Instant | None = None


DueAt: TypeAlias = Callable[[ExpectedReport], float | None]
"""When the answer to a report could have come first, in milliseconds since the play began; None if it never could."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeInput:
    """Run of one query on one engine."""

    key: Key
    due: Sequence[ExpectedReport]
    said: Sequence[EngineAnswer]
    ending: Ending | None = None
    """Failure during the run."""
    due_at: DueAt | None = None
    handed: Sequence[Handed] = ()
    slide: Duration | None = None
    """Given for an engine that answers as soon as it can: it is judged by slides of this length."""
    last: float | None = None
    """When the last element came, in the time of the windows. Windows that close later need no answer, because nothing
    tells the engine that they are over; they are counted apart, and judged if they are answered. None: the stream ends
    explicitly, and every report that is due needs an answer."""
    t0: Instant | None = None
    """Given where it was searched for. Answers then need only be a contiguous part of what was due."""
    comparison: Comparison = Comparison.EXACT
    """When rows are equal, by the experiment."""
    seconds: float = 0.0
    executions: int = 0
    paced: bool = False
    """Whether the pace of the input fixes how often the query is executed; executions a second then mean nothing."""
    hurried: bool = False
    """Whether elements came as fast as they were taken: delays then only measure the queue."""
    elements: int = 0
    triples: int = 0
    static: int = 0
    samples: Sequence[Sample] = field(default_factory=tuple)


def due_at_close(first: Instant = 0, speed: float = 1.0) -> DueAt:
    """Return when windows close, for a stream that was played by event time from `first` on."""
    return lambda due: (due.t - first) / speed


def due_at_trigger(handed: Sequence[Handed]) -> DueAt:
    """Return when the element was handed over that makes a report due: the event itself, or the first one past it.

    Reports that no element shows to be over wait for the end of the stream.
    """
    by_event = {(each.element.t, each.element.seq): each.sent for each in handed}
    # The latest time so far: a late element shows nothing.
    times: list[Instant] = []
    for each in handed:
        times.append(max(times[-1], each.element.t) if times else each.element.t)

    def due_at(due: ExpectedReport) -> float | None:
        if due.seq is not None and (due.t, due.seq) in by_event:
            return by_event[due.t, due.seq]
        place = bisect_left(times, due.t)
        return handed[min(place, len(handed) - 1)].sent if handed else None

    return due_at


def expected_report(report: Report) -> ExpectedReport:
    """Return a report of the oracle with its rows as texts."""
    return ExpectedReport(report.t, report.open, report.close, texts_of(report.rows), report.content, report.seq)


def engine_answer(block: AnswerBlock) -> EngineAnswer:
    """Return an answer with its rows as texts."""
    return EngineAnswer(block.at, texts_of(block.rows), block.t)
