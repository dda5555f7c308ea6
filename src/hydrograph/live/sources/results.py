"""Results of another live query, whose CONSTRUCT makes a stream: `results:DIRECTORY`, `?query=NAME` of several.

Each unit is an element at its report instant; an offset is a number of units. Units are ordered, and the same after a
crash of the query that writes them, so offsets keep their meaning.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.results.segments import SEGMENTS, decode_unit, list_segments, newest_boundary
from hydrograph.live.sources.directory.poll import PollThread
from hydrograph.live.sources.source import PartitionReader, PartitionSpec, SinglePartitionSource, Wake
from hydrograph.live.storage.files import Files, TornError, files_at
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.encoding import skolem
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.schema import EVENTS, Row, encode_events

_PREFIX = "results:"
_POLL = 0.05
"""Seconds between two looks at the results."""
_KEPT = 10_000
"""Units that are kept in memory, so that new ones are not read from the disk again."""
_KEPT_CHARACTERS = 64 * 1024 * 1024
"""How long they are together at most: as long as a segment."""


class ResultsSource(SinglePartitionSource):
    """The results directory of another live query."""

    @property
    def location(self) -> str:
        """The URL with an absolute path."""
        place = self.spec.url.removeprefix(_PREFIX)
        return f"{_PREFIX}{place if '://' in place else Path(place).resolve()}"

    def open(self, partition: PartitionSpec) -> ResultsPartition:
        """Return the reader."""
        return ResultsPartition(partition, files_at(partition.url.removeprefix(_PREFIX)))


@dataclass(slots=True)
class _Part:
    """How far a segment was followed: the number of its first unit, and how many bytes and units there were."""

    first: int
    bytes: int = 0
    units: int = 0


@dataclass(slots=True)
class ResultsPartition(PartitionReader):
    """The units of another query."""

    partition: PartitionSpec
    results: Files
    divisible = True
    _driver: str | None = field(init=False, default=None)
    """The number of the driver that writes them."""
    _parts: dict[str, _Part] = field(init=False, default_factory=dict)
    _recent: deque[tuple[int, str]] = field(init=False, default_factory=deque)
    _length: int = field(init=False, default=0)
    """How many characters are kept."""
    _watcher: PollThread | None = field(init=False, default=None)

    def resume(self, lease: Lease, known: int) -> None:  # noqa: ARG002 - nothing is written
        """Raise DataError if there are fewer units than were read once."""
        self._check(known)

    def _check(self, wanted: int) -> None:
        if self._count < wanted and self.end() < wanted:
            raise DataError(
                f"{self.partition.url} has {self._count} units, expected {wanted}: bring the segments back, or try "
                "again when the other query has started again"
            )

    def start(self, wake: Wake) -> None:
        """Look for new units from now on."""
        self._watcher = PollThread(f"source {self.partition.url}", _POLL)
        self._watcher.start(wake)

    def stop(self) -> None:
        """Look no more."""
        if self._watcher is not None:
            self._watcher.stop()

    @property
    def _count(self) -> int:
        return sum(part.units for part in self._parts.values())

    def end(self) -> int:
        """Return how many units there are; while the other query recovers they may be fewer for a moment."""
        newest, taken = newest_boundary(self.results)
        driver = newest.partition("-")[0]
        if driver != self._driver:  # what was written before it may have moved to its segments
            self._driver, self._parts = driver, {}
            self._recent.clear()
            self._length = 0
        for name in list_segments(self.results):
            if name >= newest or name in taken:
                self._follow(name, None if name >= newest else taken[name])
        return self._count

    def _follow(self, name: str, length: int | None) -> None:
        """Count the units of a segment that are new; `length` is how many bytes of it count."""
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _Part(self._count)
        size = self.results.size(f"{SEGMENTS}/{name}") or 0
        if part.bytes >= (size if length is None else min(size, length)):
            return
        for text, behind in self._units(name, part.bytes, length):
            part.bytes = behind
            if text is not None:
                self._keep(part.first + part.units, text)
                part.units += 1

    def _keep(self, number: int, text: str) -> None:
        self._recent.append((number, text))
        self._length += len(text)
        while len(self._recent) > _KEPT or self._length > _KEPT_CHARACTERS:
            self._let_go()

    def _let_go(self) -> None:
        self._length -= len(self._recent.popleft()[1])

    def _units(self, name: str, start: int, length: int | None) -> Iterator[tuple[str | None, int]]:
        """Return the units of a segment from a place on, None for those of other queries, and the places behind."""
        data = self.results.read(f"{SEGMENTS}/{name}", start) or b""
        wanted, at = self.partition.option("query") or None, start
        for line in data[: None if length is None else length - start].splitlines(keepends=True):
            try:
                key, text = decode_unit(line)
            except (TornError, ValueError):  # just being written
                return
            at += len(line)
            yield text if wanted in (None, key.query) else None, at

    def has_ended(self) -> bool:
        """Return False: the other query may be started again."""
        return False

    def forget(self, before: int) -> None:
        """Keep no units before an offset in memory; results are not ours to remove."""
        while self._recent and self._recent[0][0] < before:
            self._let_go()

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return the units from one to another."""
        self._check(end)
        for number, text in self._texts(start, end):
            rows = self._rows(number, json.loads(text))
            events = pa.Table.from_batches([encode_events(rows)]) if rows else EVENTS.empty_table()
            yield Chunk(events, number, number + 1)

    def _texts(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        recent = [each for each in self._recent if start <= each[0] < end]
        behind = recent[0][0] if recent else end
        for name, part in self._parts.items():
            if start < behind and part.first < behind and start < part.first + part.units:
                texts = (text for text, _ in self._units(name, 0, part.bytes) if text is not None)
                for number, text in enumerate(texts, part.first):
                    if start <= number < behind:
                        yield number, text
        yield from recent

    def _rows(self, number: int, unit: dict[str, object]) -> list[Row]:
        seq = self.partition.first_seq + number + 1
        t, found = unit["t"], unit["rows"]
        assert isinstance(t, int)
        assert isinstance(found, list)
        rows = []
        for row in found:
            if not {"subject", "predicate", "object"} <= set(row):
                raise DataError(
                    f"{self.partition.url}: expected the triples of a CONSTRUCT, got the columns {', '.join(row)}"
                )
            s, p, o = (_text(row[name], self.partition.salt, seq) for name in ("subject", "predicate", "object"))
            rows.append((t, seq, s, p, o))
        return rows


def _text(term: dict[str, str], salt: str, seq: int) -> str:
    if term["type"] == "bnode":
        return skolem(salt, seq, term["value"])
    return term_text(_term(term))


def _term(term: dict[str, str]) -> Term:
    match term["type"]:
        case "uri":
            return Iri(term["value"])
        case "bnode":
            return BlankNode(term["value"])
        case _:
            if "xml:lang" in term:
                return Literal.tagged(term["value"], term["xml:lang"])
            return Literal(term["value"], term.get("datatype", XSD_STRING))
