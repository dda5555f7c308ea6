"""Spark Structured Streaming as the driver: the same units, in both placements, also after a restart.

HYDROGRAPH_SPARK_HISTORIES sets how many random histories run in each placement; a failure names its seed.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from live_histories import History, random_history, replayed

from hydrograph import api
from hydrograph.bench.live.site import QUERY, STREAM, Site
from hydrograph.live.files import LocalFiles
from hydrograph.live.inputs import Input
from hydrograph.live.member import Member
from hydrograph.live.query import LiveQuery
from hydrograph.live.reading import reachable_inputs
from hydrograph.live.runner import Runner
from hydrograph.live.settings import Driver, Settings
from hydrograph.live.sink import read_units
from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.sources.registry import open_source
from hydrograph.live.status import read_status
from hydrograph.live.structured import StructuredDriver, query_error
from hydrograph.live.watermark import Lateness
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import spark as spark_placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import plan
from hydrograph.streams.static import StaticGraphs

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


@pytest.mark.spark
def test_a_query_that_outgrows_the_driver_moves_to_spark(tmp_path: Path, spark: SparkSession) -> None:
    site = Site(tmp_path, seed=7, files=5)
    query = api.query(QUERY)
    settings = Settings(
        checkpoint=str(tmp_path / "checkpoint"),
        results=str(tmp_path / "results"),
        lateness=Lateness(delay=300),
        session=spark,
        local_bytes=1,
    )
    live = LiveQuery(
        plan(query.algebra, query.profile, None),
        query.algebra.name or "query",
        [(Iri(STREAM), str(tmp_path / "in"))],
        StaticGraphs(),
        settings,
    )
    assert live.status()["placement"] == "local"
    site.give(3)
    live.start()
    placements = set()
    for _ in range(600):
        placements.add(live.status()["placement"])
        if placements >= {"spark"} and live.status()["reports"]:
            break
        assert not live.wait(0.1)
    site.give(site.files)
    assert live.wait(120)
    assert live.status()["placement"] == "spark"
    assert read_status(str(tmp_path / "checkpoint"))["placement"] == "spark"
    assert site.found() == site.expected()


HISTORIES = int(os.environ.get("HYDROGRAPH_SPARK_HISTORIES", "20"))
QUICK = [("local", 1), ("spark", 5)]
"""A placement and a seed each that also run in the quick tests."""


def through_spark(history: History, placed: Local | Spark, session: SparkSession, root: Path) -> list[str]:
    """Return what Structured Streaming makes of a history: it cuts into batches as it finds what has come so far."""
    rng = Random(f"spark {history.case.seed}")
    inputs, logs = [], []
    for number, stream in enumerate(history.streams):
        logs.append(str(root / f"log{number}"))
        inputs.append(Input(stream, open_source(stream, "push:", LocalFiles(Path(logs[-1])))))
    by_stream = {each.stream: each.source for each in inputs}
    results, checkpoint = LocalFiles(root / "results"), LocalFiles(root / "checkpoint")
    runner = Runner(Member(history.stepper(placed)), inputs, checkpoint, results, about={"query": "query"})
    runner.open()
    reachable = reachable_inputs(inputs, ["push:"] * len(inputs), logs, "fail")
    driver = StructuredDriver(runner, inputs, reachable, session, root / "spark")
    query = driver.start()
    try:
        for arrivals in history.arrivals():
            for arrival in arrivals:
                source = by_stream[arrival.stream]
                assert isinstance(source, LoggedSource)
                # As the case numbers them: what replay says of an element is said of the same one.
                source.log.append(arrival.events, arrival.end)
            time.sleep(rng.choice((0.0, 0.0, 0.3)))  # so that Spark sees some alone, and some together
        for source in by_stream.values():
            assert isinstance(source, LoggedSource)
            source.finish()
        deadline = time.monotonic() + 120
        while not runner.is_over:
            if not query.isActive:
                raise query_error(query)
            assert time.monotonic() < deadline, f"seed {history.case.seed} does not end"
            driver.tick()
            time.sleep(0.02)
    finally:
        driver.stop(query)
        results.close()
        checkpoint.close()
    elements = sum(len(history.case.elements[stream]) for stream in history.streams)
    counts = runner.members["query"].record.counts
    assert (counts.total, counts.late_partial, counts.late_dropped) == (elements, 0, 0), history.case.seed
    return [text for _, text in read_units(results, runner.segments)]


def check(seed: int, placement: str, session: SparkSession, root: Path) -> int:
    history = random_history(seed)
    with Local(threads=1, small=True) as local, Spark(session, moving=True) as spark:
        expected = replayed(history.case, local)
        local.forget()
        found = through_spark(history, spark if placement == "spark" else local, session, root)
    assert found == expected, f"seed {seed}, {placement}\n{history.case}"
    return len(found)


@pytest.mark.spark
@pytest.mark.parametrize(("placement", "seed"), QUICK)
def test_a_random_history_gives_on_spark_what_replay_gives(
    placement: str, seed: int, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_placement, "_SMALL", 0)  # as windows of many rows
    assert check(seed, placement, spark, tmp_path)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("placement", ["local", "spark"])
def test_random_histories_give_on_spark_what_replay_gives(placement: str, tmp_path: Path, spark: SparkSession) -> None:
    reports = sum(check(seed, placement, spark, tmp_path / str(seed)) for seed in range(HISTORIES))
    assert reports > HISTORIES
