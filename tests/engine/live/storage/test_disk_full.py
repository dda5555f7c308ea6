"""Full disk: a write waits, the status names it, and it continues by itself when there is space (F6)."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hydrograph import api
from hydrograph.errors import RunError
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.storage.disk_full import DiskFullWait
from hydrograph.live.storage.files import LocalFiles
from tests.support.waiting import until

QUERY = """
PREFIX : <urn:>
SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE 1s STEP 1s] WHERE { WINDOW :w { ?a :p ?b } }
"""


class Disk:
    """Replacement of `os.write` for a disk that can be full: then only half of the data is written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: int = errno.ENOSPC) -> None:
        """Start with free space."""
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


@pytest.mark.parametrize("how", ["write", "append", "claim"])
def test_a_write_waits_while_the_disk_is_full(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk, waiting = Disk(monkeypatch), DiskFullWait(threading.Event())
    files = LocalFiles(tmp_path, disk_full=waiting)
    files.append("f", 0, b"abc")
    disk.is_full.set()
    writes: dict[str, Callable[[], object]] = {
        "write": lambda: files.write("f", b"0123456789"),
        "append": lambda: files.append("f", 2, b"0123456789"),
        "claim": lambda: files.claim("g", b"0123456789"),
    }
    thread = threading.Thread(target=writes[how])
    thread.start()
    until(lambda: waiting.paused is not None and disk.refused > 1)
    assert "No space left" in str(waiting.paused)
    disk.is_full.clear()
    thread.join(20)
    assert waiting.paused is None
    assert files.read("g" if how == "claim" else "f") == (b"ab0123456789" if how == "append" else b"0123456789")
    files.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == (["f", "g"] if how == "claim" else ["f"])


def test_a_stop_ends_the_wait_for_disk_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopping = threading.Event()
    disk = Disk(monkeypatch)
    disk.is_full.set()
    stopping.set()
    waiting = DiskFullWait(stopping)
    with pytest.raises(RunError, match=r"No space left on device; no data is lost"):
        LocalFiles(tmp_path, disk_full=waiting).write("f", b"abc")
    assert waiting.paused is None


def test_other_write_errors_are_raised_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch, errno.EIO).is_full.set()
    with pytest.raises(RunError, match=r"cannot write .*: Input/output error"):
        LocalFiles(tmp_path, disk_full=DiskFullWait(threading.Event())).write("f", b"abc")


def test_a_query_continues_when_there_is_space_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
