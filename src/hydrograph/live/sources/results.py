"""The results of another live query, whose CONSTRUCT makes a stream: `results:DIRECTORY`, `?query=NAME` of several.

Each unit with triples is an element that happened at its instant; an offset is a number of units. Units stand in order
and come back the same after a crash of the query that makes them, so offsets keep their meaning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.files import Files, files_at
from hydrograph.live.sink import read_units
from hydrograph.live.sources.receiver import PARTITION_BITS
from hydrograph.live.sources.source import Chunk, Given, Wake
from hydrograph.live.sources.watcher import Watcher
from hydrograph.rdf.encoding import skolem
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.formats.tnt import Row, batch
from hydrograph.streams.schema import EVENTS

_POLL = 0.05
"""Seconds between two looks at the results."""


def open_source(given: Given) -> ResultsSource:
    """Return the results of another query as a source."""
    return ResultsSource(given, files_at(given.url.removeprefix("results:")))


@dataclass(slots=True)
class ResultsSource:
    """The units of another query."""

    given: Given
    results: Files
    _texts: list[str] = field(init=False, default_factory=list)
    _watcher: Watcher | None = field(init=False, default=None)

    def start(self, wake: Wake) -> None:
        """Look for new units from now on."""
        self._watcher = Watcher(f"source {self.given.url}", _POLL)
        self._watcher.start(wake)

    def stop(self) -> None:
        """Look no more."""
        if self._watcher is not None:
            self._watcher.stop()

    def end(self) -> int:
        """Return how many units there are; while the other query recovers, those that were there before."""
        wanted = self.given.options.get("query")
        found = [text for key, text in read_units(self.results) if wanted in (None, key.query)]
        if len(found) > len(self._texts):
            self._texts = found
        return len(self._texts)

    def finished(self) -> bool:
        """Return False: the other query may be started again."""
        return False

    def forget(self, before: int) -> None:
        """Results are not ours to remove."""

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return the units from one to another."""
        if end > len(self._texts) and end > self.end():
            raise DataError(f"{self.given.url} has {len(self._texts)} units, expected {end}: bring the segments back")
        for number in range(start, end):
            rows = self._rows(number, json.loads(self._texts[number]))
            events = pa.Table.from_batches([batch(rows)]) if rows else EVENTS.empty_table()
            yield Chunk(events, number, number + 1)

    def _rows(self, number: int, unit: dict[str, object]) -> list[Row]:
        seq = (self.given.partition << PARTITION_BITS) + number + 1
        t, found = unit["t"], unit["rows"]
        assert isinstance(t, int)
        assert isinstance(found, list)
        rows = []
        for row in found:
            if not {"subject", "predicate", "object"} <= set(row):
                raise DataError(
                    f"{self.given.url}: expected the triples of a CONSTRUCT, got the columns {', '.join(row)}"
                )
            s, p, o = (_text(row[name], self.given.salt, seq) for name in ("subject", "predicate", "object"))
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
