"""Access of random walks to a generated world: triples of a window, triples around an entity, ends of a predicate."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import duckdb

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import decode, term_id
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri, Literal
from hydrograph_gauge.worlds.manifest import ManifestPart, WorldManifest

_MOST = 10_000
"""Limit of the triples around an entity: those with the smallest ids, which are effectively random."""


class DataTriple(NamedTuple):
    """A triple of the data; it streams, or is static."""

    subject: Iri
    predicate: Iri
    object: Iri | Literal
    streamed: bool


class WorldData:
    """The one stream and the static graph of a world, in DuckDB."""

    def __init__(self, directory: Path, world: str = "shop") -> None:
        """Open a generated world of the kind `world`."""
        self.directory, self.manifest = directory, WorldManifest.read(directory)
        if self.manifest.world != world or len(self.manifest.streams) != 1:
            raise DataError(f"{directory}: expected a world of the kind {world}, got {self.manifest.world}")
        (self.stream,) = self.manifest.streams.values()
        self.database = duckdb.connect()
        self.database.read_parquet(self._files(self.stream)).create_view("stream")
        if self.manifest.static is None:
            self.database.execute("CREATE VIEW static AS SELECT s, p, o, s_id, p_id, o_id FROM stream LIMIT 0")
        else:
            self.database.read_parquet(self._files(self.manifest.static)).create_view("static")
        # Walks repeat the same lookups.
        self.window = lru_cache(4)(self._window)
        self.around = lru_cache(4096)(self._around)
        self.at_end = lru_cache(256)(self._at_end)

    def __enter__(self) -> WorldData:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the database."""
        self.database.close()

    def _files(self, part: ManifestPart) -> list[str]:
        return [str(self.directory / part.path / name) for name in part.files]

    @property
    def static(self) -> Path | None:
        """The place of the static graph."""
        part = self.manifest.static
        return None if part is None else self.directory / part.path

    def static_triples(self) -> list[tuple[Iri, Iri, Iri | Literal]]:
        """Return the whole static graph."""
        rows = self.database.execute("SELECT s, p, o FROM static").fetchall()
        return [_known(*row, streamed=False)[:3] for row in rows]

    def _window(self, start: int, end: int) -> tuple[DataTriple, ...]:
        """Return the triples of the stream with a time from [start, end), in the order of the log."""
        sql = "SELECT DISTINCT s, p, o, s_id, p_id, o_id FROM stream WHERE t >= ? AND t < ? ORDER BY s_id, p_id, o_id"
        rows = self.database.execute(sql, [start, end]).fetchall()
        return tuple(_known(*row[:3], streamed=True) for row in rows)

    def _around(self, thing: Iri) -> tuple[DataTriple, ...]:
        """Return the static triples with a thing at one of their ends."""
        number = term_id(term_text(thing))
        sql = f"SELECT s, p, o FROM static WHERE s_id = ? OR o_id = ? ORDER BY p_id, s_id, o_id LIMIT {_MOST}"
        return tuple(_known(*row, streamed=False) for row in self.database.execute(sql, [number, number]).fetchall())

    def _at_end(self, end: int, predicate: str, streamed: bool) -> tuple[Iri, ...]:  # noqa: FBT001
        """Return the distinct subjects (0) or objects (1) of a predicate that are IRIs, in order."""
        column, view = "so"[end], "stream" if streamed else "static"
        sql = f"SELECT DISTINCT {column} FROM {view} WHERE p = ? ORDER BY {column}"
        found = (decode(row[0]) for row in self.database.execute(sql, [f"<{predicate}>"]).fetchall())
        return tuple(term for term in found if isinstance(term, Iri))


def _known(s: str, p: str, o: str, *, streamed: bool) -> DataTriple:
    subject, predicate, object_ = decode(s), decode(p), decode(o)
    assert isinstance(subject, Iri), f"generated worlds have no blank nodes, got {s}"
    assert isinstance(predicate, Iri), p
    assert isinstance(object_, Iri | Literal), o
    return DataTriple(subject, predicate, object_, streamed)
