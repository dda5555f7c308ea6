"""The Python interface, in both placements and in a session of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import hydrograph
import hydrograph_gauge
from hydrograph.errors import UsageError
from hydrograph.runtime.reports import digest
from hydrograph.streams.formats.parquet import write_arrow
from hydrograph.streams.sources import events_as_arrow, open_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://example.org/building"
ROOMS = Path(hydrograph_gauge.__file__).parent / "workloads" / "rooms"


def text(name: str) -> str:
    return (ROOMS / f"{name}.rq").read_text("utf-8")


@pytest.mark.parametrize("name", ["meet", "mean", "hot"])
def test_text_and_parquet_give_the_same_reports(name: str, tmp_path: Path) -> None:
    source = open_stream(str(ROOMS / "building.tnt"), name=STREAM)
    write_arrow(events_as_arrow(source), tmp_path / "building", salt=source.salt)
    query = hydrograph.query(text(name))
    with query.over(source, ROOMS / "building.nt", placement="local") as run:
        from_text = list(run.reports())
    with query.over(tmp_path / "building", ROOMS / "building.nt", placement="local") as run:
        assert list(run.reports()) == from_text
    assert sum(bool(report.rows) for report in from_text) > 3


def test_pandas_has_a_row_for_each_answer() -> None:
    with hydrograph.query(text("mean")).over(ROOMS / "building.tnt", ROOMS / "building.nt") as run:
        frame = run.pandas()
    assert list(frame.columns) == ["open", "close", "t", "room", "n", "mean"]
    assert len(frame) == 18


def test_streams_must_be_given() -> None:
    with pytest.raises(UsageError, match=r"no stream is given for <http://example\.org/building>"):
        hydrograph.query(text("meet")).over({"urn:other": ROOMS / "building.tnt"}).__enter__()


@pytest.mark.spark
def test_both_placements_agree_and_the_session_stays(spark: SparkSession, tmp_path: Path) -> None:
    source = open_stream(str(ROOMS / "building.tnt"), name=STREAM)
    write_arrow(events_as_arrow(source), tmp_path / "building", salt=source.salt)
    views = len(spark.catalog.listTables())
    for name in ("meet", "mean"):
        query = hydrograph.query(text(name))
        with query.over(source, ROOMS / "building.nt", placement="local") as run:
            local = list(run.reports())
        for streams in (source, tmp_path / "building"):
            with query.over(streams, ROOMS / "building.nt", session=spark) as run:
                assert list(run.reports()) == local
                assert list(run.digests()) == list(map(digest, local))
                frame = run.frame()
                assert frame.columns == ["open", "close", "t", *run.plan.variables]
                assert frame.count() == sum(len(report.rows) for report in local)
    assert len(spark.catalog.listTables()) == views
    assert spark.sql("SELECT 1").count() == 1


def test_a_run_that_is_not_open_says_how_to_open_it() -> None:
    run = hydrograph.query(text("mean")).over(ROOMS / "building.tnt", ROOMS / "building.nt", placement="local")
    with pytest.raises(UsageError, match="with query"):
        run.reports()
    with run:
        assert list(run.reports())
    with pytest.raises(UsageError, match="with query"):
        run.pandas()
