"""Spark Structured Streaming as the driver: the same units, in both placements, also after a restart.

HYDROGRAPH_SPARK_HISTORIES sets how many random histories run in each placement in the slow tests; a failure names its
seed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import psutil
import pytest

from hydrograph import api
from hydrograph.live.checkpoint import batch_commit as journal
from hydrograph.live.driver import batch_loop as runner
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.driver.spark_driver import SparkDriver, query_error
from hydrograph.live.driver.spark_source import locate_sources
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.query import LiveQuery
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.settings import Driver, ProgressTracking, Settings
from hydrograph.live.sources.inputs import Input
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.source import PartitionLocator, SourceSpec
from hydrograph.live.status import read_status
from hydrograph.live.step.records import InputBatch, Lateness
from hydrograph.live.step.step import Stepper
from hydrograph.live.storage import input_log as log
from hydrograph.live.storage.files import LocalFiles
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import spark as spark_placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import plan
from hydrograph.streams.static_graphs import StaticGraphs
from tests.support.kill_harness import QUERY, STREAM, Site
from tests.support.live_histories import History, random_history, replayed
from tests.support.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("placement", ["local", "spark"])
def test_spark_drives_the_batch_loop_and_a_restart_resumes(tmp_path: Path, spark: SparkSession, placement: str) -> None:
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
def test_spark_reads_pushed_elements_from_a_truncated_log(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SEGMENT_BYTES", 4_000)
    for module in (journal, runner):
        monkeypatch.setattr(module, "KEPT_BATCHES", 2)
    site = Site(tmp_path, seed=4, files=8)
    site.lines.sort(key=lambda line: int(line.partition("\t")[0]))
    settings = {
        "checkpoint": tmp_path / "checkpoint",
        "results": tmp_path / "results",
        "driver": Driver.SPARK,
        "placement": "local",
        "session": spark,
    }
    live = api.query(QUERY).start({STREAM: "push:"}, **settings)
    for at in range(0, 60, 3):
        before = live.status()["batch"]
        live.streams[STREAM].send_lines(site.lines[at : at + 3])
        until(lambda before=before: live.status()["batch"] > before, 60, lambda: not live.wait(0))  # type: ignore[misc]
    live.stop()
    first = min((tmp_path / "checkpoint" / "sources").rglob("*.log"))
    assert int(first.name.partition(".")[0]) > 0
    live = api.query(QUERY).start({STREAM: "push:"}, **settings)
    live.streams[STREAM].send_lines(site.lines[60:])
    live.streams[STREAM].end()
    assert live.wait(120)
    assert site.found() == site.expected()
    assert [each.name for each in (tmp_path / "checkpoint" / "spark").iterdir()] == [f"{2:08d}"]


def command_line(process: psutil.Process) -> str:
    """Return the command line of a process; an empty one if it has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return " ".join(process.cmdline())
    return ""


@pytest.mark.spark
def test_the_streaming_query_restarts_when_its_planning_process_dies(tmp_path: Path, spark: SparkSession) -> None:
    site = Site(tmp_path, seed=6, files=6)
    settings = {
        "checkpoint": tmp_path / "checkpoint",
        "results": tmp_path / "results",
        "lateness": 300,
        "driver": Driver.SPARK,
        "placement": "local",
        "session": spark,
    }
    live = api.query(QUERY).start({STREAM: "push:"}, **settings)
    live.streams[STREAM].send_lines(site.lines[:30])
    until(lambda: live.status()["batch"] > 0, 60, lambda: not live.wait(0))
    processes = psutil.Process().children(recursive=True)
    looking = [each for each in processes if "python_streaming_source_runner" in command_line(each)]
    assert looking
    for each in looking:
        each.kill()
    live.streams[STREAM].send_lines(site.lines[30:])
    live.streams[STREAM].end()
    assert live.wait(120)
    assert live.status()["restarts"] >= 1
    assert "streaming query restarted" in live.status()["restarted"]
    assert site.found() == site.expected()


