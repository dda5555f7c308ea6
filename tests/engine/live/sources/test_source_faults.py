"""Logs and indexes of sources: two drivers write beside each other, files are damaged, writes fail (F4, F5, F10)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hydrograph import api
from hydrograph.errors import DataError, HydrographError, RunError
from hydrograph.live.checkpoint.snapshot_log import SnapshotLog
from hydrograph.live.query import LiveQuery
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.sources.source import PartitionReader
from hydrograph.live.step.records import EMPTY_SNAPSHOT
from hydrograph.live.storage import input_log as logs
from hydrograph.live.storage.files import Files, LocalFiles
from hydrograph.live.storage.input_log import InputLog, log_end, read_log
from hydrograph.live.storage.lease import FencedError, Lease
from hydrograph.rdf.terms import Iri
from hydrograph.streams.schema import encode_events
from tests.support.live_faults import DAMAGES, DeadError, MemoryFiles

STREAM = "urn:stream"
QUERY = "SELECT ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 1s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"


def row(number: int) -> pa.Table:
    return pa.Table.from_batches([encode_events([(number, number, "<urn:s>", "<urn:p>", f"<urn:o{number}>")])])


def times(files: Files, start: int = 0) -> list[int]:
    return [t for chunk in read_log(files, "log", start, log_end(files, "log")) for t in chunk.events["t"].to_pylist()]


def damaged(files: MemoryFiles, name: str, damage: str) -> None:
    changed = DAMAGES[damage](files.data[name])
    if changed is None:
        del files.data[name]
    else:
        files.data[name] = changed


def pushed(files: Files, lease: Lease, known: int = 0) -> LoggedPartition:
    source = open_partition(Iri(STREAM), "push:", files)
    assert isinstance(source, LoggedPartition)
    source.resume(lease, known)
    return source


def test_a_driver_that_slept_writes_beside_its_successor() -> None:
    files, acknowledged = MemoryFiles(), []
    older = InputLog(files, "log", Lease(files))
    for number in range(1, 4):
        older.append(row(number), number)
        acknowledged.append(number)
    newer = InputLog(files, "log", Lease(files), older.end)
    assert (newer.end, newer.number) == (older.end, 3)
    for number in (4, 5):
        newer.append(row(number), number)
        acknowledged.append(number)
        with pytest.raises(FencedError):
            older.append(row(100 + number), 100 + number)
        with pytest.raises(FencedError):
            older.forget(older.end)
    assert times(files) == acknowledged
    third = InputLog(files, "log", Lease(files), newer.end)
    assert (third.end, third.number) == (newer.end, 5)
    assert [chunk.end for chunk in third.read(0, third.end)][-1] == third.end
    assert times(files) == acknowledged


class SlowLease(Lease):
    """A lease whose holder falls asleep before it looks whether it still has it."""

    def __init__(self, files: Files, asleep: Callable[[], None]) -> None:
        """Take the lease."""
        super().__init__(files)
        self.asleep = asleep

    def check(self) -> None:
        self.asleep()
        super().check()


def test_what_is_written_before_another_takes_over_is_found_and_after_it_not_acknowledged() -> None:
    files = MemoryFiles()
    successors: list[InputLog] = []

    def take_over() -> None:
        if not successors:
            successors.append(InputLog(files, "log", Lease(files)))

    older = InputLog(files, "log", SlowLease(files, take_over))
    with pytest.raises(FencedError):  # written, but another driver has taken over since: it may be there or not, and is
        older.append(row(1), 1)
    assert times(files) == [1]
    successors[0].append(row(2), 2)
    assert times(files) == [1, 2]


def test_only_what_lies_before_and_belongs_to_older_drivers_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "SEGMENT_BYTES", 1)
    files = MemoryFiles()
    for start in (1, 4):
        log = InputLog(files, "log", Lease(files))
        ends = [log.append(row(number), number) for number in range(start, start + 3)]
    last = InputLog(files, "log", Lease(files), ends[-1])
    last.forget(ends[1])
    assert times(files, ends[1]) == [6]
    last.forget(ends[2])
    again = InputLog(files, "log", Lease(files), ends[-1])
    assert (again.end, again.number) == (ends[-1], 6)


def test_a_driver_that_slept_removes_no_snapshots_of_its_successor() -> None:
    files = MemoryFiles()
    older, newer = SnapshotLog(files, 1), SnapshotLog(files, 2)
    first = older.write("q", EMPTY_SNAPSHOT.after(((("<urn:1>"),),), ()))
    second = newer.write("q", EMPTY_SNAPSHOT.after(((("<urn:2>"),),), ()))
    assert first is not None
    assert second is not None
    older.keep(set(), {"q"})
    assert newer.is_intact(second)
    assert not newer.is_intact(first)


def directory(tmp_path: Path, files: Files, lease: Lease, known: int = 0) -> PartitionReader:
    source = open_partition(Iri(STREAM), str(tmp_path), files)
    source.resume(lease, known)
    return source


def given(tmp_path: Path, *names: str) -> None:
    for name in names:
        (tmp_path / f"{name}.tnt").write_text(f"{ord(name)}\t<urn:s> <urn:p> <urn:{name}> .\n")


def order(source: PartitionReader, start: int = 0) -> str:
    found = (chunk.events["t"][0].as_py() for chunk in source.read(start, source.end()))
    return "".join(map(chr, found))


def test_the_order_of_files_is_that_of_the_driver_that_took_over(tmp_path: Path) -> None:
    files = MemoryFiles()
    given(tmp_path, "m")
    older = directory(tmp_path, files, Lease(files))
    assert older.end() == 1
    newer = directory(tmp_path, files, Lease(files), 1)
    given(tmp_path, "z")
    assert newer.end() == 2
    given(tmp_path, "a")
    assert older.end() == 3  # it has woken up, and sees both at once
    assert order(older) == "maz"
    assert order(newer) == "mza"
    assert order(open_partition(Iri(STREAM), str(tmp_path), files)) == "mza"
    assert order(directory(tmp_path, files, Lease(files), 3)) == "mza"


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_index_that_is_damaged_heals_or_is_refused(damage: str, tmp_path: Path) -> None:
    def seen() -> MemoryFiles:
        for file in tmp_path.glob("*.tnt"):
            file.unlink()
        files = MemoryFiles()
        source = directory(tmp_path, files, Lease(files))
        for name in "mza":
            given(tmp_path, name)
            source.end()
        directory(tmp_path, files, Lease(files), 3)
        return files

    for name in [name for name in seen().data if name.startswith("index/")]:
        files = seen()
        damaged(files, name, damage)
        assert order(directory(tmp_path, files, Lease(files), 3)) == "mza", name
    files = seen()
    for name in [name for name in files.data if name.startswith("index/")]:
        damaged(files, name, damage)
    with pytest.raises(DataError, match=r"knows the order of \d only"):
        directory(tmp_path, files, Lease(files), 3)


@pytest.mark.parametrize("half", [False, True])
def test_every_write_of_an_index_may_fail(half: bool, tmp_path: Path) -> None:
    for number in range(1, 100):
        for file in tmp_path.glob("*.tnt"):
            file.unlink()
        files, read = MemoryFiles(fails=number, half=half), 0
        found = ""
        for name in "mza":
            for _ in range(2):
                try:
                    source = directory(tmp_path, files, Lease(files), read)
                    given(tmp_path, name)
                    source.end()
                except DeadError:
                    continue
                assert order(source).startswith(found)
                found, read = order(source), source.end()
                break
        assert found == "mza", f"write {number}"
        if files.changes < number:
            return
    pytest.fail("more writes than there should be")


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("read", [0, 2, 5])
def test_a_log_that_is_damaged_loses_nothing_in_silence(damage: str, read: int) -> None:
    files = MemoryFiles()
    log = InputLog(files, "log", Lease(files))
    ends = [0, *(log.append(row(number), number) for number in range(1, 6))]
    (name,) = (name for name in files.data if name.startswith("log/"))
    whole = files.data[name]
    damaged(files, name, damage)
    if damage in ("empty", "missing"):
        good = 0
    elif damage == "last byte gone":
        good = 4
    else:  # in the third frame
        good = 2
    cut = damage != "one bit"  # behind a flipped bit there is more, which was acknowledged too
    kept = dict(files.data)
    if read > good if cut else read < 3:
        with pytest.raises(DataError, match="damaged" if not cut or read else "begins"):
            InputLog(files, "log", Lease(files), ends[read])
        assert {name: data for name, data in files.data.items() if name.startswith(("log/", "quar"))} == {
            name: data for name, data in kept.items() if name.startswith("log/")
        }
        files.data[name] = whole  # brought back
        assert InputLog(files, "log", Lease(files), ends[read]).end == ends[5]
        assert times(files) == [1, 2, 3, 4, 5]
        return
    again = InputLog(files, "log", Lease(files), ends[read])
    if not cut:  # what is damaged was processed
        assert (again.end, again.number) == (ends[5], 5)
        return
    assert (again.end, again.number) == (ends[good], good)
    torn = [data for name, data in files.data.items() if name.startswith("quarantine/")]
    assert torn == ([] if good == 0 else [DAMAGES[damage](whole)[ends[good] :]])  # type: ignore[index]
    again.append(row(9), 9)
    assert times(files) == [*range(1, good + 1), 9]


def test_no_bit_of_a_log_may_flip() -> None:
    files = MemoryFiles()
    log = InputLog(files, "log", Lease(files))
    ends = [log.append(row(number), number, rejected=7) for number in (1, 2, 3)]
    (name,) = (name for name in files.data if name.startswith("log/"))
    whole = files.data[name]
    for place in (*range(ends[0], ends[0] + 30), *range(ends[0] + 30, ends[1], 97)):
        files.data[name] = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        with pytest.raises(DataError, match=f"bytes from {ends[0]} to {ends[1]}"):
            InputLog(files, "log", Lease(files), ends[0])
        with pytest.raises(DataError, match=f"bytes from {ends[0]} to {ends[1]}"):
            list(read_log(files, "log", 0, ends[2]))
    assert InputLog(files, "log", Lease(files), ends[1]).number == 3  # what was read and processed is not needed


@pytest.mark.parametrize("half", [False, True])
def test_every_write_of_a_log_may_fail(half: bool) -> None:
    for number in range(1, 60):
        files = MemoryFiles(fails=number, half=half)
        source: LoggedPartition | None = None
        for t in range(1, 9):
            while True:  # the sender retries until it is acknowledged
                try:
                    source = source or pushed(files, Lease(files))
                    source.send(t, [("<urn:s>", "<urn:p>", "<urn:o>")])
                except DeadError:
                    source = None
                    continue
                break
        assert times(files) == [*range(1, 9)], f"write {number}"
        if files.changes < number:
            return
    pytest.fail("more writes than there should be")


def live(tmp_path: Path, url: str) -> LiveQuery:
    return api.query(QUERY).start({STREAM: url}, checkpoint=tmp_path / "checkpoint", results=tmp_path / "results")


def reported(tmp_path: Path) -> str:
    return "".join(text for _, text in read_units(LocalFiles(tmp_path / "results")))


def test_a_program_that_sends_to_a_driver_that_was_replaced_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="start the query first"):
        api.query(QUERY).live({STREAM: "push:"}, checkpoint=tmp_path / "other").streams[STREAM].send(
            1, "<a:> <a:> <a:> ."
        )
    acknowledged = []
    older = live(tmp_path, "push:")
    drivers = [older]
    for t in range(0, 4000, 100):
        if t == 1500:
            drivers.append(live(tmp_path, "push:"))
        for driver in drivers:  # the first one is the last to try, when it was replaced
            try:
                driver.streams[STREAM].send(t, f"<urn:s> <urn:p> <urn:o{t}-{drivers.index(driver)}> .")
                acknowledged.append(f"urn:o{t}-{drivers.index(driver)}")
            except FencedError:
                assert driver is older
                assert t >= 1500
    assert len(acknowledged) == 40
    drivers[1].streams[STREAM].end()
    assert drivers[1].wait(30)
    older.streams[STREAM].end()
    with pytest.raises(FencedError):
        older.wait(30)
    text = reported(tmp_path)
    assert [name for name in acknowledged if f'{name}"' not in text] == []


def test_what_came_through_a_line_is_not_written_over_by_a_driver_that_wakes_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"tcp://127.0.0.1:{server.getsockname()[1]}?end=close"

        def lines(start: int, end: int, name: str) -> bytes:
            return b"".join(f"{t}\t<urn:s> <urn:p> <urn:o{t}-{name}> .\n".encode() for t in range(start, end, 100))

        def logged(count: int) -> None:
            (place,) = (tmp_path / "checkpoint" / "sources").iterdir()
            until = time.monotonic() + 20
            while len(times(LocalFiles(place))) < count:
                assert time.monotonic() < until
                time.sleep(0.02)

        older = live(tmp_path, url)
        first, _ = server.accept()
        first.sendall(lines(0, 1500, "a"))
        logged(15)
        newer = live(tmp_path, url)
        second, _ = server.accept()
        second.sendall(lines(1500, 2500, "b"))
        logged(25)
        first.sendall(lines(1500, 3500, "late"))
        with pytest.raises(HydrographError):
            assert older.wait(30)
        second.sendall(lines(2500, 4000, "b"))
        second.close()
        first.close()
        assert newer.wait(30)
    text = reported(tmp_path)
    assert "late" not in text
    expected = [f"urn:o{t}-{'a' if t < 1500 else 'b'}" for t in range(0, 4000, 100)]
    assert [name for name in expected if f'{name}"' not in text] == []


def test_a_start_behind_a_log_that_was_cut_says_what_is_missing(tmp_path: Path) -> None:
    running = live(tmp_path, "push:")
    for t in range(0, 3000, 500):
        running.streams[STREAM].send(t, "<urn:s> <urn:p> <urn:o> .")
    while running.status()["used"] < 6:
        assert not running.wait(0.02)
    running.stop()
    (segment,) = (tmp_path / "checkpoint" / "sources").glob("*/log/*.log")
    whole = segment.read_bytes()
    segment.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"ends at \d+, but was read up to \d+"):
        live(tmp_path, "push:")
    segment.write_bytes(whole)
    again = live(tmp_path, "push:")
    again.streams[STREAM].end()
    assert again.wait(30)
    assert again.status()["used"] == 6


def test_elements_of_many_threads_are_all_there(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    source = pushed(files, Lease(files))

    def send(name: int) -> None:
        for t in range(50):
            source.send(1000 * name + t, [("<urn:s>", "<urn:p>", "<urn:o>")])

    threads = [threading.Thread(target=send, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = pa.concat_tables([chunk.events for chunk in source.read(0, source.end())])
    assert found["seq"].to_pylist() == [*range(1, 401)]
    assert sorted(found["t"].to_pylist()) == sorted(1000 * name + t for name in range(8) for t in range(50))
