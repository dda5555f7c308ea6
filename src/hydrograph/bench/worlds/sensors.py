"""The bars of the weather stations: triples in a window, exact periods, disorder that is there and is told."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from hydrograph.bench.worlds.checks import Check, cost_of_size, same_at_any_partition_count
from hydrograph.streams.formats.parquet import Manifest
from hydrograph.worlds.sensors.settings import Sensors
from hydrograph.worlds.sensors.world import WORLD
from hydrograph.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WINDOW = 5000
_PROCEDURE = "<http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#procedure>"


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of the stream of 50 stations with an observation a second, and of one in disorder."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
        steady = Path(directory) / "steady"
        write_world(spark, WORLD, Sensors(stations=50, interval=1000, duration=30_000), steady)
        files = _files(steady)
        windows = [n for _, n in _ask(f"SELECT t // {_WINDOW} AS w, count(*) FROM e GROUP BY w ORDER BY w", files)]
        said = f"{windows} triples in windows of 5 s"
        yield Check("sensors: s=50, i=1 s gives 1,750 triples a window", windows == [1750] * 6, said)
        lag = f"SELECT t - lag(t) OVER (PARTITION BY o ORDER BY t) AS gap FROM e WHERE p = '{_PROCEDURE}'"
        found = {gap for (gap,) in _ask(f"SELECT DISTINCT gap FROM ({lag}) WHERE gap IS NOT NULL", files)}
        yield Check("sensors: each station is exactly periodic", found == {1000}, f"gaps of {sorted(found)} ms")

        shaken = Path(directory) / "shaken"
        settings = Sensors(
            stations=200, interval=1000, duration=60_000, late=0.1, disorder=0.2, duplicates=0.05, per="observation"
        )
        manifest = write_world(spark, WORLD, settings, shaken)
        files = _files(shaken)
        total = manifest.streams["sensors"].elements
        before = "ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        behind = f"SELECT t < max(t) OVER ({before}) AS behind FROM (SELECT DISTINCT t, seq FROM e)"
        overtaken = _ask(f"SELECT count(*) FROM ({behind}) WHERE behind", files)[0][0]
        twice = _ask("SELECT count(*) FROM e WHERE t_next = t AND p LIKE '%procedure>'", files)[0][0]
        first = total - twice
        close = abs(twice / first - 0.05) < 0.01 and 0.15 * total < overtaken < 0.35 * total
        said = f"{overtaken} of {total} elements overtaken, {twice} arrive twice"
        yield Check("sensors: late, overtaken and repeated shares", close, said)
    settings_ = {"stations": 20, "interval": 1000, "duration": 20_000, "late": 0.2, "duplicates": 0.1}
    yield same_at_any_partition_count(spark, "sensors", (1, 2, 7), **settings_)
    yield cost_of_size(spark, WORLD, "stations", _minutes(100), _minutes(1_000))


def _minutes(stations: int) -> Sensors:
    return Sensors(stations=stations, interval=1000, duration=1_200_000)


def _files(world: Path) -> list[str]:
    place = world / "sensors"
    return [str(place / name) for name in Manifest.read(place).files]


def _ask(query: str, files: list[str]) -> list[tuple[int, ...]]:
    with duckdb.connect() as database:
        database.execute("CREATE VIEW e AS SELECT * FROM read_parquet($files)".replace("$files", repr(files)))
        return database.execute(query).fetchall()
