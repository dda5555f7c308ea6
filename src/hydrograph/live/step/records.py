"""Record types of live queries: decisions, outcomes and result units.

A decision is recorded before its batch is processed (A8), the outcome afterwards. State is not recorded: it is rebuilt
from the log (S38). The codec of these types is `live.checkpoint.codec`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TypeAlias

from hydrograph.live.step.input_batch import Partition
from hydrograph.live.step.snapshot import EMPTY_SNAPSHOT, Snapshot
from hydrograph.live.step.watermark import Lateness
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report
from hydrograph.temporal import Instant

LoggedElements: TypeAlias = Mapping[Partition, tuple[tuple[int, int], ...]]
"""Elements by `seq`, which is unique in a stream, and by their offsets in the log of their partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySpec:
    """A query as the step runs it; its name and version, with the instant, are the key of each result unit."""

    name: str
    plan: Plan
    version: int = 1
    lateness: Lateness = field(default_factory=Lateness)
    partitions: tuple[Partition, ...]
    """The partitions of all its streams: the watermark waits for all of them."""

    def place(self, t0: Instant) -> Plan:
        """Return the plan with its windows placed at a recorded t0, not where they would be placed now."""
        return self.plan if self.plan.is_placed else replace(self.plan, is_placed=False).starting(t0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCounts:
    """Counters of elements: each element that arrives is counted once."""

    used: int = 0
    outside: int = 0
    """In no window: before t0, or in a gap."""
    late_partial: int = 0
    late_dropped: int = 0
    rejected: int = 0

    def plus(self, other: ElementCounts) -> ElementCounts:
        """Return the sums."""
        names = [each.name for each in fields(ElementCounts)]
        return ElementCounts(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @property
    def total(self) -> int:
        """The number of elements counted."""
        return sum(asdict(self).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Everything about a batch that depends on more than its rows; replaying the batch reuses it."""

    batch: int
    start: Mapping[Partition, int] = field(default_factory=dict)
    end: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets `[start, end)` that are read of each partition."""
    newest: Mapping[Partition, Instant] = field(default_factory=dict)
    idle: tuple[Partition, ...] = ()
    ended: tuple[Partition, ...] = ()
    held_back: Mapping[Partition, tuple[int, ...]] = field(default_factory=dict)
    """The elements in quarantine, by `seq`: their times are implausible."""
    refused: Mapping[Partition, tuple[int, ...]] = field(default_factory=dict)
    """Elements dropped from a full quarantine, by `seq`."""
    watermark: Instant | None = None
    first: Instant | None = None
    """The earliest plausible event time so far."""
    t0: Instant | None = None
    """The time at which the windows are placed; None until it is known."""
    flush: bool = False
    """True if every partition is idle, so that the windows which hold elements close."""
    more: bool = False
    """True if more reports are due than one batch makes: another batch follows, with or without input."""
    static: int = 1
    """The version of the static data that the reports of this batch see (S27)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWindowStart:
    """Start of the rows kept for a count window: behind this element, after so many counted units."""

    t: Instant
    seq: int
    units: int


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """Rows stored in the record because the log may have been truncated behind them; see `quarantine`."""

    partition: Partition
    start: int
    """The offset that they had in the log."""
    waits: bool
    """True if they are still in quarantine."""
    rows: tuple[tuple[Instant, int, str, str, str], ...]
    """Time, `seq`, subject, predicate and object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRecord:
    """Record of one query after a batch: with the log it is all that recovery needs."""

    decision: Decision = field(default_factory=lambda: Decision(batch=0))
    emitted: int | None = None
    """The frontier of reports that were made, see `report_timeline`; None before the windows are placed."""
    settled: int | None = None
    """The frontier of settled reports; elements that arrive for reports before it are late."""
    held: Mapping[str, tuple[Instant, Instant]] = field(default_factory=dict)
    """First and last time of an element in each window."""
    counts: ElementCounts = field(default_factory=ElementCounts)
    cuts: Mapping[str, CountWindowStart] = field(default_factory=dict)
    late: LoggedElements = field(default_factory=dict)
    """Elements that were too late for count windows and that other windows still show."""
    snapshot: Snapshot = EMPTY_SNAPSHOT
    """The solutions of the last report, where Istream or Dstream need them."""
    last: Instant | None = None
    """The time of the last report."""
    reports: int = 0
    oldest: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets from which the log is read again to rebuild the state (S38)."""
    carried: tuple[CarriedRows, ...] = ()
    """Rows of the state that are not read from the log."""
    refused: LoggedElements = field(default_factory=dict)
    """Elements that do not count any more, refused or too late, while recovery would still find them in the log."""


@dataclass(frozen=True, slots=True)
class QueryVersion:
    """Version of a running query, and of its static data."""

    version: int
    graphs: str = ""
    """The fingerprint of the static data; empty where there is none."""
    first: str = ""
    """The fingerprint of the static data that it began with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDecision:
    """Decision about a batch for every running query; queries begin and end between two batches (S40)."""

    number: int = 0
    start: Mapping[Partition, int] = field(default_factory=dict)
    end: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets `[start, end)` that are read of each partition."""
    idle: tuple[Partition, ...] = ()
    ended: tuple[Partition, ...] = ()
    queries: Mapping[str, QueryVersion] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
    """Outcome of a batch for every query: its commit record."""

    batch: BatchDecision = field(default_factory=BatchDecision)
    records: Mapping[str, QueryRecord] = field(default_factory=dict)
    segments: Mapping[str, int] = field(default_factory=dict)
    """The committed bytes of each result segment; those of finished segments together, under the file that lists them
    (see `segments.each_named`)."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Queries that failed and were removed, with the reason."""
    snapshots: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The snapshots of queries that have one: files of the checkpoint, and how many bytes of them are committed."""


@dataclass(frozen=True, slots=True, order=True)
class UnitKey:
    """Identity of a report, independent of the batch that makes it: writing a unit twice is idempotent (S39)."""

    query: str
    version: int
    t: Instant
    ordinal: int = 0
    """The number of the report among those of one time; they are always emitted together."""
    window_class: str = ""
    """The class of windows, for plans that many queries share."""


@dataclass(frozen=True, slots=True)
class ResultUnit:
    """One report as it is emitted."""

    key: UnitKey
    report: Report
    text: str
    """The report as one line of JSON, the same that replay writes."""


def make_units(query: str, version: int, reports: Iterable[Report]) -> list[ResultUnit]:
    """Return the reports of a query, in order, as units."""
    units = []
    before, ordinal = None, 0
    for report in reports:
        ordinal = ordinal + 1 if report.t == before else 0
        before = report.t
        units.append(ResultUnit(UnitKey(query, version, report.t, ordinal), report, report.json(query, version)))
    return units
