"""A disk that is full: whoever writes waits and says so, and goes on by itself when there is room (F6)."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hydrograph import api
from hydrograph.errors import RunError
from hydrograph.live.results.sink import read_units
from hydrograph.live.storage.disk_full import DiskFullWait
from hydrograph.live.storage.files import LocalFiles

QUERY = """
PREFIX : <urn:>
SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE 1s STEP 1s] WHERE { WINDOW :w { ?a :p ?b } }
"""


class Disk:
    """The system's way to write, while there is room and while there is none: then half of it is written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int = errno.ENOSPC) -> None:
        """Have room."""
        self.is_full = threading.Event()
        self.refused = 0
        write = os.write

        def limited(descriptor: int, data: Any) -> int:
            if not self.is_full.is_set():
                return write(descriptor, data)
            if len(data) > 1:
                return write(descriptor, bytes(data)[: len(data) // 2])
            self.refused += 1
            raise OSError(error, os.strerror(error))

        monkeypatch.setattr(os, "write", limited)


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["write", "append", "claim"])
def test_what_is_written_waits_for_room(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, room = Disk(monkeypatch), DiskFullWait(threading.Event())
    files = LocalFiles(tmp_path, disk_full=room)
    files.append("f", 0, b"abc")
    disk.is_full.set()
    writes: dict[str, Callable[[], object]] = {
        "write": lambda: files.write("f", b"0123456789"),
        "append": lambda: files.append("f", 2, b"0123456789"),
        "claim": lambda: files.claim("g", b"0123456789"),
    }
    thread = threading.Thread(target=writes[how])
    thread.start()
    until(lambda: room.paused is not None and disk.refused > 1)
    assert "No space left" in str(room.paused)
    disk.is_full.clear()
    thread.join(20)
    assert room.paused is None
    assert files.read("g" if how == "claim" else "f") == (b"ab0123456789" if how == "append" else b"0123456789")
    files.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == (["f", "g"] if how == "claim" else ["f"])


def test_who_wants_to_stop_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = threading.Event()
    disk = Disk(monkeypatch)
    disk.is_full.set()
    stopping.set()
    room = DiskFullWait(stopping)
    with pytest.raises(RunError, match=r"No space left on device; no data is lost"):
        LocalFiles(tmp_path, disk_full=room).write("f", b"abc")
    assert room.paused is None


def test_what_room_does_not_help_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch, errno.EIO).is_full.set()
    with pytest.raises(RunError, match="cannot write .*: Input/output error"):
        LocalFiles(tmp_path, disk_full=DiskFullWait(threading.Event())).write("f", b"abc")


def test_a_query_goes_on_when_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    places = {"checkpoint": str(tmp_path / "checkpoint"), "results": str(tmp_path / "results")}
    live = api.query(QUERY).start({"urn:s": "push:"}, placement="local", **places)
    stream = live.streams["urn:s"]
    stream.send(100, "<urn:a> <urn:p> <urn:b> .")
    until(lambda: live.loop.batch.number)
    disk.is_full.set()
    sender = threading.Thread(target=lambda: stream.send(1_200, "<urn:c> <urn:p> <urn:d> ."))
    sender.start()  # it is acknowledged when it is written down, and not before
    until(lambda: live.paused)
    assert "No space left" in live.status()["paused"]
    assert sender.is_alive()
    disk.is_full.clear()
    sender.join(20)
    stream.end()
    assert live.wait(20)
    assert live.paused is None
    units = [text for _, text in read_units(LocalFiles(tmp_path / "results"))]
    assert [("urn:a" in text, "urn:c" in text) for text in units] == [(True, False), (False, True)]
