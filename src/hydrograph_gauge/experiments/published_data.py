"""Data of a published run: copied as Parquet, or described so that it can be generated again, with checksums.

A stream or static graph that `hydrograph generate` made, and that is larger than a limit, is described by its world,
its settings and its seed; everything else is copied. The checksum of the rows does not depend on their order or on how
Parquet stores them, so that it also holds for data that was generated again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import duckdb
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from hydrograph.errors import DataError
from hydrograph_gauge.experiments.data import ExperimentData, format_options, prepare_data
from hydrograph_gauge.experiments.model import WorldTable
from hydrograph_gauge.experiments.options import Progress
from hydrograph_gauge.experiments.run_folder import PlayedRun
from hydrograph_gauge.validation import find_invalid_field

DATA = "data"
DATA_FILE = "data/data.json"
LARGEST = 100
"""Megabytes up to which generated data is copied."""
_MEGABYTE = 1 << 20


class DataRecipe(BaseModel):
    """How to generate data: a world by name, its settings, and a seed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str
    settings: Mapping[str, Any] = {}
    seed: int
    duration: int | None = None
    """Milliseconds of the streams from the first element on; None: all."""

    @property
    def command(self) -> str:
        """The command that generates the world."""
        settings = {"seed": self.seed, **self.settings}
        return " ".join(["hydrograph generate", self.world, "DIR", *format_options(settings)])


class PublishedData(BaseModel):
    """One stream or static graph of a published run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["stream", "static"]
    iri: str
    """The name in queries; empty: the default graph."""
    file: str
    """Parquet in the published folder, a file or a folder of files; absent unless `included`."""
    included: bool
    triples: int
    checksum: str
    """Number of rows, and the sums modulo 2**64 of both halves of the MD5 of each row: times, terms."""
    recipe: DataRecipe | None = None
    command: str = ""
    """The command that generates it, if there is a recipe."""


_DATA: TypeAdapter[list[PublishedData]] = TypeAdapter(list[PublishedData])


def checksum_rows(place: Path, kind: Literal["stream", "static"]) -> tuple[int, str]:
    """Return the number of rows of a stream or graph in Parquet, and their checksum, whatever their order."""
    files = [str(file) for file in list_parquet(place)]
    if not files:
        return 0, "0 0000000000000000 0000000000000000"
    columns = ["t", "seq", "s", "p", "o"] if kind == "stream" else ["s", "p", "o"]
    line = "concat_ws(chr(9), " + ", ".join(f"CAST({name} AS VARCHAR)" for name in columns) + ")"
    found = duckdb.execute(
        f"SELECT count(*), sum(md5_number_lower({line})), sum(md5_number_upper({line})) FROM read_parquet($files)",
        {"files": files},
    ).fetchone()
    assert found is not None
    rows, lower, upper = (int(each or 0) for each in found)
    return rows, f"{rows} {lower % 2**64:016x} {upper % 2**64:016x}"


def list_parquet(place: Path) -> list[Path]:
    """Return the Parquet files of a stream: the file itself, or those below a folder."""
    return sorted(place.rglob("*.parquet")) if place.is_dir() else [place]


def find_recipe(world: WorldTable, seed: int) -> DataRecipe | None:
    """Return how to generate the data of a test; None where its data was given as files."""
    if world.name is None:
        return None
    settings = {key: value for key, value in world.settings.items() if key != "seed"}
    return DataRecipe(
        world=world.name, settings=settings, seed=int(world.settings.get("seed", seed)), duration=world.duration
    )


def publish_data(
    records: Iterable[tuple[PlayedRun, DataRecipe | None]], target: Path, largest: float
) -> tuple[list[PublishedData], dict[tuple[str, str], str]]:
    """Copy or describe all data of some runs; return the entries, and the published file by kind and location."""
    entries: list[PublishedData] = []
    files: dict[tuple[str, str], str] = {}
    known: dict[tuple[str, str, str], None] = {}
    for record, recipe in records:
        parts: list[tuple[Literal["stream", "static"], str, str]] = [
            *(("stream", iri, location) for iri, location in record.streams.items()),
            *(("static", iri, location) for iri, location in record.static.items()),
        ]
        for kind, iri, location in parts:
            if (kind, iri, location) in known:
                continue
            known[kind, iri, location] = None
            place = Path(location)
            if not place.exists():
                raise DataError(f"{location}: the data that was played is gone; run the experiment again")
            if (kind, location) not in files:
                number = len({file for (other, _), file in files.items() if other == kind})
                files[kind, location] = f"{DATA}/{kind}-{number}{'' if place.is_dir() else '.parquet'}"
                size = sum(file.stat().st_size for file in list_parquet(place))
                if recipe is None or size <= largest * _MEGABYTE:
                    _copy(place, target / files[kind, location])
            file = files[kind, location]
            rows, checksum = checksum_rows(place, kind)
            entries.append(
                PublishedData(
                    kind=kind,
                    iri=iri,
                    file=file,
                    included=(target / file).exists(),
                    triples=rows,
                    checksum=checksum,
                    recipe=recipe,
                    command="" if recipe is None else recipe.command,
                )
            )
    (target / DATA).mkdir(exist_ok=True)
    (target / DATA_FILE).write_text(json.dumps([each.model_dump(mode="json") for each in entries], indent=1) + "\n")
    return entries, files


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*"))
        return
    shutil.copyfile(source, target)
    if (text := source.with_suffix(".nt")).exists():  # static graphs lie beside their text
        shutil.copyfile(text, target.with_suffix(".nt"))


def read_published_data(folder: Path) -> list[PublishedData]:
    """Return the data entries of a published folder, or raise DataError."""
    try:
        return _DATA.validate_json((folder / DATA_FILE).read_bytes())
    except FileNotFoundError:
        raise DataError(
            f"{folder} holds no published run: expected {DATA_FILE} in it, as `hydrograph bench publish` writes it"
        ) from None
    except ValidationError as error:
        raise DataError(f"{folder / DATA_FILE}: {find_invalid_field(error)}") from None


def locate_data(
    folder: Path, entries: Sequence[PublishedData], cache: Path, progress: Progress
) -> tuple[dict[str, str], list[str]]:
    """Return where the data of a published folder lies on this machine, by its file, and what is wrong with it.

    What is not in the folder is generated below `cache`.
    """
    places: dict[str, str] = {}
    wrong: list[str] = []
    for entry in entries:
        place = folder / entry.file
        if not entry.included:
            if entry.recipe is None:
                raise DataError(f"{folder / DATA_FILE}: {entry.file} is not included and has no recipe")
            progress(f"{entry.file}: {entry.command}")
            place = Path(_generated(entry, entry.recipe, cache, progress))
        elif not place.exists():
            raise DataError(f"{place}: no such file; the published folder is not complete")
        _, checksum = checksum_rows(place, entry.kind)
        if checksum != entry.checksum:
            wrong.append(f"{entry.file}: rows have the checksum {checksum}, expected {entry.checksum}")
        places[entry.file] = str(place.resolve())
    return places, wrong


def _generated(entry: PublishedData, recipe: DataRecipe, cache: Path, progress: Progress) -> str:
    world = WorldTable(name=recipe.world, settings=recipe.settings, duration=recipe.duration)
    data: ExperimentData = prepare_data(world, recipe.seed, cache, progress)
    if entry.kind == "stream":
        return data.streams[entry.iri].location
    # A query set may give the only static graph another name; the world itself has it as the default graph.
    return data.static[entry.iri or None] if (entry.iri or None) in data.static else data.static[None]
