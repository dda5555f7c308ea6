"""What live queries remember between two batches: what was decided before a batch is worked off, and what came of it.

Both are written down, the decision ahead (A8), for all queries that share the sources. State is not: it is read again
from the log (S38). A record says in which form it is written; one of another form is refused, never guessed at.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, TypeAlias

from hydrograph.errors import RunError
from hydrograph.live.step.input_batch import Partition
from hydrograph.live.step.snapshot import NOTHING, Snapshot
from hydrograph.temporal import Instant

FORM = 5
"""The version of what is written."""

Places: TypeAlias = Mapping[Partition, tuple[tuple[int, int], ...]]
"""Elements by their places in the log (`seq`), which are unique in a stream only, and by the offsets they stand at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Every element that came in, counted once."""

    used: int = 0
    outside: int = 0
    """In no window: before t0, or in a gap."""
    late_partial: int = 0
    late_dropped: int = 0
    rejected: int = 0

    def plus(self, other: Counts) -> Counts:
        """Return the sums."""
        return Counts(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Counts)})

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
class Cut:
    """Where the table of a window that counts begins: behind this element, after so many units."""

    t: Instant
    seq: int
    units: int


@dataclass(frozen=True, slots=True)
class Carried:
    """Rows that stand in the record, because the log may have forgotten them; see `quarantine`."""

    partition: Partition
    start: int
    """The offset at which they stood."""
    waits: bool
    """Whether they are still held back."""
    rows: tuple[tuple[Instant, int, str, str, str], ...]
    """Time, place in the log, subject, predicate and object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What stands after a batch."""

    decision: Decision = field(default_factory=lambda: Decision(batch=0))
    emitted: int | None = None
    """The frontier of what has been reported, see `domain`; None before the windows are laid."""
    settled: int | None = None
    """The frontier of what is settled; elements that come for reports before it are late."""
    held: Mapping[str, tuple[Instant, Instant]] = field(default_factory=dict)
    """First and last time of an element in each window."""
    counts: Counts = field(default_factory=Counts)
    cuts: Mapping[str, Cut] = field(default_factory=dict)
    late: Places = field(default_factory=dict)
    """Elements that came too late for windows that count, as long as others show them."""
    snapshot: Snapshot = NOTHING
    """The solutions of the last report, where changes are taken from them."""
    last: Instant | None = None
    """The time of the last report."""
    reports: int = 0
    oldest: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets from which the log has to be read again to know the state (S38)."""
    carried: tuple[Carried, ...] = ()
    """What belongs to the state and is not looked for in the log."""
    refused: Places = field(default_factory=dict)
    """Elements that do not count any more, refused or too late, as long as whoever reads the log again finds them."""


@dataclass(frozen=True, slots=True)
class Enrolled:
    """Which version of a query runs, and over which static data."""

    version: int
    graphs: str = ""
    """The fingerprint of the static data; nothing where there is none."""
    first: str = ""
    """The fingerprint of the static data that it began with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What is decided about a batch for every query that runs; queries begin and end between two batches (S40)."""

    number: int = 0
    start: Mapping[Partition, int] = field(default_factory=dict)
    end: Mapping[Partition, int] = field(default_factory=dict)
    """The offsets `[start, end)` that are read of each partition, whoever reads it."""
    idle: tuple[Partition, ...] = ()
    ended: tuple[Partition, ...] = ()
    queries: Mapping[str, Enrolled] = field(default_factory=dict)
    decisions: Mapping[str, Decision] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What stands after a batch, for every query."""

    batch: Batch = field(default_factory=Batch)
    records: Mapping[str, Record] = field(default_factory=dict)
    segments: Mapping[str, int] = field(default_factory=dict)
    """How many bytes of each segment of results stand; those that are finished together, under the file that names them
    (see `segments.each_named`)."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """Queries that could not be answered and run no more, with the reason."""
    snapshots: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Where the snapshots of queries stand that have one: files of the checkpoint, and how many bytes of them count."""


class TornError(RunError):
    """A file does not hold what was written to it."""