@pytest.mark.spark
def test_spark_reads_results_of_another_query_with_synchronous_progress(tmp_path: Path, spark: SparkSession) -> None:
    site = Site(tmp_path, seed=5, files=4)
    site.give(4)
    made = """REGISTER RSTREAM <urn:made> AS CONSTRUCT { ?a <urn:at> ?room }
    FROM NAMED WINDOW <urn:w> ON <http://example.org/visits> [RANGE 1s STEP 1s]
    { WINDOW <urn:w> { ?a <http://example.org/detectedAt> ?room } }"""
    making = api.query(made).start(
        {STREAM: str(tmp_path / "in")}, checkpoint=tmp_path / "making", results=tmp_path / "results", lateness=300
    )
    assert making.wait(60)
    units: list[str] = []
    count = """SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:made> [RANGE 2s STEP 2s]
    { WINDOW <urn:w> { ?s ?p ?o } }"""
    live = api.query(count).start(
        {"urn:made": f"results:{tmp_path / 'results'}"},
        checkpoint=tmp_path / "checkpoint",
        driver=Driver.SPARK,
        progress=ProgressTracking.SYNC,
        placement="local",
        session=spark,
        on_unit=lambda unit: units.append(unit.text),
    )
    until(lambda: len(units) >= 2, 60, lambda: not live.wait(0))
    live.stop()
    own = tmp_path / "checkpoint" / "spark" / f"{1:08d}" / f"{0:04d}" / "progress"
    batches = {each.name for each in (own / "offsets").iterdir() if each.name.isdigit()}
    assert "0" in batches
    # Written with each batch: a batch that is stopped in the middle has no commit.
    commits = {each.name for each in (own / "commits").iterdir() if each.name.isdigit()}
    assert len(batches) - len(commits) <= 1
    assert live.status()["used"] == len(site.found())


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
QUICK = 20
"""Random histories of few batches that run in the quick tests, each fourth of them with Spark as its placement."""
ONE_BY_ONE = 24
"""That of them, of twelve elements, which comes element by element."""


@dataclass(slots=True)
class Lane:
    """A history beside others in one driver: a query with partitions of its own, and what replay makes of it."""

    history: History
    placed: Local | Spark
    root: Path
    expected: list[str]
    inputs: list[Input] = field(init=False)

    def __post_init__(self) -> None:
        """Open a log for each stream; the number of the partition keeps streams of one name apart."""
        self.inputs = []
        for stream in self.history.streams:
            files = LocalFiles(Path(self.log_of(stream)))
            source = SourceSpec(stream=stream, url="push:", bad="fail")
            locator = PartitionLocator(source, number=self.history.case.seed, log=self.log_of(stream))
            self.inputs.append(Input(locator, open_partition(stream, "push:", files)))

    def log_of(self, stream: Iri) -> str:
        return str(self.root / f"{self.history.case.seed} {self.history.streams.index(stream)}")

    @property
    def name(self) -> str:
        return name_of(self.history)

    def member(self) -> RegisteredQuery:
        partitions = tuple(each.name for each in self.inputs)
        registered = replace(self.history.registered(), name=self.name, partitions=partitions)
        return RegisteredQuery(Stepper(registered, self.history.static(), EvaluationChoice(self.placed)))

    def send(self, arrivals: Sequence[InputBatch]) -> None:
        by_stream = {each.stream: each.reader for each in self.inputs}
        for arrival in arrivals:
            source = by_stream[arrival.stream]
            assert isinstance(source, LoggedPartition)
            # Numbered as in the case, so that replay and live count the same elements.
            source.log.append(arrival.events, arrival.end)

    def finish(self) -> None:
        for each in self.inputs:
            assert isinstance(each.reader, LoggedPartition)
            each.reader.finish()


def name_of(history: History) -> str:
    return f"query{history.case.seed}"


