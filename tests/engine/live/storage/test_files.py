"""Local files with `--sync`: fsync of the directory makes the names of new files durable too."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hydrograph.live.storage.files import LocalFiles


@pytest.mark.parametrize("sync", [False, True])
def test_directories_are_synced_when_they_get_new_files(
    sync: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    fsync = os.fsync

    def note(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    files = LocalFiles(tmp_path / "root", sync=sync)
    files.write("a/b/whole", b"1")
    made, synced[:] = [*synced], []
    files.append("a/log", 0, b"1")
    files.append("a/log", 1, b"2")
    files.claim("a/lease", b"1")
    files.move("a/lease", "a/b/lease")
    files.close()
    if sync:
        assert made == ["a", "root", tmp_path.name, "b"]
        assert synced == ["a", "a", "b"]
    else:
        assert made == synced == []