def written(batch: Batch | Outcome, about: Mapping[str, Any]) -> bytes:
    """Return a batch, or what came of it, as one line with its checksum in front."""
    if isinstance(batch, Outcome):  # snapshots stand elsewhere
        records = {name: replace(record, snapshot=NOTHING) for name, record in batch.records.items()}
        batch = replace(batch, records=records)
    body = asdict(batch)
    if isinstance(batch, Outcome):
        for record in body["records"].values():
            del record["snapshot"]
        del body["batch"]["decisions"]  # every record has its own
    head = {"form": FORM, "kind": _kind(batch), **about}
    return framed(json.dumps({**head, "record": body}, separators=(",", ":"), ensure_ascii=False))


def _kind(batch: Batch | Outcome) -> str:
    return "begin" if isinstance(batch, Batch) else "done"


def framed(body: str) -> bytes:
    """Return a line with its checksum in front."""
    data = body.encode()
    return b"%08x " % zlib.crc32(data) + data + b"\n"


def unframed(line: bytes) -> str:
    """Return a line without its checksum; raise TornError if it is not what was written."""
    if len(line) < 10 or not line.endswith(b"\n") or line[8:9] != b" ":
        raise TornError("expected a line with a checksum, got a part of one")
    try:
        expected = int(line[:8], 16)
    except ValueError:
        raise TornError("expected a line with a checksum, got other bytes") from None
    if zlib.crc32(line[9:-1]) != expected:
        raise TornError("the checksum of a line is wrong")
    return line[9:-1].decode()


def read_batch(data: bytes, about: Mapping[str, Any]) -> Batch:
    """Return what was decided about a batch."""
    given = _opened(data, "begin", about)
    return _batch(given, {name: _decision(each) for name, each in given.pop("decisions").items()})


def read_outcome(data: bytes, about: Mapping[str, Any]) -> Outcome:
    """Return what came of a batch."""
    given = _opened(data, "done", about)
    records = {name: _record(each) for name, each in given["records"].items()}
    batch = _batch(given["batch"], {name: each.decision for name, each in records.items()})
    snapshots = {name: (file, length) for name, (file, length) in given["snapshots"].items()}
    return Outcome(
        batch=batch, records=records, segments=given["segments"], failed=given["failed"], snapshots=snapshots
    )


def _batch(given: dict[str, Any], decisions: Mapping[str, Decision]) -> Batch:
    given["queries"] = {name: Enrolled(**each) for name, each in given["queries"].items()}
    given["idle"], given["ended"] = tuple(given["idle"]), tuple(given["ended"])
    return Batch(**given, decisions=decisions)


def _record(given: dict[str, Any]) -> Record:
    given["decision"] = _decision(given["decision"])
    given["counts"] = Counts(**given["counts"])
    given["cuts"] = {name: Cut(**cut) for name, cut in given["cuts"].items()}
    given["held"] = {name: (first, last) for name, (first, last) in given["held"].items()}
    given["carried"] = tuple(Carried(**{**each, "rows": tuple(map(tuple, each["rows"]))}) for each in given["carried"])
    for places in ("late", "refused"):
        given[places] = {name: tuple((seq, at) for seq, at in each) for name, each in given[places].items()}
    return Record(**given)


def _decision(given: dict[str, Any]) -> Decision:
    lists = {name: tuple(given[name]) for name in ("idle", "ended")}
    places = {
        name: {partition: tuple(each) for partition, each in given[name].items()} for name in ("held_back", "refused")
    }
    return Decision(**{**given, **lists, **places})


def _opened(data: bytes, kind: str, about: Mapping[str, Any]) -> dict[str, Any]:
    found = json.loads(unframed(data))
    if found["form"] != FORM:
        raise RunError(
            f"the checkpoint is written in form {found['form']}, expected {FORM}: "
            "go on with the version of Hydrograph that wrote it, or choose another directory"
        )
    if found["kind"] != kind:
        raise TornError(f"expected a record of kind {kind}, got {found['kind']}")
    for name, value in about.items():
        if found.get(name) != value:
            raise RunError(
                f"the checkpoint belongs to another {name} ({found.get(name)!r}, expected {value!r}): "
                "choose another directory, or give the query another version"
            )
    record: dict[str, Any] = found["record"]
    return record
