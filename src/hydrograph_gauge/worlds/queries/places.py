"""Where the data of a query is: its streams and the static graphs of a generated world, or those of its set."""

from __future__ import annotations

from pathlib import Path

from hydrograph_gauge.worlds.manifest import WorldManifest
from hydrograph_gauge.worlds.queries.load import SetQuery


def streams_of(query: SetQuery, directory: Path) -> dict[str, Path]:
    """Return the streams of a world that a query reads, by IRI."""
    streams = WorldManifest.read(directory).streams
    return {str(streams[name].iri): directory / streams[name].path for name in query.about.streams}


def static_graphs(directory: Path) -> dict[str | None, Path]:
    """Return the static data of a world as its default graph (None), and under the name that queries have for it."""
    static = WorldManifest.read(directory).static
    if static is None:
        return {}
    place = directory / static.path
    return {None: place} if static.iri is None else {None: place, static.iri: place}
