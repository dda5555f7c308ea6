"""Several queries in one driver, evaluated side by side on Spark: each reports what replay does."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph import api
from hydrograph.bench.live.site import QUERY, STREAM, Site
from hydrograph.live.units import Unit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_queries_side_by_side_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    site = Site(tmp_path, seed=5, files=4)
    units: dict[str, list[str]] = defaultdict(list)

    def take(unit: Unit) -> None:
        units[unit.key.query].append(unit.report.json("any", 1))

    live = api.query(QUERY).start(
        {STREAM: str(tmp_path / "in")},
        checkpoint=tmp_path / "checkpoint",
        lateness=300,
        placement="spark",
        session=spark,
        on_unit=take,
    )
    for name in ("second", "third"):
        live.add(QUERY, name=name)
    site.give(site.files)
    assert live.wait(300)
    with api.query(QUERY).over({STREAM: str(tmp_path / "in")}, placement="local") as run:
        expected = [report.json("any", 1) for report in run.reports()]
    assert len(units) == 3
    assert len(expected) > 3
    assert all(found == expected for found in units.values())
