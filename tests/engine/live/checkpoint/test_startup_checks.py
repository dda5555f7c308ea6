"""Start and stop of live queries on a checkpoint: refused starts, ended streams, failures, and what a start leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from hydrograph import api
from hydrograph.errors import RunError, UsageError
from hydrograph.live.query import LiveQuery
from hydrograph.live.status import read_status
from hydrograph.live.step.records import ResultUnit
from hydrograph.live.storage import input_log as log
from hydrograph.live.storage.lease import FencedError
from tests.support.waiting import until

STREAM = "http://example.org/s"
QUERY = """SELECT ?s FROM NAMED WINDOW <urn:w> ON <http://example.org/s> [RANGE 100ms STEP 100ms]
{ WINDOW <urn:w> { ?s ?p ?o } }"""
OTHER = QUERY.replace("?s ?p ?o", "?s <urn:p> ?o")


def started(place: Path, url: str = "push:", on_unit: Callable[[ResultUnit], None] | None = None) -> LiveQuery:
    return api.query(QUERY).start({STREAM: url}, checkpoint=place / "checkpoint", on_unit=on_unit)


def triple(name: str) -> str:
    return f"<urn:{name}> <urn:p> <urn:o> ."


def test_a_refused_start_does_not_take_the_lease(tmp_path: Path) -> None:
    told: list[ResultUnit] = []
    with started(tmp_path, on_unit=told.append) as live:
        stream = live.streams[STREAM]
        stream.send(10, triple("a"))
        until(lambda: live.status()["batch"] > 0)
        with pytest.raises(RunError, match="belongs to another plan"):
            api.query(OTHER).start({STREAM: "push:"}, checkpoint=tmp_path / "checkpoint")
        (tmp_path / "map.nt").write_text(triple("b"))
        with pytest.raises(RunError, match="the static data of query is neither"):
            api.query(QUERY).start({STREAM: "push:"}, tmp_path / "map.nt", checkpoint=tmp_path / "checkpoint")
        stream.send(110, triple("a"))
        until(lambda: len(told) == 1)


def test_a_driver_without_input_notices_that_it_is_fenced(tmp_path: Path) -> None:
    first = started(tmp_path)
    with started(tmp_path) as second:
        with pytest.raises(FencedError):
            first.wait(30)
        with pytest.raises(RunError, match="the query has ended: FencedError"):
            first.streams[STREAM].send(1, triple("a"))
        second.streams[STREAM].send(1, triple("a"))
        until(lambda: second.status()["batch"] == 1)
    assert read_status(str(tmp_path / "checkpoint"))["batch"] == 1


def test_input_after_the_end_of_a_stream_is_refused_also_after_a_restart(tmp_path: Path) -> None:
    live = started(tmp_path)
    live.streams[STREAM].send(10, triple("a"))
    live.streams[STREAM].end()
    assert live.wait(30)
    with pytest.raises(RunError, match="the query has stopped"):
        live.streams[STREAM].send(20, triple("b"))
    again = started(tmp_path)
    assert again.wait(30)
    assert again.had_ended
    with pytest.raises(RunError, match="accepts nothing any more"):
        again.streams[STREAM].send(20, triple("b"))


def test_input_after_the_end_of_one_of_two_streams_is_refused(tmp_path: Path) -> None:
    with api.query(QUERY).start([(STREAM, "push:"), (STREAM, "push:")], checkpoint=tmp_path / "checkpoint") as live:
        assert list(live.streams) == [STREAM, f"{STREAM} 1"]
        live.streams[STREAM].send(10, triple("a"))
        live.streams[STREAM].end()
        with pytest.raises(UsageError, match="has ended"):
            live.streams[STREAM].send(20, triple("b"))
        until(lambda: live.loop.batch.ended == (STREAM,))
    told: list[ResultUnit] = []
    pairs = [(STREAM, "push:"), (STREAM, "push:")]
    with api.query(QUERY).start(pairs, checkpoint=tmp_path / "checkpoint", on_unit=told.append) as again:
        with pytest.raises(UsageError, match="has ended"):
            again.streams[STREAM].send(20, triple("b"))
        again.streams[f"{STREAM} 1"].send(150, triple("c"))
        until(lambda: len(told) == 1)
    assert [unit.report.t for unit in told] == [100]


def test_a_restart_needs_every_partition_that_was_read(tmp_path: Path) -> None:
    pairs = [(STREAM, "push:"), (STREAM, "push:")]
    with api.query(QUERY).start(pairs, checkpoint=tmp_path / "checkpoint") as live:
        for stream in live.streams.values():
            stream.send(10, triple("a"))
        until(lambda: len(live.loop.batch.end) == 2)
    with pytest.raises(RunError, match=f"has read from {STREAM} 1, which is not given"):
        started(tmp_path)


def test_a_callback_may_stop_the_query_but_not_wait_for_its_own_batch(tmp_path: Path) -> None:
    said: list[str] = []

    def told(_: ResultUnit) -> None:
        for asking in (lambda: live.add(OTHER, name="other"), lambda: live.remove("query"), live.wait):
            try:
                asking()
            except UsageError as error:
                said.append(str(error))
        live.stop()

    live = started(tmp_path, on_unit=told)
    live.streams[STREAM].send(10, triple("a"))
    live.streams[STREAM].send(110, triple("a"))
    until(lambda: live.wait(0.05))
    assert len(said) == 3
    assert all("call it from another thread" in words for words in said)
    assert live.loop.queries["query"].record.reports == 1


def test_senders_and_the_status_get_the_reason_of_a_failure(tmp_path: Path) -> None:
    def told(_: ResultUnit) -> None:
        raise ValueError("the disk of another program")

    live = started(tmp_path, on_unit=told)
    live.streams[STREAM].send(10, triple("a"))
    live.streams[STREAM].send(110, triple("a"))
    with pytest.raises(ValueError, match="another program"):
        live.wait(30)
    with pytest.raises(RunError, match="the query has ended: ValueError: the disk of another program"):
        live.streams[STREAM].send(120, triple("b"))
    assert read_status(str(tmp_path / "checkpoint"))["stopped"] == "ValueError: the disk of another program"
    (tmp_path / "checkpoint" / "status.json").write_text("{")
    with pytest.raises(RunError, match="is torn"):
        read_status(str(tmp_path / "checkpoint"))


def test_many_short_starts_leave_no_unneeded_log_and_no_open_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SEGMENT_BYTES", 2_000)
    (tmp_path / "in").mkdir()
    held, opened = [], []
    pairs = [(STREAM, "push:"), (f"{STREAM}2", str(tmp_path / "in"))]
    for start in range(24):
        with api.query(QUERY).start(pairs, checkpoint=tmp_path / "checkpoint") as live:
            for number in range(3):
                before = live.status()["batch"]
                live.streams[STREAM].send(1000 * start + 100 * number, triple(f"e{number}"))
                until(lambda before=before, live=live: live.status()["batch"] > before)  # type: ignore[misc]
        held.append(sum(file.stat().st_size for file in (tmp_path / "checkpoint" / "sources").rglob("*.log")))
        opened.append(len(psutil.Process().open_files()))
    assert max(held[12:]) <= max(held[:12])
    assert opened[-1] <= opened[2]
    assert threading.active_count() < 20
