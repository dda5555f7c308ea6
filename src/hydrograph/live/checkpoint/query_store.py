"""What a checkpoint keeps of the queries that were added while it was used, and of the static data they see.

A definition is the text of a query and what goes with it, under its name and version; it is never changed, and stays
when the query is removed, so that no version is given twice. Static data is kept under its fingerprint. Both are
written before a batch speaks of them.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

from hydrograph.algebra.queries import StreamOperator
from hydrograph.errors import RunError
from hydrograph.language import dialect_of, parse
from hydrograph.live.step.records import TornError, framed, unframed
from hydrograph.live.storage.files import Files
from hydrograph.runtime.plan import Plan, plan
from hydrograph.streams.schema import TRIPLES
from hydrograph.streams.static import StaticGraphs
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Habits, Origin, preset
from hydrograph.windows.report import Multi, When
from hydrograph.windows.scope import Align
from hydrograph.windows.tick import Tick

_QUERIES = "queries"
_STATIC = "static"
_DEFAULT = "default"
_MIXERS = (
    (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9),
    (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB),
)
"""Odd numbers that spread the ids of a triple over 64 bits, in two ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A query as it was registered."""

    name: str
    version: int
    text: str
    dialect: str | None = None
    preset: str | None = None
    habits: Habits = field(default_factory=Habits)
    t0: Instant | None = None

    def plan(self) -> Plan:
        """Return what the text means."""
        profile = preset(dialect_of(self.text, self.dialect).preset if self.preset is None else self.preset)
        return plan(parse(self.text, self.dialect), profile.changed(self.habits), self.t0)


@dataclass(frozen=True, slots=True)
class Roster:
    """The definitions and the static data below a checkpoint."""

    files: Files

    def next_version(self, name: str, known: int = 0) -> int:
        """Return a version that no query of this name has had; up to `known` they are taken."""
        start = _slug(name)
        found = [each.removeprefix(start) for each in self.files.names(_QUERIES) if each.startswith(start)]
        return max([known, *(int(number) for number in found)]) + 1

    def write(self, definition: Definition) -> None:
        """Keep a definition."""
        self.files.write(_query_file(definition.name, definition.version), _line(definition))

    def read(self, name: str, version: int) -> Definition:
        """Return the definition of a version of a query; raise RunError if it is not there any more."""
        data = self.files.read(_query_file(name, version))
        if data is None:
            raise RunError(f"version {version} of {name} is gone: bring {_query_file(name, version)} back")
        given: dict[str, Any] = json.loads(unframed(data))
        given["habits"] = _habits(given["habits"])
        return Definition(**given)

    def write_static(self, static: StaticGraphs) -> str:
        """Keep static data; return its fingerprint."""
        found = static_fingerprint(static)
        if found and self.files.size(_static_file(found)) is None:
            self.files.write(_static_file(found), _packed(static))
        return found

    def read_static(self, found: str) -> StaticGraphs:
        """Return the static data with a fingerprint; raise RunError if it is not here."""
        if not found:
            return StaticGraphs()
        data = self.files.read(_static_file(found))
        if data is None:
            raise RunError(
                f"the reports so far have seen static data that is neither given nor in the checkpoint ({found}): "
                "give the data that the query was started with; other data can be given to a query while it runs"
            )
        return _unpacked(data)

    def forget_static(self, found: str) -> None:
        """Remove static data that nobody will ask for any more."""
        if found:
            self.files.remove(_static_file(found))


_ENUMS: dict[str, type[Enum]] = {
    "report": When,
    "multi": Multi,
    "tick": Tick,
    "origin": Origin,
    "align": Align,
    "operator": StreamOperator,
}
"""The habits that are words and not numbers."""


def _line(definition: Definition) -> bytes:
    return framed(json.dumps(asdict(definition), default=lambda habit: habit.value))


def _habits(given: dict[str, Any]) -> Habits:
    kinds = {name: kind for name, kind in _ENUMS.items() if given[name] is not None}
    return Habits(**{**given, **{name: kind(given[name]) for name, kind in kinds.items()}})


def _slug(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:12] + "-"


def _query_file(name: str, version: int) -> str:
    return f"{_QUERIES}/{_slug(name)}{version:06d}"


def _static_file(found: str) -> str:
    return f"{_STATIC}/{found}"


def plan_fingerprint(plan: Plan) -> str:
    """Return what tells plans apart: a checkpoint belongs to one."""
    said = repr((plan.query.form, plan.pattern, plan.query.windows, plan.query.dataset, plan.profile))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def static_fingerprint(static: StaticGraphs) -> str:
    """Return what tells static data apart, whatever the order of its triples; nothing where there is none."""
    graphs = {"": static.default, **{f"<{name}": table for name, table in (static.named or {}).items()}}
    told = hashlib.sha256(repr(static.named is None).encode())
    for name in sorted(graphs):
        table = graphs[name]
        if table is not None:
            told.update(repr((name, table.num_rows, _sums(table))).encode())
    return "" if static.default is None and static.named is None else told.hexdigest()[:24]


def _sums(table: pa.Table) -> list[int]:
    """Return two sums over all triples, which differ where a triple does."""
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
    """Return static data as bytes: a checksum, then each graph in Arrow's format behind its name and length."""
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
        raise TornError("the static data in the checkpoint is damaged: bring it back, or choose another checkpoint")
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
