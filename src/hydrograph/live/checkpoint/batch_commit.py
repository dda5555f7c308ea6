"""Batch commit: the journal of decisions and outcomes in a checkpoint, and recovery from it (A8).

A batch has two files. `begin` holds the decision and is written before any result; `done` holds the outcome and is
written after all results: it commits the batch. Torn files are moved to `quarantine/`. If results or snapshots that a
record refers to are missing, recovery goes back to the last batch whose results are intact and replays the batches
decided since, with the same queries and the same static data.

The epoch of the driver's lease is part of each file name. A fenced driver that still writes creates files of its own,
which its successor ignores.

Records are JSON lines with a checksum and a format version. A record of another version is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from hydrograph.errors import RunError
from hydrograph.live.checkpoint.snapshot_log import SnapshotLog, SnapshotPosition
from hydrograph.live.step.records import (
    EMPTY_SNAPSHOT,
    BatchDecision,
    BatchOutcome,
    CarriedRows,
    CountWindowStart,
    Decision,
    ElementCounts,
    QueryRecord,
    QueryVersion,
)
from hydrograph.live.storage.files import Files, TornError, frame, unframe

FORM = 5
"""The format version."""


def encode(batch: BatchDecision | BatchOutcome, about: Mapping[str, Any]) -> bytes:
    """Return a decision or an outcome as one checksummed line."""
    if isinstance(batch, BatchOutcome):  # snapshots are in the snapshot log
        records = {name: replace(record, snapshot=EMPTY_SNAPSHOT) for name, record in batch.records.items()}
        batch = replace(batch, records=records)
    body = asdict(batch)
    if isinstance(batch, BatchOutcome):
        for record in body["records"].values():
            del record["snapshot"]
        del body["batch"]["decisions"]  # each record holds its own decision
    head = {"form": FORM, "kind": _kind(batch), **about}
    return frame(json.dumps({**head, "record": body}, separators=(",", ":"), ensure_ascii=False))


def _kind(batch: BatchDecision | BatchOutcome) -> str:
    return "begin" if isinstance(batch, BatchDecision) else "done"


def decode_batch(data: bytes, about: Mapping[str, Any]) -> BatchDecision:
    """Return the decision about a batch."""
    given = _opened(data, "begin", about)
    return _batch(given, {name: _decision(each) for name, each in given.pop("decisions").items()})


def decode_outcome(data: bytes, about: Mapping[str, Any]) -> BatchOutcome:
    """Return the outcome of a batch."""
    given = _opened(data, "done", about)
    records = {name: _record(each) for name, each in given["records"].items()}
    batch = _batch(given["batch"], {name: each.decision for name, each in records.items()})
    snapshots = {name: (file, length) for name, (file, length) in given["snapshots"].items()}
    return BatchOutcome(
        batch=batch, records=records, segments=given["segments"], failed=given["failed"], snapshots=snapshots
    )


def _batch(given: dict[str, Any], decisions: Mapping[str, Decision]) -> BatchDecision:
    given["queries"] = {name: QueryVersion(**each) for name, each in given["queries"].items()}
    given["idle"], given["ended"] = tuple(given["idle"]), tuple(given["ended"])
    return BatchDecision(**given, decisions=decisions)


def _record(given: dict[str, Any]) -> QueryRecord:
    given["decision"] = _decision(given["decision"])
    given["counts"] = ElementCounts(**given["counts"])
    given["cuts"] = {name: CountWindowStart(**cut) for name, cut in given["cuts"].items()}
    given["held"] = {name: (first, last) for name, (first, last) in given["held"].items()}
    given["carried"] = tuple(
        CarriedRows(**{**each, "rows": tuple(map(tuple, each["rows"]))}) for each in given["carried"]
    )
    for places in ("late", "refused"):
        given[places] = {name: tuple((seq, at) for seq, at in each) for name, each in given[places].items()}
    return QueryRecord(**given)


def _decision(given: dict[str, Any]) -> Decision:
    lists = {name: tuple(given[name]) for name in ("idle", "ended")}
    places = {
        name: {partition: tuple(each) for partition, each in given[name].items()} for name in ("held_back", "refused")
    }
    return Decision(**{**given, **lists, **places})


def _opened(data: bytes, kind: str, about: Mapping[str, Any]) -> dict[str, Any]:
    found = json.loads(unframe(data))
    if found["form"] != FORM:
        raise RunError(
            f"the checkpoint has format version {found['form']}, expected {FORM}: "
            "use the version of Hydrograph that wrote it, or another checkpoint"
        )
    if found["kind"] != kind:
        raise TornError(f"expected a record of kind {kind}, got {found['kind']}")
    for name, value in about.items():
        if found.get(name) != value:
            raise RunError(
                f"the checkpoint belongs to another {name} ({found.get(name)!r}, expected {value!r}): "
                "use another checkpoint, or give the query another version"
            )
    record: dict[str, Any] = found["record"]
    return record


BATCHES = "batches"
KEPT_BATCHES = 16
"""Number of batches whose records are kept: recovery can go back that far."""
_QUARANTINE = "quarantine"


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """Record file of a batch."""

    name: str
    batch: int
    epoch: int
    """The lease of the driver that wrote it."""
    content: BatchDecision | BatchOutcome | None
    """The decoded record; None if the file is torn."""


def stored_records(files: Files, about: Mapping[str, Any]) -> Iterator[StoredRecord]:
    """Return the records of a checkpoint ordered by batch, driver, and decision before outcome; write nothing.

    Raise RunError if a record has another format version or belongs to another query than `about` describes.
    """
    for name in files.names(BATCHES):
        match name.split("."):
            case number, epoch, ("begin" | "done") as kind if number.isdigit() and epoch.isdigit():
                data = files.read(f"{BATCHES}/{name}") or b""
                content: BatchDecision | BatchOutcome | None
                try:
                    content = decode_outcome(data, about) if kind == "done" else decode_batch(data, about)
                except TornError:  # the driver crashed while writing it, or it was damaged later
                    content = None
                yield StoredRecord(f"{BATCHES}/{name}", int(number), int(epoch), content)
            case _:
                continue  # not a record


def newest_batch(files: Files, about: Mapping[str, Any]) -> BatchDecision | None:
    """Return the last batch in a checkpoint; None if there is none."""
    contents = [record.content for record in stored_records(files, about) if record.content is not None]
    if not contents:
        return None
    last = contents[-1]
    return last.batch if isinstance(last, BatchOutcome) else last


def newest_commits(files: Files, about: Mapping[str, Any]) -> list[BatchOutcome]:
    """Return the outcomes of the last batches, for each batch that of the newest driver."""
    outcomes = {
        record.batch: record.content
        for record in stored_records(files, about)
        if isinstance(record.content, BatchOutcome)
    }
    return [outcomes[batch] for batch in sorted(outcomes)]


class ResultSegments(Protocol):
    """Stored results, as far as recovery needs to know them."""

    def expand(self, lengths: Mapping[str, int]) -> dict[str, int]:
        """Return the committed length of each segment, given those that a record names together or one by one."""
        ...

    def intact(self, committed: Mapping[str, int]) -> dict[str, int]:
        """Return how many bytes of each segment are intact; `committed` are lengths that an old record names."""
        ...


class NoResults:
    """Results of queries that have no results directory."""

    def expand(self, lengths: Mapping[str, int]) -> dict[str, int]:
        """Return the lengths as they are."""
        return dict(lengths)

    def intact(self, committed: Mapping[str, int]) -> dict[str, int]:  # noqa: ARG002 - part of the protocol
        """Return nothing: no segment is stored."""
        return {}


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """State to resume from: the last outcome with intact results, and the batches decided after it."""

    outcome: BatchOutcome | None
    batches: tuple[BatchDecision, ...] = ()


@dataclass(slots=True)
class BatchJournal:
    """Journal of batches below one directory; `about` describes the query it belongs to."""

    files: Files
    about: Mapping[str, Any]
    epoch: int = 1
    _names: dict[int, list[str]] = field(default_factory=dict)
    """Record files of the kept batches, oldest batch first."""
    _snapshots: SnapshotLog = field(init=False)
    _needed: dict[int, set[str]] = field(default_factory=dict)
    """Snapshot files that the record of each batch refers to."""
    _kept_files: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Open the snapshots beside the records."""
        self._snapshots = SnapshotLog(self.files, self.epoch)

    def record(self, batch: BatchDecision) -> None:
        """Write the decision about a batch, before it is processed."""
        self._write(batch.number, "begin", encode(batch, self.about))

    def commit(self, outcome: BatchOutcome) -> None:
        """Write the outcome of a batch, which commits it, and prune old records."""
        places = {name: self._snapshots.write(name, record.snapshot) for name, record in outcome.records.items()}
        outcome = replace(outcome, snapshots={name: place for name, place in places.items() if place is not None})
        self._write(outcome.batch.number, "done", encode(outcome, self.about))
        while len(self._names) > KEPT_BATCHES:
            oldest = next(iter(self._names))
            self._needed.pop(oldest, None)
            for name in self._names.pop(oldest):
                self.files.remove(name)
        self._prune_snapshots(outcome)

    def _prune_snapshots(self, outcome: BatchOutcome) -> None:
        self._needed[outcome.batch.number] = _snapshot_files(outcome)
        needed: set[str] = set().union(*self._needed.values())
        if needed != self._kept_files:
            self._snapshots.keep(needed, outcome.records)
            self._kept_files = needed

    def _write(self, batch: int, kind: str, data: bytes) -> None:
        name = f"{BATCHES}/{batch:012d}.{self.epoch:08d}.{kind}"
        self.files.write(name, data)
        self._names.setdefault(batch, []).append(name)

    def recover(self, results: ResultSegments) -> RecoveryPoint:
        """Return the state to resume from, given the stored results; raise RunError if there is none."""
        outcomes, batches = self._read()
        for number, outcome in outcomes.items():
            outcomes[number] = replace(outcome, segments=results.expand(outcome.segments))
        # If the records reach back to the first batch, everything can be replayed, whatever is damaged.
        from_first = 1 in batches or 1 in outcomes
        stored = results.intact({} if from_first or not outcomes else outcomes[min(outcomes)].segments)
        good = [number for number, outcome in outcomes.items() if self._is_intact(outcome, stored)]
        # An outcome takes precedence over the decision: a query may have failed in the batch.
        decided = batches | {number: each.batch for number, each in outcomes.items()}
        if outcomes and not good and 1 not in decided:
            raise RunError(
                f"results are missing that were written before batch {min(outcomes)}: "
                f"{_describe_missing(outcomes[min(outcomes)], stored)}; restore the segments, "
                "or use a new checkpoint and a new results directory"
            )
        last = max(good, default=None)
        resumed = None if last is None else self._with_snapshots(outcomes[last])
        self._needed = {number: _snapshot_files(each) for number, each in outcomes.items()}
        following = []
        number = 1 if last is None else last + 1
        while number in decided:
            following.append(decided[number])
            number += 1
        for batch in decided:
            if batch >= number:  # a gap: batches are written in order
                raise RunError(f"the checkpoint has no record of batch {number}, but one of batch {batch}")
        return RecoveryPoint(resumed, tuple(following))

    def _is_intact(self, outcome: BatchOutcome, stored: Mapping[str, int]) -> bool:
        has_results = all(stored.get(name, 0) >= length for name, length in outcome.segments.items())
        positions = outcome.snapshots.values()
        return has_results and all(self._snapshots.is_intact(SnapshotPosition(*position)) for position in positions)

    def _with_snapshots(self, outcome: BatchOutcome) -> BatchOutcome:
        read = {name: self._snapshots.read(SnapshotPosition(*place)) for name, place in outcome.snapshots.items()}
        records = {
            name: replace(each, snapshot=read.get(name, EMPTY_SNAPSHOT)) for name, each in outcome.records.items()
        }
        return replace(outcome, records=records)

    def _read(self) -> tuple[dict[int, BatchOutcome], dict[int, BatchDecision]]:
        outcomes: dict[int, BatchOutcome] = {}
        batches: dict[int, BatchDecision] = {}
        writer: dict[int, int] = {}
        for each in stored_records(self.files, self.about):
            batch, epoch = each.batch, each.epoch
            if each.content is None:
                self.files.move(each.name, f"{_QUARANTINE}/{each.name.removeprefix(f'{BATCHES}/')}")
                continue
            self._names.setdefault(batch, []).append(each.name)
            if writer.get(batch, epoch) != epoch:  # names are sorted: this driver is newer
                outcomes.pop(batch, None)
                batches.pop(batch, None)
            writer[batch] = epoch
            if isinstance(each.content, BatchOutcome):
                outcomes[batch] = each.content
            else:
                batches[batch] = each.content
        return outcomes, batches


def _describe_missing(outcome: BatchOutcome, stored: Mapping[str, int]) -> str:
    """Return a phrase that names the segments shorter than a record requires, or damaged snapshots."""
    short = [
        f"expected {length} bytes of {name}, got {stored.get(name, 0)}"
        for name, length in sorted(outcome.segments.items())
        if stored.get(name, 0) < length
    ]
    return "; ".join(short[:3]) or "expected the snapshots in the checkpoint, got damaged ones"


def _snapshot_files(outcome: BatchOutcome) -> set[str]:
    return {file for file, _ in outcome.snapshots.values()}
