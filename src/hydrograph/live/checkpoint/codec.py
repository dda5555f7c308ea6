"""Codec of batch records: JSON lines with a checksum and a format version.

A record of another format version is refused by name, never guessed at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from hydrograph.errors import RunError
from hydrograph.live.step.records import (
    BatchDecision,
    BatchOutcome,
    CarriedRows,
    CountWindowStart,
    Decision,
    ElementCounts,
    QueryRecord,
    QueryVersion,
)
from hydrograph.live.step.snapshot import EMPTY_SNAPSHOT
from hydrograph.live.storage.framing import TornError, frame, unframe

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
