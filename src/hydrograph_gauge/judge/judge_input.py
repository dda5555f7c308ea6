"""What the judge is given: the reports that were due, the answers that came, and how the run ended."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from hydrograph.rdf.nquads import term_text
from hydrograph.temporal import Duration, Instant
from hydrograph_gauge.engines.resources import Sample
from hydrograph_gauge.engines.verdict import Outcome as Ending
from hydrograph_gauge.judge.blocks import Block
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.evaluate import Report
from hydrograph_gauge.player import Handed
from hydrograph_gauge.results import Key, RowText


@dataclass(frozen=True, slots=True)
class Due:
    """A report that the semantics demands, its rows as texts: most are compared without being read."""

    t: Instant
    open: Instant | None
    close: Instant | None
    rows: Counter[RowText]
    content: int | None = None
    """Triples in its windows, where they were counted."""
    seq: int | None = None
    """The event that made it, where one did."""


@dataclass(frozen=True, slots=True)
class Said:
    """The answer of one execution; `at` is in milliseconds since the play began, `t` the report's time if named."""

    at: float
    rows: Counter[RowText]
    t: Instant | None = None


DueAt: TypeAlias = Callable[[Due], float | None]
"""When the answer to a report could have come first, in milliseconds since the play began; None if it never could."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One query on one engine."""

    key: Key
    due: Sequence[Due]
    said: Sequence[Said]
    ending: Ending | None = None
    """What went wrong while it ran."""
    due_at: DueAt | None = None
    handed: Sequence[Handed] = ()
    slide: Duration | None = None
    """Given for an engine that answers as soon as it can: it is judged by slides of this length."""
    last: float | None = None
    """Given for an engine that goes by the clock: when the last element was handed over. A clock goes on when a stream
    is over; what is due after that need not be answered, because the engine is stopped."""
    t0: Instant | None = None
    """Given where it was searched for. Answers then need only be a contiguous part of what was due, at any time."""
    seconds: float = 0.0
    executions: int = 0
    paced: bool = False
    """Whether the play says how often the query is executed; the number of executions a second is then no figure."""
    hurried: bool = False
    """Whether elements came as fast as they were taken: delays then say how many were waiting, and nothing else."""
    elements: int = 0
    triples: int = 0
    static: int = 0
    samples: Sequence[Sample] = field(default_factory=tuple)


def from_close(first: Instant = 0, speed: float = 1.0) -> DueAt:
    """Return when windows close, for a stream that was played by event time from `first` on."""
    return lambda due: (due.t - first) / speed


def from_trigger(handed: Sequence[Handed]) -> DueAt:
    """Return when the element was handed over that makes a report due: the event itself, or the first one past it.

    Reports that no element shows to be over wait for the end of the stream.
    """
    by_event = {(each.element.t, each.element.seq): each.at for each in handed}
    # The latest time so far: a late element shows nothing.
    times: list[Instant] = []
    for each in handed:
        times.append(max(times[-1], each.element.t) if times else each.element.t)

    def due_at(due: Due) -> float | None:
        if due.seq is not None and (due.t, due.seq) in by_event:
            return by_event[due.t, due.seq]
        place = bisect_left(times, due.t)
        return handed[min(place, len(handed) - 1)].at if handed else None

    return due_at


def due_of(report: Report) -> Due:
    """Return a report of the oracle with its rows as texts."""
    return Due(report.t, report.open, report.close, texts_of(report.rows), report.content, report.seq)


def said_of(block: Block) -> Said:
    """Return an answer with its rows as texts."""
    return Said(block.at, texts_of(block.rows), block.t)


def texts_of(rows: Counter[Row]) -> Counter[RowText]:
    """Return rows of terms as rows of texts."""
    return Counter({row_text(row): count for row, count in rows.items()})


def row_text(row: Row) -> RowText:
    """Return a row as terms in N-Triples."""
    return tuple(None if term is None else term_text(term) for term in row)
