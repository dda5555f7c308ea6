"""Writer of worlds: encoded Parquet files of fixed size, text formats on request, and the manifest last.

Rows are assigned to files by key (streams by time, the static graph by ranges of subject ids) and sorted within a file.
So the files do not depend on the number of tasks, and a task holds at most one file's worth of narrow rows.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from hydrograph import __version__
from hydrograph.errors import DataError, UsageError
from hydrograph.rdf.encoding import EVENT_COLUMNS, TRIPLE_COLUMNS, salt_of, term_id
from hydrograph.rdf.xsd import Kind
from hydrograph.streams.formats import parquet
from hydrograph_gauge.worlds import stream_files as texts
from hydrograph_gauge.worlds.manifest import MANIFEST, ManifestPart, WorldManifest
from hydrograph_gauge.worlds.settings import Settings
from hydrograph_gauge.worlds.spark import constant_numbers, to_bigint
from hydrograph_gauge.worlds.stream_files import FileBoundaries, WrittenFiles, write_files
from hydrograph_gauge.worlds.world import ArrayEncoding, StreamPlan, World

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_MEMORY = "1GB"
_HASHES = """
SELECT {place}_id AS id, min(hash({place})) AS low, max(hash({place})) AS high FROM read_parquet({files}) GROUP BY id
"""
_CLASH = "SELECT id FROM ({terms}) GROUP BY id HAVING min(low) <> max(high) LIMIT 1"
_TEXTS = "SELECT DISTINCT {place} AS text FROM read_parquet({files}) WHERE {place}_id = {id}"


def check_id_collisions(parts: Sequence[Sequence[Path]], spill: Path) -> None:
    """Raise DataError if two terms in the files of a world have the same id.

    Ids are hashes of the terms' texts: queries would treat two terms with one id as equal. DuckDB spills to the
    directory `spill` when memory is short.
    """
    given = [[str(file) for file in files] for files in parts if files]
    if not given:
        return
    with duckdb.connect() as database:
        database.execute(f"SET memory_limit = '{_MEMORY}'; SET preserve_insertion_order = false")
        database.execute("SET temp_directory = ?", [str(spill)])
        # Each column is grouped separately, because it has few distinct values.
        terms = [_HASHES.format(place=place, files=files) for files in given for place in "spo"]
        clash = database.execute(_CLASH.format(terms=" UNION ALL ".join(terms))).fetchone()
        if clash is None:
            return
        texts = [_TEXTS.format(place=place, files=files, id=clash[0]) for files in given for place in "spo"]
        found = database.execute(" UNION ".join(texts) + " ORDER BY text").fetchall()
    shown = " and ".join(text[:200] for (text,) in found[:2])
    raise DataError(f"{shown} have the same 64-bit id: generate with another --seed")


ROWS_PER_FILE = parquet.ROWS_PER_FILE
MOST_CELLS = 2**16
"""Largest number of time cells in which rows are counted to split a stream into files."""
STATIC = "static"
SPILL = ".spill"
FILES = "settings"
"""Directory for copies of the files that settings name."""
_KINDS = max(Kind) + 1
_SALTS = (term_id("checksum a"), term_id("checksum b"))
_OPTIONS = {
    "compression": "zstd",
    "parquet.block.row.count.limit": str(parquet.ROWS_PER_GROUP),
    # Ids and positions seldom recur; trying a dictionary for them costs time and memory.
    **{f"parquet.enable.dictionary#{name}": "false" for name in ("seq", "s_id", "o_id")},
}

_CONF = {
    # Rows are narrow: checking the batch size after each one takes an eighth of the time.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    # Cached rows are read once, and random numbers do not compress.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
}

_S = TypeVar("_S", bound=Settings)
Step = Callable[[str], None]


def write_world(
    spark: SparkSession,
    world: World[_S],
    settings: _S,
    target: Path,
    *,
    forms: Sequence[str] = (),
    force: bool = False,
    step: Step = lambda _: None,
) -> WorldManifest:
    """Generate a world into the directory `target` atomically, and return its manifest.

    `step` is called with the name of each step as it starts.
    """
    if unknown := set(forms) - set(world.texts):
        raise UsageError(f"{world.name} has no text format {min(unknown)}; choose from {', '.join(world.texts)}")
    _make_way(target, force=force)
    partial = target.parent / f".{target.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    before = {name: spark.conf.get(name) for name in _CONF}
    try:
        for name, value in _CONF.items():
            spark.conf.set(name, value)
        files = _copied(settings, partial)
        step("planning")
        plan = world.generate(spark, settings)
        streams: dict[str, ManifestPart] = {}
        static = None
        try:
            if plan.static is not None:
                step("static data")
                static = _write_static(plan.static, plan.static_about, partial, forms, world.graph)
            for stream in plan.streams:
                step(stream.name)
                streams[stream.name] = _write_stream(stream, partial, forms, step)
        finally:
            plan.done()
        step("checking ids")
        check_id_collisions(
            [[partial / part.path / name for name in part.files] for part in _parts(static, streams)], partial / SPILL
        )
        shutil.rmtree(partial / SPILL, ignore_errors=True)
        manifest = WorldManifest(
            hydrograph=__version__,
            world=world.name,
            seed=settings.seed,
            settings=settings.model_dump(mode="json") | {name: str(place) for name, place in files.items()},
            static=static,
            streams=streams,
            files={name: sha256((partial / place).read_bytes()).hexdigest() for name, place in files.items()},
        )
        manifest.write(partial)
        shutil.rmtree(target, ignore_errors=True)
        partial.rename(target)
    finally:
        for name, known in before.items():
            spark.conf.set(name, str(known))
        shutil.rmtree(partial, ignore_errors=True)
    return WorldManifest.read(target)


def _copied(settings: Settings, directory: Path) -> dict[str, Path]:
    """Copy the files that settings name, so that a world is self-contained, and return the relative paths."""
    given = {name: value for name, value in settings if isinstance(value, Path)}
    places = {name: Path(FILES) / name / file.name for name, file in given.items()}
    for name, place in places.items():
        (directory / place).parent.mkdir(parents=True)
        try:
            shutil.copyfile(given[name], directory / place)
        except OSError as error:
            raise DataError(f"{given[name]}: {error.strerror}") from error
    return places


def _parts(static: ManifestPart | None, streams: Mapping[str, ManifestPart]) -> list[ManifestPart]:
    return [*streams.values(), *([] if static is None else [static])]


def add_next_times(events: DataFrame) -> DataFrame:
    """Return rows of the encoded schema with `t_next` filled, for a world that cannot derive when a triple recurs.

    It shuffles whole rows; do the same on narrower ones where speed matters.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    same = Window.partitionBy("s_id", "p_id", "o_id").orderBy("t", "seq")
    return events.withColumn("t_next", F.lead("t").over(same)).select(*EVENT_COLUMNS)


