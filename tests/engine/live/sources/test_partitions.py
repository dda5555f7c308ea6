"""Sources with several partitions: one URL, a reader and an offset for each partition, the same reports as replay."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hydrograph import api
from hydrograph.errors import RunError, UsageError
from hydrograph.live.query import LiveQuery
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.sources import registry
from hydrograph.live.sources.registry import open_partition, reopen
from hydrograph.live.storage.files import LocalFiles
from hydrograph.rdf.terms import Iri
from tests.support.memory_source import TOPICS, TestingSource, Topic

STREAM = "urn:stream"
QUERY = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"
KEYS = ("a", "b", "c")
TIMES = range(0, 9000, 250)


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Topic:
    """Return an empty topic of three partitions, which queries find at `memory:topic`."""
    kind = (lambda url: url.startswith("memory:"), TestingSource, "memory:TOPIC")
    monkeypatch.setattr(registry, "SOURCES", (kind, *registry.SOURCES))
    made = Topic({key: [] for key in KEYS})
    monkeypatch.setitem(TOPICS, "topic", made)
    return made


def send(topic: Topic, times: range) -> None:
    """Send elements to the partitions in turn."""
    for t in times:
        topic.send(KEYS[t // 250 % 3], t, f"<urn:s{t % 7}>", "<urn:p>", f"<urn:o{t % 3}>")


def replay(tmp_path: Path) -> list[str]:
    """Return the reports of the same elements, recorded in one file."""
    file = tmp_path / "all.tnt"
    file.write_text("".join(f"{t}\t<urn:s{t % 7}> <urn:p> <urn:o{t % 3}> .\n" for t in TIMES))
    with api.query(QUERY).over(str(file), placement="local") as run:
        return [report.json("query") for report in run.reports()]


def live(tmp_path: Path, url: str = "memory:topic") -> LiveQuery:
    return api.query(QUERY).live(
        {STREAM: url}, checkpoint=tmp_path / "checkpoint", results=tmp_path / "results", lateness=60_000
    )


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "the condition never held"
        time.sleep(0.005)


def test_a_query_over_three_partitions_restarts_and_equals_replay(topic: Topic, tmp_path: Path) -> None:
    with live(tmp_path) as query:
        assert [each.name for each in query.inputs] == [STREAM, f"{STREAM} 1", f"{STREAM} 2"]
        send(topic, TIMES[:17])
        until(lambda: sum(query.loop.batch.end.values()) == 17)
    with live(tmp_path) as query:
        send(topic, TIMES[17:])
        topic.end()
        assert query.wait(30)
    assert [text for _, text in read_units(LocalFiles(tmp_path / "results"))] == replay(tmp_path)


def test_partitions_keep_their_numbers_when_the_list_changes(topic: Topic, tmp_path: Path) -> None:
    send(topic, TIMES[:6])
    with live(tmp_path) as query:
        until(lambda: sum(query.loop.batch.end.values()) == 6)
    topic.partitions = {"0": [], **dict(reversed(topic.partitions.items()))}
    query = live(tmp_path)
    assert {each.locator.key: each.number for each in query.inputs} == {"a": 0, "b": 1, "c": 2, "0": 3}


def test_a_partition_that_was_read_must_be_listed_again(topic: Topic, tmp_path: Path) -> None:
    send(topic, TIMES[:6])
    with live(tmp_path) as query:
        until(lambda: sum(query.loop.batch.end.values()) == 6)
    del topic.partitions["b"]
    with pytest.raises(RunError, match="urn:stream 1"):
        live(tmp_path).run()


def test_a_locator_reopens_its_partition_in_another_process(topic: Topic, tmp_path: Path) -> None:
    send(topic, TIMES[:6])
    query = live(tmp_path)
    for each in query.inputs:
        reader = reopen(pickle.loads(pickle.dumps(each.locator)))
        ours, theirs = ([chunk.events.to_pylist() for chunk in one.read(0, 2)] for one in (each.reader, reader))
        assert ours == theirs


def test_a_partition_that_is_not_listed_is_refused_by_name(topic: Topic, tmp_path: Path) -> None:
    assert len(topic.partitions) == 3
    with pytest.raises(UsageError, match="no partition 'd'; partitions: 'a', 'b', 'c'"):
        open_partition(Iri(STREAM), "memory:topic", LocalFiles(tmp_path), key="d")
