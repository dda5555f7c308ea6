"""The data of a test: a world that is generated once and kept, one that is there, or files; always as Parquet.

Generated worlds and files that were read are kept in a folder under a name that tells all that went into them, so that
tests, repetitions and resumed runs share them.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from hydrograph.atomic_files import atomic_path
from hydrograph.errors import DataError, RunError, UsageError
from hydrograph.rdf.terms import Iri
from hydrograph.streams.formats import parquet
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.sources import PARQUET, BadLines, RecordedStream, bounds, events_as_arrow, open_stream
from hydrograph.streams.static_graphs import read_graphs
from hydrograph.windows.stream import Element
from hydrograph_gauge.experiments.model import WorldTable
from hydrograph_gauge.experiments.options import Progress, ignore_progress
from hydrograph_gauge.oracle.dataset import elements_of
from hydrograph_gauge.oracle.job import RecordedInput
from hydrograph_gauge.worlds.manifest import MANIFEST, WorldManifest

DEFAULT = "default"
"""The name of the default graph where static data is given."""
_WORDS = 2_000


@dataclass(frozen=True, slots=True)
class ExperimentData:
    """Streams by IRI and static graphs by IRI (None: the default graph), as Parquet and as N-Triples."""

    streams: Mapping[str, RecordedStream]
    static: Mapping[str | None, str]
    triples: Mapping[str | None, str]
    """The static graphs as files of N-Triples, for engines."""
    world: Path | None = None
    """The folder of a generated world."""
    stream_names: Mapping[str, str] | None = None
    """The IRIs of a generated world's streams by their names in it."""

    @property
    def recorded(self) -> RecordedInput:
        """What the oracle reads."""
        return RecordedInput(self.streams, self.static)


def prepare_data(world: WorldTable, seed: int, cache: Path, progress: Progress = ignore_progress) -> ExperimentData:
    """Return the data of a test; what has to be made is made below `cache`."""
    if world.name is not None:
        settings = {"seed": seed, **world.settings}
        data = _world(generate_once(("generate", world.name), settings, cache, MANIFEST, progress), cache)
    elif world.folder is not None:
        data = _world(world.folder, cache)
    elif world.streams:
        data = _given(world, cache)
    else:
        raise UsageError("a test needs data: a world by name, a folder of one, or streams")
    if world.stream is not None:
        data = _rename_stream(data, world.stream)
    return data if world.duration is None else cut_streams(data, world.duration, cache)


def _rename_stream(data: ExperimentData, iri: str) -> ExperimentData:
    """Return the data with its only stream under another IRI, or raise UsageError if there are several."""
    if len(data.streams) != 1:
        raise UsageError(f"expected a world of one stream to call {iri}, got {', '.join(data.streams)}")
    (stream,) = data.streams.values()
    names = None if data.stream_names is None else dict.fromkeys(data.stream_names, iri)
    return replace(data, streams={iri: replace(stream, name=iri)}, stream_names=names)


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def generate_once(
    command: tuple[str, ...], settings: Mapping[str, Any], cache: Path, manifest: str, progress: Progress
) -> Path:
    """Return the folder that a command of Hydrograph makes with these settings; it is made once.

    In a process of its own, so that Spark's memory is free again when engines run.
    """
    folder = cache / f"{command[-1]}-{_digest(command, settings)}"
    if not (folder / manifest).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        shown = " ".join(format_options({key: value for key, value in settings.items() if key != "data"}))
        progress(f"hydrograph {' '.join(command)} {shown}")
        line = [sys.executable, "-m", "hydrograph", *command, str(folder), *format_options(settings)]
        ran = subprocess.run(line, capture_output=True, text=True, check=False)
        if ran.returncode:
            words = ran.stderr.strip()[-_WORDS:]
            raise RunError(f"hydrograph {' '.join(command)} failed: {words}")
    return folder


def format_options(settings: Mapping[str, Any]) -> Iterator[str]:
    """Return settings as options.

    >>> list(format_options({"max_users": 5, "static": False, "rate": {"posts": 10}}))
    ['--max-users=5', '--no-static', '--rate=posts=10']
    """
    for key, value in settings.items():
        name = key.replace("_", "-")
        if isinstance(value, bool):
            yield f"--{name}" if value else f"--no-{name}"
        elif isinstance(value, Mapping):
            yield from (f"--{name}={one}={each}" for one, each in value.items())
        elif isinstance(value, list | tuple):
            yield f"--{name}={','.join(map(str, value))}"
        else:
            yield f"--{name}={value}"


