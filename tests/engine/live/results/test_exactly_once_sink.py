"""A directory of results: whose it is, and what a start, a record and a long life cost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hydrograph import api
from hydrograph.errors import RunError
from hydrograph.live.checkpoint.batch_commit import BatchJournal
from hydrograph.live.checkpoint.startup_checks import OWNER
from hydrograph.live.query import LiveQuery
from hydrograph.live.results import exactly_once_sink as sink
from hydrograph.live.results.exactly_once_sink import SegmentSink, read_units
from hydrograph.live.step.records import BatchDecision, BatchOutcome, ResultUnit, make_units
from hydrograph.live.storage.files import LocalFiles, TornError, unframe
from hydrograph.live.storage.lease import FencedError, Lease
from hydrograph.runtime.reports import Report
from tests.support.live_faults import DAMAGES, MemoryFiles


def unit(t: int) -> ResultUnit:
    return make_units("q", 1, [Report(t, None, None, (), ())])[0]


class CountingFiles(MemoryFiles):
    """Files that know how many bytes of segments were read."""

    bytes_read = 0

    def read(self, name: str, start: int = 0) -> bytes | None:
        data = super().read(name, start)
        self.bytes_read += len(data or b"") if name.endswith(".seg") else 0
        return data


class Driver:
    """A driver on a checkpoint and results, that does with them what a runner does."""

    def __init__(self, checkpoint: MemoryFiles, results: MemoryFiles, *, tied: bool = True) -> None:
        """Resume from the checkpoint."""
        lease = Lease(checkpoint)
        self.journal = BatchJournal(checkpoint, {}, lease.epoch)
        self.sink = SegmentSink(results, lease.epoch, checkpoint if tied else None)
        found = self.journal.recover(self.sink.stored_lengths())
        self.sink.resume({} if found.outcome is None else found.outcome.segments)
        self.number = 0 if found.outcome is None else found.outcome.batch.number

    def work(self, *, done: bool = True) -> None:
        """Write one more unit, and the record of its batch."""
        self.number += 1
        batch = BatchDecision(number=self.number)
        self.journal.record(batch)
        self.sink.write([unit(self.number)])
        if done:
            self.journal.commit(BatchOutcome(batch=batch, segments=self.sink.lengths))


def written(*batches: int, tied: bool = True) -> tuple[MemoryFiles, MemoryFiles]:
    """Return checkpoint and results after some drivers, each of which has run so many batches."""
    checkpoint, results = MemoryFiles(), MemoryFiles()
    for number in batches:
        driver = Driver(checkpoint, results, tied=tied)
        for _ in range(number):
            driver.work()
    return checkpoint, results


def times(results: MemoryFiles) -> list[int]:
    return [key.t for key, _ in read_units(results)]


@pytest.mark.parametrize("tied", [True, False], ids=["with an owner", "from before there were owners"])
@pytest.mark.parametrize("records", [0, 2])
def test_results_of_another_checkpoint_are_refused_and_unchanged(records: int, tied: bool) -> None:
    _, results = written(3, 2, tied=tied)
    other, _ = written(records) if records else (MemoryFiles(), None)
    if not tied and records:
        other.data.pop(OWNER)
    before = dict(results.data)
    for _ in range(2):
        with pytest.raises(RunError, match=r"results belong to another checkpoint.*use another results directory"):
            Driver(other, results)
        assert results.data == before


def test_a_query_with_another_checkpoint_does_not_touch_results(tmp_path: Path) -> None:
    text = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s STEP 1s] { WINDOW <urn:w> { ?s ?p ?o } }"

    def start(checkpoint: str) -> LiveQuery:
        place = tmp_path / checkpoint
        return api.query(text).start({"urn:s": "push:"}, checkpoint=place, results=tmp_path / "results")

    live = start("first")
    for t in (500, 1500, 2500):
        live.streams["urn:s"].send(t, "<urn:a> <urn:p> <urn:b> .")
    live.streams["urn:s"].end()
    assert live.wait(30)

    def found() -> dict[Path, bytes]:
        return {file: file.read_bytes() for file in (tmp_path / "results").rglob("*") if file.is_file()}

    before = found()
    with pytest.raises(RunError, match="results belong to another checkpoint"):
        start("second")
    (tmp_path / "first").rename(tmp_path / "gone")
    with pytest.raises(RunError, match="results belong to another checkpoint"):
        start("first")
    assert found() == before
    start("gone").stop()
    assert len([*read_units(LocalFiles(tmp_path / "results"))]) == 3


@pytest.mark.parametrize("committed", [True, False])
def test_a_checkpoint_claims_its_results_without_an_owner_file(committed: bool) -> None:
    checkpoint, results = written(3, 2, tied=False)
    if not committed:
        Driver(checkpoint, results, tied=False).work(done=False)
    assert OWNER not in results.data
    driver = Driver(checkpoint, results)
    driver.work()
    assert results.data[OWNER] == checkpoint.data[OWNER]
    assert times(results) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", ["checkpoint", "results"])
def test_a_damaged_owner_file_is_repaired(place: str, damage: str) -> None:
    checkpoint, results = written(3, 2)
    files = checkpoint if place == "checkpoint" else results
    whole = files.data[OWNER]
    changed = DAMAGES[damage](whole)
    if changed is None:
        del files.data[OWNER]
    else:
        files.data[OWNER] = changed
    Driver(checkpoint, results).work()
    assert checkpoint.data[OWNER] == results.data[OWNER] == whole
    assert times(results) == [1, 2, 3, 4, 5, 6]


def test_only_one_of_two_simultaneous_checkpoints_gets_the_results() -> None:
    class Slow(MemoryFiles):
        """Files of a driver before which another comes when it has looked."""

        def claim(self, name: str, data: bytes) -> bool:
            if name == OWNER and OWNER not in self.data:
                Driver(MemoryFiles(), others)
                self.data.update(others.data)
            return super().claim(name, data)

    results, others = Slow(), MemoryFiles()
    with pytest.raises(RunError, match="belong to another checkpoint"):
        Driver(MemoryFiles(), results)
    assert results.data == others.data


def test_a_driver_fenced_during_its_start_truncates_nothing() -> None:
    checkpoint, results = written(2)
    lease = Lease(checkpoint)
    slept = SegmentSink(results, lease.epoch, checkpoint)
    found = BatchJournal(checkpoint, {}, lease.epoch).recover(slept.stored_lengths())
    assert found.outcome is not None
    Driver(checkpoint, results).work()
    before = dict(results.data)
    with pytest.raises(FencedError, match="newer lease"):
        slept.resume(found.outcome.segments)
    assert results.data == before


def segment_names(results: MemoryFiles) -> list[str]:
    return sorted(name for name in results.data if name.endswith(".seg"))


@pytest.fixture
def short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink, "SEGMENT_BYTES", 300)


@pytest.mark.usefixtures("short_segments")
def test_a_start_reads_only_recent_segments() -> None:
    read = []
    for number in (40, 400):
        checkpoint, written_first = written(number)
        results = CountingFiles(dict(written_first.data))
        Driver(checkpoint, results).work()
        read.append(results.bytes_read)
        assert times(results) == [*range(1, number + 2)]
    assert read[1] < 2 * read[0]
    assert read[1] < sum(map(len, results.data.values())) / 5


@pytest.mark.usefixtures("short_segments")
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_recent_segments_are_repaired_and_damaged_old_ones_detected(damage: str) -> None:
    checkpoint, results = written(60)
    for name in segment_names(results)[-3:]:
        broken = MemoryFiles(dict(results.data))
        changed = DAMAGES[damage](broken.data.pop(name))
        if changed is not None:
            broken.data[name] = changed
        driver = Driver(MemoryFiles(dict(checkpoint.data)), broken)
        assert driver.number < 60
        while driver.number < 61:
            driver.work()
        assert times(broken) == [*range(1, 62)]
    for name in segment_names(results)[:3]:
        broken = MemoryFiles(dict(results.data))
        changed = DAMAGES[damage](broken.data.pop(name))
        if changed is not None:
            broken.data[name] = changed
        if damage == "one bit":  # a start does not look, but a reader does
            Driver(MemoryFiles(dict(checkpoint.data)), broken)
            with pytest.raises(TornError):
                times(broken)
        else:
            with pytest.raises(RunError, match=f"results are missing.*{name.removeprefix('segments/')}"):
                Driver(MemoryFiles(dict(checkpoint.data)), broken)


@pytest.mark.usefixtures("short_segments")
def test_at_most_two_segments_stay_open(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    out = SegmentSink(files, 1)
    out.resume({})
    for t in range(1, 100):
        out.write([unit(t)])
    assert len([*tmp_path.glob("segments/*.seg")]) > 20
    opened = [os.path.realpath(handle) for handle in Path("/proc/self/fd").iterdir()]
    assert 0 < sum(name.endswith(".seg") for name in opened) <= 2
    again = SegmentSink(files, 2)
    again.resume({name: length - 10 for name, length in out.lengths.items()})  # each is cut
    opened = [os.path.realpath(handle) for handle in Path("/proc/self/fd").iterdir()]
    assert sum(name.endswith(".seg") for name in opened) <= 2
    files.close()


def test_appends_go_to_the_new_file_after_a_rewrite(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    files.append("a/one", 0, b"1234")
    files.write("a/one", b"56")
    files.append("a/one", 2, b"7")
    for name in ("two", "three", "four"):
        files.append(f"a/{name}", 0, b"x")
    files.append("a/one", 3, b"8")
    assert files.read("a/one") == b"5678"
    files.close()


def records(checkpoint: MemoryFiles) -> list[bytes]:
    return [data for name, data in checkpoint.data.items() if name.endswith(".done")]


@pytest.mark.usefixtures("short_segments")
@pytest.mark.parametrize("batches", [[400], [1] * 100, [20] * 20], ids=["one driver", "many", "some"])
def test_the_size_of_a_record_does_not_depend_on_past_drivers_and_segments(batches: list[int]) -> None:
    checkpoint, results = written(*batches)
    assert len(segment_names(results)) > 90
    assert max(map(len, records(checkpoint))) < 1000
    assert len([name for name in results.data if name.endswith(".from")]) <= 18
    assert times(results) == [*range(1, sum(batches) + 1)]
    (last,) = [json.loads(unframe(data))["record"] for data in [records(checkpoint)[-1]]]
    assert [key.t for key, _ in read_units(results, last["segments"])] == [*range(1, sum(batches) + 1)]


@pytest.mark.usefixtures("short_segments")
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_boundary_file_is_repaired(damage: str) -> None:
    checkpoint, results = written(30, 30)
    for name in [name for name in results.data if name.endswith(".from")]:
        broken = MemoryFiles(dict(results.data))
        changed = DAMAGES[damage](broken.data.pop(name))
        if changed is not None:
            broken.data[name] = changed
        driver = Driver(MemoryFiles(dict(checkpoint.data)), broken)
        while driver.number < 61:
            driver.work()
        assert times(broken) == [*range(1, 62)], name


@pytest.mark.usefixtures("short_segments")
def test_writes_of_a_fenced_driver_before_a_boundary_are_ignored() -> None:
    checkpoint, results = MemoryFiles(), MemoryFiles()
    older = Driver(checkpoint, results)
    for _ in range(40):
        older.work()
    newer = Driver(checkpoint, results)
    older.sink.write([unit(99)])  # it does not know yet
    for _ in range(40):
        newer.work()
    Driver(checkpoint, results).work()
    assert times(results) == [*range(1, 82)]