def through_spark(lanes: Sequence[Lane], session: SparkSession, root: Path, hasty: Random | None = None) -> int:
    """Run histories side by side on Structured Streaming and compare with replay; return the number of reports.

    Elements sent together are one batch, unless `hasty`: then Spark decides which it reads together.
    """
    inputs = [each for lane in lanes for each in lane.inputs]
    results, checkpoint = LocalFiles(root / "results"), LocalFiles(root / "checkpoint")
    many = BatchLoop(lanes[0].member(), inputs, checkpoint, results, about={"query": lanes[0].name})
    many.open()
    for lane in lanes[1:]:
        many.add(lane.member())
    begun = many.batch.number
    reachable = locate_sources(inputs)
    driver = SparkDriver(many, inputs, reachable, session, root / "spark")
    query = driver.start()
    deadline = time.monotonic() + 600

    def wait(done: Callable[[], bool]) -> None:
        while not done():
            if not query.isActive:
                raise driver.failure or query_error(query)
            assert time.monotonic() < deadline, "it does not come to its end"
            driver.tick()
            time.sleep(0.005)

    def caught_up() -> bool:
        return all(many.batch.end.get(each.name, 0) == each.reader.end() for each in inputs)

    try:
        batches = [*zip_longest(*(lane.history.arrivals() for lane in lanes), fillvalue=())]
        for together in batches:
            for lane, arrivals in zip(lanes, together, strict=True):
                lane.send(arrivals)
            if hasty is None or hasty.random() < 0.5:
                wait(caught_up)
        for lane in lanes:
            lane.finish()
        wait(lambda: many.is_over)
    finally:
        driver.stop(query)
        many.close()
        results.close()
        checkpoint.close()
    if hasty is None:
        assert many.batch.number - begun >= sum(map(any, batches)), "an element sent alone was not a batch of its own"
    units = [*read_units(results, many.segments)]
    for lane in lanes:
        seed, case = lane.history.case.seed, lane.history.case
        elements = sum(len(case.elements[stream]) for stream in lane.history.streams)
        counts = many.queries[lane.name].record.counts
        assert (counts.total, counts.late_partial, counts.late_dropped) == (elements, 0, 0), seed
        found = [text for key, text in units if key.query == lane.name]
        assert found == lane.expected, f"seed {seed}, {type(lane.placed).__name__}\n{case}"
    return len(units)


@contextmanager
def laid(
    histories: Sequence[History], session: SparkSession, root: Path, on_spark: Callable[[int], bool]
) -> Iterator[list[Lane]]:
    """Lay histories side by side, each in a place of its own."""
    with ExitStack() as stack:
        replay = stack.enter_context(Local(threads=1, small=True))
        lanes = []
        for history in histories:
            where: Local | Spark
            if on_spark(history.case.seed):
                where = stack.enter_context(Spark(session, moving=True))
            else:
                where = stack.enter_context(Local(threads=1, small=True))
            expected = replayed(history.case, replay, name_of(history))
            lanes.append(Lane(history, where, root, expected))
        yield lanes


@pytest.mark.spark
@pytest.mark.slow
def test_random_histories_side_by_side_give_on_spark_what_replay_gives(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_placement, "_SMALL", 0)  # as windows of many rows
    drawn = (random_history(seed) for seed in range(100))
    every = [*islice((history for history in drawn if 3 <= len(history.batches) <= 9), QUICK)]
    on_spark = {history.case.seed for history in every[::4]}
    at = [history.case.seed for history in every].index(ONE_BY_ONE)
    every[at] = random_history(ONE_BY_ONE, one_by_one=True)
    assert [sum(map(len, batch.values())) for batch in every[at].batches] == [1] * 12
    with laid(every, spark, tmp_path, on_spark.__contains__) as lanes:
        assert [type(lane.placed) for lane in lanes].count(Spark) == QUICK // 4
        assert through_spark(lanes, spark, tmp_path) > QUICK


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("placement", ["local", "spark"])
def test_random_histories_give_on_spark_what_replay_gives(placement: str, tmp_path: Path, spark: SparkSession) -> None:
    every = [random_history(seed) for seed in range(HISTORIES)]
    with laid(every, spark, tmp_path, lambda _: placement == "spark") as lanes:
        assert through_spark(lanes, spark, tmp_path, Random(placement)) > HISTORIES
