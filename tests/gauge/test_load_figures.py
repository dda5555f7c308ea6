"""The loads of YABench's experiments: triples in a window of five seconds, as its published result files have them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from hydrograph.streams.formats.parquet import Manifest
from hydrograph_gauge.worlds.sensors.settings import SensorSettings
from hydrograph_gauge.worlds.sensors.world import WORLD
from hydrograph_gauge.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.parametrize(
    ("stations", "published"),
    [
        (50, 1_750),
        pytest.param(1_000, 35_021, marks=pytest.mark.slow),
        pytest.param(10_000, 350_098, marks=pytest.mark.slow),
    ],
)
def test_windows_hold_what_yabench_published(
    spark: SparkSession, tmp_path: Path, stations: int, published: int
) -> None:
    write_world(spark, WORLD, SensorSettings(stations=stations, interval=1000, duration=15_000), tmp_path / "w")
    place = tmp_path / "w" / "sensors"
    files = [str(place / name) for name in Manifest.read(place).files]
    asked = f"SELECT count(*) FROM read_parquet({files!r}) GROUP BY t // 5000"
    with duckdb.connect() as database:
        windows = database.execute(asked).fetchall()
    assert len(windows) == 3
    assert all(abs(count - published) <= published / 1000 for (count,) in windows), windows
