"""Spark Structured Streaming as the driver: the same units, in both placements, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph import api
from hydrograph.bench.live.site import QUERY, STREAM, Site
from hydrograph.live.query import Driver
from hydrograph.live.sink import read_units

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("placement", ["local", "spark"])
def test_spark_drives_the_step_and_a_restart_goes_on(tmp_path: Path, spark: SparkSession, placement: str) -> None:
    site = Site(tmp_path, seed=3, files=10)
    site.give(6)
    settings = {
        "checkpoint": tmp_path / "checkpoint",
        "results": tmp_path / "results",
        "lateness": 300,
        "placement": placement,
        "driver": Driver.SPARK,
        "session": spark,
    }
    live = api.query(QUERY).start({STREAM: str(tmp_path / "in")}, **settings)
    for _ in range(900):
        if live.status()["reports"] > 1 or live.wait(0.1):
            break
    live.stop()
    first = live.status()["reports"]
    assert first > 1
    assert live.status()["placement"] == placement
    site.give(site.files)
    live = api.query(QUERY).start({STREAM: str(tmp_path / "in")}, **settings)
    assert live.wait(120)
    assert live.status()["reports"] > first
    assert site.found() == site.expected()
    assert len({key for key, _ in read_units(live.results)}) == len(site.found())  # type: ignore[arg-type]


@pytest.mark.spark
def test_sent_elements_come_through_spark(tmp_path: Path, spark: SparkSession) -> None:
    units: list[str] = []
    live = api.query(QUERY).start(
        {STREAM: "push:"},
        checkpoint=tmp_path / "checkpoint",
        driver=Driver.SPARK,
        placement="local",
        session=spark,
        on_unit=lambda unit: units.append(unit.text),
    )
    site = Site(tmp_path, seed=4, files=3)
    site.lines.sort(key=lambda line: int(line.partition("\t")[0]))
    stream = live.streams[STREAM]
    for line in site.lines:
        stream.send_lines([line])
    stream.end()
    assert live.wait(120)
    assert units == site.expected()
