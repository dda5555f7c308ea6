"""When a directory is looked into: seldom where nothing changes, and often enough to miss nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hydrograph.live.sources.directory.poll import DirectoryPoll, PollThread
from hydrograph.live.sources.directory.source import DirectoryPartition
from hydrograph.live.sources.registry import open_partition
from hydrograph.live.storage.files import LocalFiles
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri


@dataclass
class Clock:
    """A clock that is advanced by hand."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> tuple[Clock, list[float]]:
    """Return a clock, and when directories were listed; each time takes ten milliseconds."""
    clock, looks = Clock(), list[float]()
    listdir = os.listdir

    def slow(path: Path) -> list[str]:
        looks.append(clock.now)
        clock.now += 0.01
        return listdir(path)

    monkeypatch.setattr(os, "listdir", slow)
    return clock, looks


def opened(tmp_path: Path, clock: Callable[[], float]) -> DirectoryPartition:
    (tmp_path / "in").mkdir()
    log = LocalFiles(tmp_path / "log")
    source = open_partition(Iri("urn:s"), str(tmp_path / "in"), log)
    assert isinstance(source, DirectoryPartition)
    source.poll = DirectoryPoll(tmp_path / "in", clock)
    source.resume(Lease(log), 0)
    return source


def test_an_idle_directory_is_listed_seldom(tmp_path: Path, listed: tuple[Clock, list[float]]) -> None:
    clock, looks = listed
    source = opened(tmp_path, clock)
    for _ in range(10_000):
        source.end()
        clock.now += 0.02
    spent = 0.01 * len(looks)
    assert spent < (clock.now - 1000) / 100


def test_a_file_is_seen_at_the_next_look(tmp_path: Path, listed: tuple[Clock, list[float]]) -> None:
    clock, _ = listed
    source = opened(tmp_path, clock)
    for number in range(1, 30):
        (tmp_path / "in" / f"{number:03d}.tnt").write_text("")
        os.utime(tmp_path / "in", ns=(number, number))
        assert source.end() == number
        clock.now += 0.3


def test_a_file_of_the_same_tick_is_seen_a_little_later(tmp_path: Path, listed: tuple[Clock, list[float]]) -> None:
    clock, looks = listed
    source = opened(tmp_path, clock)
    for number in range(1, 9):
        (tmp_path / "in" / f"{number:03d}a.tnt").write_text("")
        os.utime(tmp_path / "in", ns=(number, number))
        assert source.end() == 2 * number - 1
        (tmp_path / "in" / f"{number:03d}b.tnt").write_text("")
        os.utime(tmp_path / "in", ns=(number, number))  # its time does not show that there is another
        assert source.end() == 2 * number - 1
        before = len(looks)
        for _ in range(3):
            clock.now += 0.01
            source.end()
        assert source.end() == 2 * number
        assert len(looks) == before + 1
        clock.now += 0.1


def test_a_file_is_seen_where_the_time_of_a_directory_never_changes(
    tmp_path: Path, listed: tuple[Clock, list[float]]
) -> None:
    clock, _ = listed
    source = opened(tmp_path, clock)
    os.utime(tmp_path / "in", ns=(5, 5))
    assert source.end() == 0
    clock.now += 0.1
    assert source.end() == 0
    (tmp_path / "in" / "a.tnt").write_text("")
    os.utime(tmp_path / "in", ns=(5, 5))
    assert source.end() == 0
    clock.now += 10
    assert source.end() == 1


def test_nobody_is_woken_where_nothing_stirs(tmp_path: Path) -> None:
    source = opened(tmp_path, time.monotonic)
    source.end()
    time.sleep(0.05)
    source.end()
    asked, woken = list[bool](), list[int]()

    def stirs() -> bool:
        asked.append(source.poll.stirs())
        return asked[-1]

    watcher = PollThread("source test", 0.001, stirs)
    watcher.start(lambda: woken.append(1))
    while len(asked) < 20:
        time.sleep(0.001)
    assert not woken
    (tmp_path / "in" / "a.tnt").write_text("")
    end = time.monotonic() + 20
    while not woken and time.monotonic() < end:
        time.sleep(0.001)
    watcher.stop()
    assert woken
    assert source.end() == 1
    (tmp_path / "in" / "a.tnt").unlink()
    (tmp_path / "in").rmdir()
    assert source.poll.stirs()  # listing it raises the error
