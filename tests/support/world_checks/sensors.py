"""The bars of the weather stations: triples in a window, exact periods, disorder that is there and is told."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from hydrograph.streams.formats.parquet import Manifest
from hydrograph_gauge.worlds.sensors.settings import SensorSettings
from hydrograph_gauge.worlds.sensors.world import WORLD
from hydrograph_gauge.worlds.writer import write_world
from tests.support.world_checks.checks import (
    Check,
    PublishedFigure,
    compare_figure,
    cost_of_size,
    flat_memory,
    measure,
    same_at_any_partition_count,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WINDOW = 5000
PUBLISHED = "YABench, result files of experiment 1, windows of 5 s"
PUBLISHED_WINDOWS = {1_000: 35_021, 10_000: 350_098}
"""Triples in a window of 5 s by stations with an observation a second; a player's windows have a few too many."""
_PROCEDURE = "<http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#procedure>"
_MEMORY = "1g"
_NEAR = 0.2
_SHAKEN = SensorSettings(stations=200, interval=1000, duration=60_000, late=0.1, disorder=0.2, duplicates=0.05)


@dataclass(frozen=True, slots=True)
class Shaken:
    """What was seen of the disorder of a stream: elements in all, and of them those that came late or twice."""

    elements: int
    far: int
    """Behind the newest element before them by more than disorder alone can make them."""
    near: int
    """Behind it by less."""
    twice: int


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of the stream of 50 stations with an observation a second, and of one in disorder."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
        steady = Path(directory) / "steady"
        write_world(spark, WORLD, SensorSettings(stations=50, interval=1000, duration=30_000), steady)
        yield from periods(_files(steady))
        for stations, published in PUBLISHED_WINDOWS.items():
            many = Path(directory) / str(stations)
            write_world(spark, WORLD, SensorSettings(stations=stations, interval=1000, duration=10_000), many)
            counted = _ask("SELECT count(*) FROM e WHERE t < 5000", _files(many))[0][0]
            yield compare_figure(
                f"sensors: triples a window, {stations:,} stations", published, counted, 0.01, PUBLISHED
            )
        shaken = Path(directory) / "shaken"
        write_world(spark, WORLD, _SHAKEN, shaken)
        yield from shares(look(_files(shaken)))
    settings_ = {"stations": 20, "interval": 1000, "duration": 20_000, "late": 0.2, "duplicates": 0.1}
    yield same_at_any_partition_count(spark, "sensors", (1, 2, 7), **settings_)
    yield cost_of_size(spark, WORLD, "stations", _minutes(100), _minutes(1_000))


def check_memory(spark: SparkSession) -> Iterator[Check]:
    """Yield whether ten times the stations take about the same memory, in processes of their own; `spark` is unused."""
    del spark
    given = ["--interval", "1s", "--duration", "20m"]
    small, large = (measure("sensors", ["--stations", str(stations), *given], _MEMORY) for stations in (100, 1_000))
    yield flat_memory("sensors, 100 to 1,000 stations", small, large)


def periods(files: list[str]) -> Iterator[Check]:
    """Yield the checks of a steady stream of half a minute."""
    windows = [n for _, n in _ask(f"SELECT t // {_WINDOW} AS w, count(*) FROM e GROUP BY w ORDER BY w", files)]
    said = f"{windows} triples in windows of 5 s"
    figure = PublishedFigure(1750, sum(windows) / len(windows), PUBLISHED)
    yield Check("sensors: s=50, i=1 s gives 1,750 triples a window", windows == [1750] * 6, said, figure=figure)
    lag = f"SELECT t - lag(t) OVER (PARTITION BY o ORDER BY t) AS gap FROM e WHERE p = '{_PROCEDURE}'"
    found = {gap for (gap,) in _ask(f"SELECT DISTINCT gap FROM ({lag}) WHERE gap IS NOT NULL", files)}
    yield Check("sensors: each station is exactly periodic", found == {1000}, f"gaps of {sorted(found)} ms")


def look(files: list[str]) -> Shaken:
    """Return what the log of a stream shows of its disorder."""
    before = "ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    behind = f"SELECT max(t) OVER ({before}) - t AS behind FROM (SELECT DISTINCT t, seq FROM e)"
    most = _SHAKEN.disorder_by
    counts = f"count(*), count(*) FILTER (behind > {most}), count(*) FILTER (behind > 0 AND behind <= {most})"
    elements, far, near = _ask(f"SELECT {counts} FROM ({behind})", files)[0]
    twice = _ask(f"SELECT count(*) FROM e WHERE t_next = t AND p = '{_PROCEDURE}'", files)[0][0]
    return Shaken(elements, far, near, twice)


def shares(seen: Shaken) -> Iterator[Check]:
    """Yield whether each kind of disorder has its share; most of the late ones are later than disorder explains."""
    late, disorder = _SHAKEN.late, _SHAKEN.disorder
    far, near, twice = seen.far / seen.elements, seen.near / seen.elements, seen.twice / (seen.elements - seen.twice)
    said = f"{seen.far} of {seen.elements} elements more than {_SHAKEN.disorder_by} ms behind ({far:.1%})"
    yield Check(f"sensors: {late:.0%} are late", abs(far / late - 1) < _NEAR, said)
    # Who is late and overtaken is counted as late.
    said = f"{seen.near} of {seen.elements} elements behind by less ({near:.1%})"
    asked = disorder * (1 - late)
    yield Check(f"sensors: {disorder:.0%} are overtaken", abs(near / asked - 1) < _NEAR, said)
    said = f"{seen.twice} of {seen.elements - seen.twice} observations ({twice:.1%})"
    yield Check(f"sensors: {_SHAKEN.duplicates:.0%} arrive twice", abs(twice / _SHAKEN.duplicates - 1) < _NEAR, said)


def _minutes(stations: int) -> SensorSettings:
    return SensorSettings(stations=stations, interval=1000, duration=1_200_000)


def _files(world: Path) -> list[str]:
    place = world / "sensors"
    return [str(place / name) for name in Manifest.read(place).files]


def _ask(query: str, files: list[str]) -> list[tuple[int, ...]]:
    with duckdb.connect() as database:
        database.execute("CREATE VIEW e AS SELECT * FROM read_parquet($files)".replace("$files", repr(files)))
        return database.execute(query).fetchall()