def hash_rows(*columns: str) -> list[Column]:
    """Return two independent hashes of a logical row, from its times and the ids of its terms."""
    from pyspark.sql import functions as F  # noqa: N812

    values = [F.col(name) for name in columns]
    return [F.xxhash64(*to_bigint(salt, *values)) for salt in _SALTS]


def _write_stream(stream: StreamPlan, directory: Path, forms: Sequence[str], step: Step) -> ManifestPart:
    from pyspark.sql import functions as F  # noqa: N812

    time = stream.expand.time if isinstance(stream.expand, ArrayEncoding) else F.col("t")
    starts = _starts(stream.elements, stream.span) if stream.starts is None else list(stream.starts)
    part = FileBoundaries.of(starts).column(time) if starts else F.lit(0)
    placed = stream.elements.repartitionById(max(1, len(starts)), part)
    place = directory / stream.name
    if isinstance(stream.expand, ArrayEncoding):
        written = write_files(placed, stream.expand, place, _SALTS)
        elements = written.rows
    else:
        written, elements = _write_expanded(stream.expand, placed, place)
    files = written.files
    manifest = parquet.Manifest(
        version=parquet.VERSION,
        rows=written.rows,
        elements=elements,
        first=written.first,
        last=written.last,
        blanks=written.blanks,
        kinds=tuple(kind for kind in range(_KINDS) if written.kinds >> kind & 1),
        t_next=True,
        salt=salt_of(stream.iri),
        files=files,
    )
    manifest.write(place)
    lines = []
    for form in forms:
        step(f"{stream.name} as {form}")
        lines.append(texts.write_stream(form, stream, place, manifest, directory))
    return ManifestPart(
        path=stream.name,
        iri=stream.iri,
        triples=manifest.rows,
        elements=manifest.elements,
        first=manifest.first,
        last=manifest.last,
        checksum=_checksum(written.sums),
        files=files,
        texts=tuple(lines),
    )


