"""Snapshots and their log: what a batch writes follows what changed (S35)."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from hydrograph.live.checkpoint.snapshot_log import SnapshotLog, SnapshotPosition
from hydrograph.live.step import records as snapshot
from hydrograph.live.step.records import EMPTY_SNAPSHOT, Snapshot
from hydrograph.runtime.reports import Row
from tests.support.live_faults import DAMAGES, MemoryFiles


def rows(*numbers: int) -> tuple[Row, ...]:
    return tuple((f"<urn:{number}>", None) for number in numbers)


def written(files: MemoryFiles) -> int:
    return sum(map(len, files.data.values()))


def test_a_snapshot_holds_all_solutions_that_entered_and_did_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MIN_CHANGES", 10)
    rng = Random("snapshots")
    expected: Counter[Row] = Counter()
    found, log, files = EMPTY_SNAPSHOT, None, MemoryFiles()
    log = SnapshotLog(files, 1)
    wholes = 0
    for _ in range(300):
        left = rng.sample([*expected.elements()], min(rng.randrange(4), expected.total()))
        entered = rows(*(rng.randrange(20) for _ in range(rng.randrange(4))))
        expected += Counter(entered)
        expected -= Counter(left)
        found = found.after(entered, tuple(left))
        wholes += found.before is None
        assert found.counts() == expected
        assert found.size == expected.total()
        place = log.write("q", found)
        if place is not None:
            assert SnapshotLog(files, 2).read(place) == found
    assert 3 < wholes < 150


def test_the_bytes_that_a_batch_writes_follow_what_changed() -> None:
    files = MemoryFiles()
    log = SnapshotLog(files, 1)
    many = EMPTY_SNAPSHOT.after(rows(*range(5_000)), ())
    log.write("q", many)
    before = written(files)
    assert log.write("q", many) is not None
    assert written(files) == before
    assert many.after((), ()) is many
    log.write("q", many.after(rows(7), rows(8)))
    assert 0 < written(files) - before < 200


def test_a_query_without_changes_has_no_files() -> None:
    files = MemoryFiles()
    assert SnapshotLog(files, 1).write("q", EMPTY_SNAPSHOT) is None
    assert not files.data


@pytest.mark.parametrize("damage", DAMAGES)
def test_one_of_two_copies_is_enough(damage: str) -> None:
    files = MemoryFiles()
    log = SnapshotLog(files, 1)
    first = EMPTY_SNAPSHOT.after(rows(*range(300)), ())
    place = log.write("q", first.after(rows(1), ()))
    assert place is not None
    for name in [*files.data]:
        kept = dict(files.data)
        changed = DAMAGES[damage](files.data[name])
        if changed is None:
            del files.data[name]
        else:
            files.data[name] = changed
        assert SnapshotLog(files, 2).read(place).size == 301
        files.data = kept
    for name in files.data:
        files.data[name] = b""
    assert not SnapshotLog(files, 2).is_intact(place)


def test_files_that_no_record_needs_are_removed() -> None:
    files = MemoryFiles()
    log = SnapshotLog(files, 1)
    one = log.write("one", EMPTY_SNAPSHOT.after(rows(1), ()))
    two = log.write("two", EMPTY_SNAPSHOT.after(rows(2), ()))
    assert isinstance(one, SnapshotPosition)
    assert isinstance(two, SnapshotPosition)
    log.keep({one.file}, {"one"})
    assert log.is_intact(one)
    assert not log.is_intact(two)
    assert len(files.data) == 2


def test_snapshots_with_the_same_solutions_are_equal() -> None:
    there = EMPTY_SNAPSHOT.after(rows(1, 2), ()).after(rows(2), rows(1))
    assert there == Snapshot(None, rows(2, 2), (), 2)
    assert there != EMPTY_SNAPSHOT
