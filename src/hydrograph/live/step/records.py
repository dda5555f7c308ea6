"""What live queries remember between two batches: what was decided before a batch is worked off, and what came of it.

Both are written down, the decision ahead (A8), for all queries that share the sources. State is not: it is read again
from the log (S38). A record says in which form it is written; one of another form is refused, never guessed at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TypeAlias

from hydrograph.live.step.input_batch import Partition
from hydrograph.live.step.snapshot import EMPTY_SNAPSHOT, Snapshot
from hydrograph.temporal import Instant

LoggedElements: TypeAlias = Mapping[Partition, tuple[tuple[int, int], ...]]
"""Elements by their places in the log (`seq`), which are unique in a stream only, and by the offsets they stand at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementCounts:
    """Every element that came in, counted once."""

    used: int = 0
    outside: int = 0
    """In no window: before t0, or in a gap."""
    late_partial: int = 0
    late_dropped: int = 0
    rejected: int = 0

    def plus(self, other: ElementCounts) -> ElementCounts:
        """Return the sums."""
        return ElementCounts(
            **{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(ElementCounts)}
        )

    @property
    def total(self) -> int:
        """How many elements were counted."""
        return sum(asdict(self).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What is decided about a batch before it is worked off; whoever works it off again decides nothing anew."""

    batch: int
    start: Mapping[Partition, int] = field(default_factory=dict)
    end: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets `[start, end)` that are read of each partition."""
    newest: Mapping[Partition, Instant] = field(default_factory=dict)
    idle: tuple[Partition, ...] = ()
    ended: tuple[Partition, ...] = ()
    held_back: Mapping[Partition, tuple[int, ...]] = field(default_factory=dict)
    """The places in the log of elements whose time is not believed."""
    refused: Mapping[Partition, tuple[int, ...]] = field(default_factory=dict)
    """Those of elements that were held back and never will be believed, because there are too many."""
    watermark: Instant | None = None
    first: Instant | None = None
    """The earliest time that was believed so far."""
    t0: Instant | None = None
    """Where the windows are laid; None until it is known."""
    flush: bool = False
    """Whether every partition is idle, so that the windows which hold something close."""
    more: bool = False
    """Whether more is due than one batch settles: another one follows, also if nothing comes."""
    static: int = 1
    """The version of the static data that the reports of this batch see (S27)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWindowStart:
    """Where the table of a window that counts begins: behind this element, after so many units."""

    t: Instant
    seq: int
    units: int


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """Rows that stand in the record, because the log may have forgotten them; see `quarantine`."""

    partition: Partition
    start: int
    """The offset at which they stood."""
    waits: bool
    """Whether they are still held back."""
    rows: tuple[tuple[Instant, int, str, str, str], ...]
    """Time, place in the log, subject, predicate and object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRecord:
    """What stands after a batch."""

    decision: Decision = field(default_factory=lambda: Decision(batch=0))
    emitted: int | None = None
    """The frontier of what has been reported, see `domain`; None before the windows are laid."""
    settled: int | None = None
    """The frontier of what is settled; elements that come for reports before it are late."""
    held: Mapping[str, tuple[Instant, Instant]] = field(default_factory=dict)
    """First and last time of an element in each window."""
    counts: ElementCounts = field(default_factory=ElementCounts)
    cuts: Mapping[str, CountWindowStart] = field(default_factory=dict)
    late: LoggedElements = field(default_factory=dict)
    """Elements that came too late for windows that count, as long as others show them."""
    snapshot: Snapshot = EMPTY_SNAPSHOT
    """The solutions of the last report, where changes are taken from them."""
    last: Instant | None = None
    """The time of the last report."""
    reports: int = 0
    oldest: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets from which the log has to be read again to know the state (S38)."""
    carried: tuple[CarriedRows, ...] = ()
    """What belongs to the state and is not looked for in the log."""
    refused: LoggedElements = field(default_factory=dict)
    """Elements that do not count any more, refused or too late, as long as whoever reads the log again finds them."""


@dataclass(frozen=True, slots=True)
class QueryVersion:
    """Which version of a query runs, and over which static data."""

    version: int
    graphs: str = ""
    """The fingerprint of the static data; nothing where there is none."""
    first: str = ""
    """The fingerprint of the static data that it began with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDecision:
    """What is decided about a batch for every query that runs; queries begin and end between two batches (S40)."""

    number: int = 0
    start: Mapping[Partition, int] = field(default_factory=dict)
    end: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets `[start, end)` that are read of each partition, whoever reads it."""
    idle: tuple[Partition, ...] = ()
    ended: tuple[Partition, ...] = ()
    queries: Mapping[str, QueryVersion] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOutcome:
    """What stands after a batch, for every query."""

    batch: BatchDecision = field(default_factory=BatchDecision)
    records: Mapping[str, QueryRecord] = field(default_factory=dict)
    segments: Mapping[str, int] = field(default_factory=dict)
    """How many bytes of each segment of results stand; those that are finished together, under the file that names them
    (see `segments.each_named`)."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Queries that could not be answered and run no more, with the reason."""
    snapshots: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Where the snapshots of queries stand that have one: files of the checkpoint, and how many bytes of them count."""