def _write_expanded(
    expand: Callable[[DataFrame], DataFrame], placed: DataFrame, place: Path
) -> tuple[WrittenFiles, int]:
    """Write the rows that Spark expands from elements, and return their summary and the number of elements."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    seen, made = Observation(), Observation()
    expanded = expand(placed.observe(made, F.count("*").alias("elements")))
    # Empty columns may have a narrower type.
    wide = {name: F.col(name).cast("bigint") for name in ("t", "seq", "t_next")}
    rows = expanded.select(*(wide[name].alias(name) if name in wide else F.col(name) for name in EVENT_COLUMNS))
    rows = rows.sortWithinPartitions("p_id", "t", "seq", "s_id", "o_id")
    blank = (F.col("o_kind") == 1) | F.startswith(F.col("s"), F.lit("_"))
    kinds = constant_numbers([1 << kind for kind in range(_KINDS)], "int")
    rows = rows.observe(
        seen,
        *_sums("t", "seq", "s_id", "p_id", "o_id"),
        F.min("t").alias("first"),
        F.max("t").alias("last"),
        F.coalesce(F.bool_or(blank), F.lit(False)).alias("blanks"),  # noqa: FBT003
        F.coalesce(F.bit_or(F.get(kinds, F.col("o_kind").cast("int"))), F.lit(0)).alias("kinds"),
    )
    files = tuple(parquet.write_parts(rows, place, _OPTIONS))
    known = seen.get
    return WrittenFiles(
        files=files,
        rows=known["rows"],
        first=known["first"],
        last=known["last"],
        blanks=known["blanks"],
        kinds=known["kinds"],
        sums=_whole(known),
    ), made.get["elements"]


def _write_static(
    triples: DataFrame, about: float | None, directory: Path, forms: Sequence[str], graph: str | None
) -> ManifestPart:
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812

    files = max(1, math.ceil((triples.count() if about is None else about) / ROWS_PER_FILE))
    # The upper half of an id, from [0, 2**32): ranges of ids are ranges of it.
    upper = F.shiftrightunsigned(F.col("s_id"), 32)
    placed = triples.select(*TRIPLE_COLUMNS).repartitionById(files, F.shiftright(upper * F.lit(files), 32).cast("int"))
    seen = Observation()
    rows = placed.sortWithinPartitions("p_id", "s_id", "o_id").observe(seen, *_sums("s_id", "p_id", "o_id"))
    place = directory / STATIC
    names = tuple(parquet.write_parts(rows, place, _OPTIONS))
    known = seen.get
    return ManifestPart(
        path=STATIC,
        iri=graph,
        triples=known["rows"],
        elements=known["rows"],
        checksum=_checksum(_whole(known)),
        files=names,
        texts=texts.write_static(forms, place, names),
    )


def _starts(elements: DataFrame, span: tuple[int, int] | None) -> list[int]:
    """Return the first times of the files, so that no time is in two files and files have about equal numbers of rows.

    Rows are counted per time cell, so the driver receives a bounded number of counts for any stream.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if span is None:
        seen = elements.agg(F.min("t").alias("first"), F.max("t").alias("last")).collect()[0]
        if seen["first"] is None:
            return []
        span = seen["first"], seen["last"]
    first, last = span
    width = (last - first) // MOST_CELLS + 1
    triples = F.sum("n") if "n" in elements.columns else F.count("*")
    cell = F.floor((F.col("t") - F.lit(first)) / F.lit(width)).alias("cell")
    counted = elements.groupBy(cell).agg(triples.cast("bigint").alias("n")).orderBy("cell").toArrow()
    times = first + counted["cell"].to_numpy() * width
    return [start for start, _ in parquet.ranges(times, counted["n"].to_numpy(), ROWS_PER_FILE)]


def _sums(*columns: str) -> list[Column]:
    """Return the row count and the sums of both hashes, each in two halves, because a sum of BIGINTs may overflow."""
    from pyspark.sql import functions as F  # noqa: N812

    sums = [F.count("*").alias("rows")]
    for name, hashed in zip("ab", hash_rows(*columns), strict=True):
        low, high = hashed.bitwiseAND(F.lit(0xFFFFFFFF)), F.shiftrightunsigned(hashed, 32)
        sums += [F.sum(low).alias(f"{name}_low"), F.sum(high).alias(f"{name}_high")]
    return sums


def _whole(sums: dict[str, Any]) -> tuple[int, ...]:
    """Return both sums modulo 2**64."""
    return tuple(((sums[f"{name}_low"] or 0) + ((sums[f"{name}_high"] or 0) << 32)) % 2**64 for name in "ab")


def _checksum(sums: tuple[int, ...]) -> str:
    """Return both sums in hexadecimal digits."""
    return "".join(f"{one:016x}" for one in sums)


def _make_way(target: Path, *, force: bool) -> None:
    """Raise UsageError if `target` exists and must not be replaced; only a generated world is ever replaced."""
    if not target.exists():
        return
    if not force:
        raise UsageError(f"{target} exists: choose another name or use --force")
    if not (target / MANIFEST).is_file():
        raise UsageError(f"{target} is not a generated world: remove it yourself")
