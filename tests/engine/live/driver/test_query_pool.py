"""Query pool: queries on Spark are evaluated in parallel, and each reports what replay does."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hydrograph import api
from hydrograph.errors import RunError
from hydrograph.live.driver.batch_loop import QueryPool
from hydrograph.live.step.records import ResultUnit
from tests.support.kill_harness import QUERY, STREAM, Site

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_remote_queries_run_in_parallel_and_fail_separately() -> None:
    both = threading.Barrier(2, timeout=20)

    def meets() -> str:
        both.wait()  # fails unless the other one runs at the same time
        return threading.current_thread().name

    def fails() -> str:
        meets()
        raise RunError("no more memory")

    pool = QueryPool()
    try:
        for _ in range(2):
            results = pool.start({"a": meets, "b": fails}, remote={"a", "b"})
            assert results["a"]()[0].startswith("hydrograph-query")
            with pytest.raises(RunError, match="no more memory"):
                results["b"]()
    finally:
        pool.close()
    alone = pool.start({"a": lambda: threading.current_thread().name}, remote={"a"})
    assert alone["a"]()[0] == threading.current_thread().name


@pytest.mark.spark
def test_parallel_queries_on_spark_report_what_replay_does(tmp_path: Path, spark: SparkSession) -> None:
    site = Site(tmp_path, seed=5, files=4)
    units: dict[str, list[str]] = defaultdict(list)

    def take(unit: ResultUnit) -> None:
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


@pytest.mark.spark
def test_text_constants_of_a_query_on_spark(tmp_path: Path, spark: SparkSession) -> None:
    """Text constants of a filter are parameters beside the times of a batch, and do not change with it."""
    kept = 'CONTAINS(STR(?b), "x") && STR(?b) != "x3"'
    text = f"""SELECT ?b FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 2s STEP 1s]
        {{ WINDOW <urn:w> {{ ?a <urn:p> ?b FILTER({kept}) }} }}"""
    found: list[tuple[int, int]] = []
    live = api.query(text).start(
        {"urn:s": "push:"},
        checkpoint=tmp_path / "checkpoint",
        placement="spark",
        session=spark,
        on_unit=lambda unit: found.append((unit.report.t, len(unit.report.rows))),
    )
    for t in range(0, 4000, 500):
        live.streams["urn:s"].send(t, f'<urn:a> <urn:p> "{"x" if t % 1000 else "y"}{t // 500}" .')
    live.streams["urn:s"].end()
    assert live.wait(300)
    assert found == [(2000, 1), (3000, 1), (4000, 2), (5000, 1)]
