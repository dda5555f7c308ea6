"""Checkpoints and results elsewhere: what is asked of files, two drivers at once, and one that goes on somewhere else.

File systems of this machine stand for those elsewhere; one of them can not append, as S3.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow.fs as pafs
import pytest

from hydrograph import api
from hydrograph.bench.live.site import QUERY, STREAM, Site
from hydrograph.errors import RunError
from hydrograph.live import files
from hydrograph.live.files import Files, LocalFiles, RemoteFiles, files_at
from hydrograph.live.lease import FencedError, Lease
from hydrograph.live.sink import read_units


class NotAppending:
    """A file system that writes files whole and in no other way."""

    def __init__(self, system: pafs.FileSystem) -> None:
        """Do everything else as another does."""
        self._system = system

    def __getattr__(self, name: str) -> Any:
        """Return what the other has."""
        return getattr(self._system, name)

    def open_append_stream(self, path: str) -> Any:
        raise NotImplementedError(path)


def appending(root: Path) -> RemoteFiles:
    return RemoteFiles(pafs.SubTreeFileSystem(str(root), pafs.LocalFileSystem()), "")


def not_appending(root: Path) -> RemoteFiles:
    return RemoteFiles(cast("pafs.FileSystem", NotAppending(pafs.LocalFileSystem())), str(root))


@pytest.mark.parametrize("made", [LocalFiles, appending, not_appending])
def test_files_do_what_is_asked_of_them(made: Callable[[Path], Files], tmp_path: Path) -> None:
    kept = made(tmp_path)
    assert (kept.read("a/b"), kept.size("a/b"), kept.names("a")) == (None, None, [])
    kept.write("a/b", b"one")
    kept.write("a/b", b"other")
    assert (kept.read("a/b"), kept.size("a/b"), kept.names("a")) == (b"other", 5, ["b"])
    assert kept.claim("a/c", b"mine")
    assert not kept.claim("a/c", b"yours")
    assert kept.read("a/c") == b"mine"
    for at, data in ((0, b"12"), (2, b"345"), (4, b"6"), (0, b"789"), (3, b"")):
        kept.append("log/d", at, data)
    assert kept.read("log/d") == b"789"
    with pytest.raises(RunError, match="expected at least 9"):
        kept.append("log/d", 9, b"0")
    kept.move("a/b", "quarantine/b")
    assert (kept.names("a"), kept.read("quarantine/b")) == (["c"], b"other")
    kept.remove("a/c")
    kept.remove("a/c")
    assert kept.names("a") == []
    if isinstance(kept, LocalFiles):
        kept.close()


def test_of_two_drivers_that_take_a_lease_at_once_one_has_it(tmp_path: Path) -> None:
    class Slow(RemoteFiles):
        """Files of a driver that looks, and writes only after another has."""

        def write(self, name: str, data: bytes) -> None:
            if not others:
                others.append(Lease(appending(tmp_path)))
            super().write(name, data)

    others: list[Lease] = []
    late = Lease(Slow(pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem()), ""))
    assert late.epoch == others[0].epoch == 1
    late.check()
    with pytest.raises(FencedError, match="at the same time"):
        others[0].check()
    assert Lease(appending(tmp_path)).epoch == 2
    with pytest.raises(FencedError, match="lease 2"):
        late.check()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_driver_that_is_started_elsewhere_goes_on_from_the_url(
    elsewhere: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if elsewhere:  # what is at file:// is no file of this machine
        here = pafs.LocalFileSystem()
        system = SimpleNamespace(from_uri=lambda url: (NotAppending(here), url.removeprefix("file://")))
        kinds = {name: getattr(pafs, name) for name in ("LocalFileSystem", "FileSelector", "FileType")}
        monkeypatch.setattr(files, "pafs", SimpleNamespace(FileSystem=system, **kinds))
    shared = tmp_path / "shared"
    site = Site(tmp_path, seed=8, files=6)
    site.lines.sort(key=lambda line: int(line.partition("\t")[0]))
    settings: dict[str, Any] = {
        "checkpoint": f"file://{shared}/checkpoint",
        "results": f"file://{shared}/results",
        "placement": "local",
    }
    cut = 35
    for name, lines in (("first", site.lines[:cut]), ("second", site.lines[cut:])):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        live = api.query(QUERY).start({STREAM: "push:"}, **settings)
        assert isinstance(live.checkpoint, RemoteFiles if elsewhere else LocalFiles)
        live.streams[STREAM].send_lines(lines)
        if name == "second":
            live.streams[STREAM].end()
            assert live.wait(60)
        live.stop()
        assert not [*Path.cwd().iterdir()]
    found = [text for _, text in read_units(files_at(settings["results"]))]
    assert found == site.expected()