def _world(folder: Path, cache: Path) -> ExperimentData:
    manifest = WorldManifest.read(folder)
    streams, names = {}, {}
    for name, part in manifest.streams.items():
        assert part.iri is not None, "streams have names"
        streams[part.iri] = open_stream(str(folder / part.path), name=part.iri)
        names[name] = part.iri
    sources: list[tuple[str | None, str]] = []
    if manifest.static is not None:
        # Some queries read it as the default graph, others by its name.
        names_of_static = dict.fromkeys((None, manifest.static.iri))
        sources = [(name, str(folder / manifest.static.path)) for name in names_of_static]
    known = _digest(manifest.world, manifest.checksum, [name for name, _ in sources])
    static, triples = _statics(sources, cache / f"static-{known}")
    return ExperimentData(streams, static, triples, folder, names)


def _given(world: WorldTable, cache: Path) -> ExperimentData:
    streams = {}
    for iri, place in world.streams.items():
        stream = open_stream(place, name=iri, time=world.time, format=world.format)
        if stream.format != PARQUET:
            target = cache / f"stream-{_digest(iri, world.time, _stamps(stream.files))}"
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                parquet.write_arrow(events_as_arrow(stream), target, salt=stream.salt)
            stream = open_stream(str(target), name=iri)
        streams[iri] = stream
    sources = [(None if name == DEFAULT else name, place) for name, place in world.static.items()]
    places = [str(file) for _, place in sources for file in _files(Path(place))]
    static, triples = _statics(sources, cache / f"static-{_digest(sorted(world.static), _stamps(places))}")
    return ExperimentData(streams, static, triples)


def _files(place: Path) -> list[Path]:
    if not place.exists():
        raise DataError(f"{place}: no such file or directory")
    return sorted(file for file in place.iterdir() if file.is_file()) if place.is_dir() else [place]


def _stamps(files: Any) -> list[tuple[str, int, int]]:
    return [(str(file), (found := Path(file).stat()).st_size, found.st_mtime_ns) for file in files]


def _statics(
    sources: list[tuple[str | None, str]], folder: Path
) -> tuple[dict[str | None, str], dict[str | None, str]]:
    """Return static graphs as Parquet and as N-Triples, written once."""
    if not sources:
        return {}, {}
    names = folder / "names.json"
    if not names.exists():
        graphs = read_graphs(sources)
        tables: dict[str | None, pa.Table] = {} if graphs.default is None else {None: graphs.default}
        tables |= {name[1:-1]: table for name, table in (graphs.named or {}).items()}
        with atomic_path(folder) as partial:
            partial.mkdir(parents=True)
            for number, table in enumerate(tables.values()):
                pq.write_table(table, partial / f"{number}.parquet")
                with (partial / f"{number}.nt").open("w", encoding="utf-8") as out:
                    columns = (table.column(name).to_pylist() for name in ("s", "p", "o"))
                    out.writelines(f"{s} {p} {o} .\n" for s, p, o in zip(*columns, strict=True))
            (partial / names.name).write_text(json.dumps(list(tables)), "utf-8")
    found = list(enumerate(json.loads(names.read_text("utf-8"))))
    return (
        {name: str(folder / f"{number}.parquet") for number, name in found},
        {name: str(folder / f"{number}.nt") for number, name in found},
    )


def cut_streams(data: ExperimentData, duration: int, cache: Path) -> ExperimentData:
    """Return the data with the first `duration` milliseconds of its streams, counted from the first event of all."""
    known = [found.first for stream in data.streams.values() if (found := bounds(stream)).first is not None]
    end = min(known, default=0) + duration
    streams = {}
    for iri, stream in data.streams.items():
        place = cache / f"cut-{_digest(iri, stream.location, end)}.parquet"
        if not place.exists():
            rows = ds.dataset(list(stream.files), schema=EVENTS, format="parquet").to_table(filter=ds.field("t") < end)
            with atomic_path(place) as partial:
                pq.write_table(rows, partial)
        streams[iri] = replace(stream, location=str(place), files=(str(place),), manifest=None)
    return replace(data, streams=streams)


def open_recorded(name: str, location: str) -> RecordedStream:
    """Return a stream that was recorded as Parquet: a file, or the folder of a world's stream."""
    path = Path(location)
    if not path.exists():
        raise DataError(f"{location}: the stream that was played is gone; play it again")
    if path.is_dir():
        return open_stream(location, name=name)
    return RecordedStream(location, name, PARQUET, (location,), "", BadLines())


@lru_cache(maxsize=8)
def read_elements(name: str, location: str) -> tuple[Element, ...]:
    """Return the elements of a stream; those of the streams asked for last are kept."""
    return elements_of(open_recorded(name, location))


def resolve_stream_names(data: ExperimentData) -> dict[str, Iri]:
    """Return the streams by all names that an experiment may call them."""
    found = {iri: Iri(iri) for iri in data.streams}
    return found | {name: Iri(iri) for name, iri in (data.stream_names or {}).items()}
