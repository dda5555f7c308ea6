"""Query store of a checkpoint: the definitions of added queries, and replaced static data.

A definition is the text of a query and its options, stored under its name and version. It is never changed and stays
when the query is removed, so that no version is used twice. Static data is stored under its fingerprint. Both are
written before a batch record refers to them.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hydrograph.errors import RunError
from hydrograph.language import dialect_of, parse
from hydrograph.live.storage.files import Files, TornError, frame, unframe
from hydrograph.runtime.plan import Plan, plan
from hydrograph.streams.schema import TRIPLES
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.temporal import Instant
from hydrograph.windows.profile import ProfileOverrides, preset

_QUERIES = "queries"
_STATIC = "static"
_DEFAULT = "default"
_MIXERS = (
    (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9),
    (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB),
)
"""Odd factors of two hash functions over the ids of a triple."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDefinition:
    """Definition of a registered query."""

    name: str
    version: int
    text: str
    dialect: str | None = None
    preset: str | None = None
    overrides: ProfileOverrides = field(default_factory=ProfileOverrides)
    t0: Instant | None = None

    def plan(self) -> Plan:
        """Return the plan of the query."""
        profile = preset(dialect_of(self.text, self.dialect).preset if self.preset is None else self.preset)
        return plan(parse(self.text, self.dialect), profile.with_overrides(self.overrides), self.t0)


@dataclass(frozen=True, slots=True)
class QueryStore:
    """Definitions and static data below a checkpoint."""

    files: Files

    def next_version(self, name: str, known: int = 0) -> int:
        """Return an unused version of a query, greater than `known`."""
        start = _slug(name)
        found = [each.removeprefix(start) for each in self.files.names(_QUERIES) if each.startswith(start)]
        return max([known, *(int(number) for number in found)]) + 1

    def write(self, definition: QueryDefinition) -> None:
        """Store a definition."""
        self.files.write(_query_file(definition.name, definition.version), _line(definition))

    def read(self, name: str, version: int) -> QueryDefinition:
        """Return the definition of a version of a query; raise RunError if it is missing."""
        data = self.files.read(_query_file(name, version))
        if data is None:
            raise RunError(f"version {version} of {name} is missing: restore {_query_file(name, version)}")
        given: dict[str, Any] = json.loads(unframe(data))
        given["overrides"] = ProfileOverrides.from_values(given["overrides"])
        return QueryDefinition(**given)

    def write_static(self, static: StaticGraphs) -> str:
        """Store static data; return its fingerprint."""
        found = static_fingerprint(static)
        if found and self.files.size(_static_file(found)) is None:
            self.files.write(_static_file(found), _packed(static))
        return found

    def read_static(self, found: str) -> StaticGraphs:
        """Return the static data with a fingerprint; raise RunError if it is missing."""
        if not found:
            return StaticGraphs()
        data = self.files.read(_static_file(found))
        if data is None:
            raise RunError(
                f"the static data of earlier reports is neither given nor in the checkpoint ({found}): "
                "give the data that the query was started with; replace it while the query runs"
            )
        return _unpacked(data)

    def forget_static(self, found: str) -> None:
        """Remove static data that no record refers to any more."""
        if found:
            self.files.remove(_static_file(found))


def _line(definition: QueryDefinition) -> bytes:
    stored = asdict(definition) | {"overrides": definition.overrides.values()}
    return frame(json.dumps(stored, default=lambda part: part.value))


def _slug(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:12] + "-"


def _query_file(name: str, version: int) -> str:
    return f"{_QUERIES}/{_slug(name)}{version:06d}"


def _static_file(found: str) -> str:
    return f"{_STATIC}/{found}"


def plan_fingerprint(plan: Plan) -> str:
    """Return the fingerprint of a plan: a checkpoint belongs to one plan."""
    said = repr((plan.query.form, plan.pattern, plan.query.windows, plan.query.dataset, plan.profile))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def static_fingerprint(static: StaticGraphs) -> str:
    """Return the fingerprint of static data, independent of the order of triples; empty if there is none."""
    graphs = {"": static.default, **{f"<{name}": table for name, table in (static.named or {}).items()}}
    told = hashlib.sha256(repr(static.named is None).encode())
    for name in sorted(graphs):
        table = graphs[name]
        if table is not None:
            told.update(repr((name, table.num_rows, _sums(table))).encode())
    return "" if static.default is None and static.named is None else told.hexdigest()[:24]


def _sums(table: pa.Table) -> list[int]:
    """Return the sums of two hash functions over all triples."""
    columns = [table.column(name).to_numpy().astype(np.int64).view(np.uint64) for name in ("s_id", "p_id", "o_id")]
    sums = []
    for factors in _MIXERS:
        mixed = np.zeros(table.num_rows, np.uint64)
        for column, factor in zip(columns, factors, strict=True):
            mixed = (mixed ^ column) * np.uint64(factor)
            mixed ^= mixed >> np.uint64(29)
        sums.append(int(mixed.sum(dtype=np.uint64)))
    return sums


def _packed(static: StaticGraphs) -> bytes:
    """Return static data as bytes: a checksum, a header with the names, and each graph as an Arrow stream."""
    parts = []
    if static.default is not None:
        parts.append((_DEFAULT, "", static.default))
    parts += [("named", name, table) for name, table in (static.named or {}).items()]
    head = {"named": static.named is not None, "graphs": [[kind, name] for kind, name, _ in parts]}
    body = json.dumps(head).encode() + b"\n"
    for _, _, table in parts:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, TRIPLES) as writer:
            writer.write_table(table.cast(TRIPLES))
        data = sink.getvalue().to_pybytes()
        body += len(data).to_bytes(8, "little") + data
    return zlib.crc32(body).to_bytes(4, "little") + body


def _unpacked(data: bytes) -> StaticGraphs:
    body = data[4:]
    if zlib.crc32(body) != int.from_bytes(data[:4], "little"):
        raise TornError("the static data in the checkpoint is damaged: restore it, or use another checkpoint")
    line, _, rest = body.partition(b"\n")
    head = json.loads(line)
    default: pa.Table | None = None
    named: dict[str, pa.Table] = {}
    at = 0
    for kind, name in head["graphs"]:
        length = int.from_bytes(rest[at : at + 8], "little")
        with pa.ipc.open_stream(rest[at + 8 : at + 8 + length]) as reader:
            table = reader.read_all()
        at += 8 + length
        if kind == _DEFAULT:
            default = table
        else:
            named[name] = table
    return StaticGraphs(default, named if head["named"] else None)
