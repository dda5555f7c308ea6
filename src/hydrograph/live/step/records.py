"""Record types of live queries: input batches, decisions, outcomes, snapshots and result units.

A decision is recorded before its batch is processed (A8), the outcome afterwards. State is not recorded: it is rebuilt
from the log (S38). `checkpoint.batch_commit` encodes these types.

A snapshot holds the solutions of the last report, against which the next one is compared (S29, S35). It stores the
changes since the one before it, and now and then all solutions, so the cost of a batch follows what changed. Snapshots
are immutable: a batch that is replayed starts from the same one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hydrograph.rdf.terms import Iri
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report, Row
from hydrograph.temporal import Duration, Instant

Partition: TypeAlias = str
"""Name of a partition: the IRI of its stream, followed by a space and its number unless that is 0."""

_TIME_LIMIT = 2**60
"""Times beyond it are invalid: sums with the widths of windows have to fit into 64 bits."""


def partition_of(stream: Iri, number: int = 0) -> Partition:
    """Return the name of a partition.

    >>> partition_of(Iri("urn:s")), partition_of(Iri("urn:s"), 2)
    ('urn:s', 'urn:s 2')
    """
    return f"{stream.value} {number}" if number else stream.value


def stream_of(partition: Partition) -> Iri:
    """Return the stream of a partition.

    >>> stream_of("urn:s 2")
    Iri(value='urn:s')
    """
    return Iri(partition.partition(" ")[0])


@dataclass(frozen=True, slots=True)
class InputBatch:
    """Whole elements of one partition, as rows of the encoded schema in the order of the log.

    `seq` orders the elements of all partitions of the stream and is unique among them. `end` is the offset behind them.
    """

    stream: Iri
    events: pa.Table
    start: int
    end: int
    partition: int = 0
    rejected: int = 0
    """Elements of this part of the log that could not be read and were skipped."""

    @property
    def name(self) -> Partition:
        """The name of the partition."""
        return partition_of(self.stream, self.partition)

    def drop_invalid_times(self) -> InputBatch:
        """Return the batch without elements whose times are out of range; they count as rejected."""
        t = self.events.column("t").to_numpy()
        if not len(t) or (t.min() > -_TIME_LIMIT and t.max() < _TIME_LIMIT):
            return self
        events = self.events.filter(pa.array((t > -_TIME_LIMIT) & (t < _TIME_LIMIT)))
        dropped = len(distinct_elements(self.events)[1]) - len(distinct_elements(events)[1])
        return replace(self, events=events, rejected=self.rejected + dropped)


def start_offsets(batches: Sequence[InputBatch]) -> dict[Partition, int]:
    """Return the first offset of each partition in some batches."""
    found: dict[Partition, int] = {}
    for batch in batches:
        found[batch.name] = min(found.get(batch.name, batch.start), batch.start)
    return found


def end_offsets(batches: Sequence[InputBatch]) -> dict[Partition, int]:
    """Return the offset behind the last row of each partition in some batches."""
    found: dict[Partition, int] = {}
    for batch in batches:
        found[batch.name] = max(found.get(batch.name, batch.end), batch.end)
    return found


def distinct_elements(events: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return time and `seq` of each element, once, however many rows it has."""
    seq = events.column("seq").to_numpy()
    steps = np.diff(seq)
    if (steps >= 0).all():  # in the order of the log, as rows are unless they were in quarantine
        at = np.concatenate((np.zeros(min(1, len(seq)), np.int64), np.flatnonzero(steps) + 1))
    else:
        _, at = np.unique(seq, return_index=True)
    return events.column("t").to_numpy()[at], seq[at]


MIN_CHANGES = 256
"""Changes that a snapshot may always have before it stores all solutions again."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Bag of solutions: those of `before`, with some added and some removed."""

    before: Snapshot | None = None
    entered: tuple[Row, ...] = ()
    left: tuple[Row, ...] = ()
    size: int = 0
    """The number of solutions."""
    changed: int = 0
    """Solutions added or removed since all were stored."""

    def after(self, entered: tuple[Row, ...], left: tuple[Row, ...]) -> Snapshot:
        """Return the snapshot after some changes; the same one if there are none."""
        if not entered and not left:
            return self
        size = self.size + len(entered) - len(left)
        changed = self.changed + len(entered) + len(left)
        grown = Snapshot(self, entered, left, size, changed)
        return grown if changed <= max(MIN_CHANGES, 2 * size) else full_snapshot(grown.counts())

    def since(self, known: Snapshot | None) -> list[Snapshot] | None:
        """Return the snapshots from a known one up to this, in order; None if this one does not build on it."""
        found: list[Snapshot] = []
        at: Snapshot | None = self
        while at is not None and at is not known:
            found.append(at)
            at = at.before
        return None if at is None else found[::-1]

    def counts(self) -> Counter[Row]:
        """Return the multiplicity of each solution."""
        found: Counter[Row] = Counter()
        for each in self._chain():
            found.update(each.entered)
            found.subtract(each.left)
        return +found

    def _chain(self) -> Iterator[Snapshot]:
        parts = [self]
        while (before := parts[-1].before) is not None:
            parts.append(before)
        return reversed(parts)

    def __eq__(self, other: object) -> bool:
        """Tell whether the solutions are the same, however they were reached."""
        return isinstance(other, Snapshot) and (self is other or self.counts() == other.counts())

    def __hash__(self) -> int:
        """Return a hash that is equal for equal snapshots."""
        return hash(self.size)


def full_snapshot(counts: Counter[Row]) -> Snapshot:
    """Return a snapshot that stores all solutions."""
    rows = tuple(counts.elements())
    return Snapshot(None, rows, (), len(rows))


EMPTY_SNAPSHOT = Snapshot()


LoggedElements: TypeAlias = Mapping[Partition, tuple[tuple[int, int], ...]]
"""Elements by `seq`, which is unique in a stream, and by their offsets in the log of their partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Limits of event times: how late an element may be, and how far ahead."""

    delay: Duration = 0
    """Maximum delay of an element behind the newest of its partition at which it still counts everywhere."""
    max_ahead: Duration | None = None
    """An element further ahead of the watermark goes into quarantine; None accepts every time."""
    agreeing: int = 3
    """Number of further elements near an implausible time that make it plausible."""


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
