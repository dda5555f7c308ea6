"""What Spark reads, and how far, without Spark: from where our record ends, any source, and not all of a backlog."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from hydrograph import api
from hydrograph.live.driver.spark_driver import SparkDriver, own_directory
from hydrograph.live.driver.spark_source import SPARK_ROWS, PublishedOffsets, locate_sources, read_range
from hydrograph.live.query import LiveQuery
from hydrograph.live.storage import input_log as log
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.object_store import RemoteFiles
from tests.support.kill_harness import QUERY, STREAM, Site

COUNT = """SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:made> [RANGE 2s STEP 2s]
{ WINDOW <urn:w> { ?s ?p ?o } }"""
MADE = """REGISTER RSTREAM <urn:made> AS CONSTRUCT { ?a <urn:at> ?room }
FROM NAMED WINDOW <urn:w> ON <http://example.org/visits> [RANGE 1s STEP 1s]
{ WINDOW <urn:w> { ?a <http://example.org/detectedAt> ?room } }"""


@dataclass(slots=True)
class Asking:
    """Spark as far as a driver knows it: it asks how far it may read, reads, and calls with what it has read."""

    live: LiveQuery
    url: str
    driver: SparkDriver = field(init=False)
    at: dict[str, int] = field(init=False)
    read: list[int] = field(init=False, default_factory=list)
    """Rows of each batch."""

    def __post_init__(self) -> None:
        """Take the checkpoint, as a driver does."""
        live = self.live
        live.loop.open()
        reachable = locate_sources(live.inputs)
        with own_directory(live.checkpoint, live.loop.epoch) as directory:
            self.driver = SparkDriver(live.loop, live.inputs, reachable, cast("Any", None), directory)
        self.at = self.driver.first()

    def trigger(self) -> bool:
        """Read what may be read, in a process that knows nothing but files; return whether there was anything."""
        self.driver.tick()
        ends = PublishedOffsets(self.driver.directory).read(self.at)
        found = [
            rows
            for each in self.driver.locators
            for rows in read_range(each, self.at[str(each.number)], ends[str(each.number)])
            if self.at[str(each.number)] < ends[str(each.number)]
        ]
        self.at, before = ends, self.at
        if ends != before:
            self.read.append(sum(each.num_rows for each in found))
            table = pa.Table.from_batches(found, SPARK_ROWS)
            self.driver.batch(cast("Any", SimpleNamespace(toArrow=lambda: table)))
        return ends != before

    def to_the_end(self) -> None:
        """Read until the query is over."""
        for _ in range(1_000):
            if self.live.loop.is_over:
                self.live.close()
                return
            self.trigger()
        pytest.fail("it does not come to its end")


def asking(root: Path, url: str, text: str = QUERY, stream: str = STREAM, **settings: Any) -> Asking:
    settings = {"checkpoint": root / "checkpoint", "results": root / "results", "placement": "local", **settings}
    return Asking(api.query(text).live({stream: url}, **settings), url)


def test_spark_resumes_after_the_last_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SEGMENT_BYTES", 4_000)
    site = Site(tmp_path, seed=3, files=12)
    lines = sorted(site.lines, key=lambda line: int(line.partition("\t")[0]))
    first = asking(tmp_path, "push:")
    for line in lines[:90]:
        first.live.streams[STREAM].send_lines([line])
        assert first.trigger()
    first.live.close()
    kept = min((tmp_path / "checkpoint" / "sources").rglob("*.log"))
    assert int(kept.name.partition(".")[0]) > 0  # the log has forgotten its beginning
    second = asking(tmp_path, "push:")
    assert second.at == {"0": first.driver.loop.batch.end[STREAM]}
    assert not second.trigger()
    second.live.streams[STREAM].send_lines(lines[90:])
    second.live.streams[STREAM].end()
    second.to_the_end()
    assert site.found() == site.expected()


def test_committed_files_of_a_directory_are_not_read_again(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=4, files=12)
    site.give(10)
    first = asking(tmp_path, str(tmp_path / "in"), lateness=300)
    while first.trigger():
        pass
    first.live.close()
    for file in sorted((tmp_path / "in").glob("000[01]*")):
        file.unlink()  # before all windows that are open
    site.give(2)
    second = asking(tmp_path, str(tmp_path / "in"), lateness=300)
    assert second.at == {"0": 10}
    second.to_the_end()
    assert sum(second.read) == 20
    assert site.found() == site.expected()


def test_spark_reads_the_results_of_another_query(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=5, files=4)
    site.give(4)
    making = asking(tmp_path, str(tmp_path / "in"), MADE, lateness=300)
    making.to_the_end()
    assert len(site.found()) > 3
    reading = asking(tmp_path / "second", f"results:{tmp_path / 'results'}", COUNT, "urn:made")
    while reading.trigger():
        pass
    reading.live.close()
    assert sum(reading.read) > 20
    assert reading.driver.loop.batch.end == {"urn:made": len(site.found())}
    assert reading.driver.loop.queries["query"].record.reports > 1


@pytest.mark.parametrize("url", ["push:", "in"])
def test_a_backlog_is_read_in_bounded_batches(url: str, tmp_path: Path) -> None:
    site = Site(tmp_path, seed=6, files=12)
    lines = sorted(site.lines, key=lambda line: int(line.partition("\t")[0]))
    asked = asking(tmp_path, url if url == "push:" else str(tmp_path / url), lateness=300)
    asked.live.loop.most_rows = 25
    if url == "push:":
        for at in range(0, len(lines), 5):
            asked.live.streams[STREAM].send_lines(lines[at : at + 5])
        asked.live.streams[STREAM].end()
        expected = [25] * 4 + [20]
    else:
        site.give(12)
        expected = [10] + [20] * 5 + [10]  # one file shows how many rows files have
    asked.to_the_end()
    assert asked.read == expected
    assert site.found() == site.expected()


def test_spark_directories_of_earlier_drivers_are_removed(tmp_path: Path) -> None:
    for epoch in (1, 2, 4):
        (tmp_path / "spark" / f"{epoch:08d}" / "progress").mkdir(parents=True)
    with own_directory(LocalFiles(tmp_path), 3) as directory:
        assert directory == tmp_path / "spark" / "00000003"
    assert [each.name for each in (tmp_path / "spark").iterdir()] == [
        "00000004"
    ]  # that of a driver after this one is not touched


def test_spark_has_a_local_directory_if_the_checkpoint_is_remote(tmp_path: Path) -> None:
    with own_directory(RemoteFiles(SubTreeFileSystem(str(tmp_path), LocalFileSystem()), ""), 3) as directory:
        PublishedOffsets(directory).publish({"0": 5})
        assert PublishedOffsets(directory).read({"0": 3, "1": 4}) == {"0": 5, "1": 4}
    assert not directory.exists()
    assert not [*tmp_path.iterdir()]
