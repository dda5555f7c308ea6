"""Small worlds written by hand, in the files of generated ones: what reads worlds can be tested without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq

from hydrograph.streams.formats import parquet
from hydrograph.streams.sources import events_as_arrow, open_stream
from hydrograph.streams.static_graphs import read_static
from hydrograph_gauge.worlds.manifest import ManifestPart, WorldManifest
from hydrograph_gauge.worlds.world import find_world


def write_by_hand(
    folder: Path, world: str, iri: str, streamed: Iterable[tuple[int, str]], static: Iterable[str] = ()
) -> Path:
    """Write a world with one stream, of times and statements, and with static statements; return its folder."""
    (folder / "stream.tnt").write_text("".join(f"{t}\t{line}\n" for t, line in streamed))
    stream = parquet.write_arrow(events_as_arrow(open_stream(str(folder / "stream.tnt"))), folder / world, salt="")
    graph = None
    if static:
        (folder / "static.nt").write_text("".join(f"{line}\n" for line in static))
        table = read_static(str(folder / "static.nt"))
        (folder / "static").mkdir()
        pq.write_table(table, folder / "static" / "part-00000.parquet")
        name = find_world(world).graph
        graph = _part("static", name, table.num_rows, table.num_rows, ("part-00000.parquet",))
    part = _part(world, iri, stream.rows, stream.elements, stream.files, stream.first, stream.last)
    settings = {"seed": 1}
    manifest = WorldManifest(hydrograph="", world=world, seed=1, settings=settings, static=graph, streams={world: part})
    manifest.write(folder)
    return folder


def _part(
    path: str,
    iri: str | None,
    triples: int,
    elements: int,
    files: tuple[str, ...],
    first: int | None = None,
    last: int | None = None,
) -> ManifestPart:
    return ManifestPart(
        path=path, iri=iri, triples=triples, elements=elements, first=first, last=last, checksum="", files=files
    )
