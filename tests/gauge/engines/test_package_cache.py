"""Installing an engine once: all or nothing, by one process at a time."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from hydrograph.errors import RunError
from hydrograph_gauge.engines.package_cache import cached_folder, install_once, run_installer


def test_the_folder_depends_on_the_content_of_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "lock").write_text("one")
    first = cached_folder("engine-1.0", tmp_path / "lock")
    (tmp_path / "lock").write_text("two")
    assert first.parent == tmp_path / "hydrograph"
    assert cached_folder("engine-1.0", tmp_path / "lock") != first


def test_several_at_once_install_it_once(tmp_path: Path) -> None:
    made = []

    def install(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.05)
        (folder / "engine").write_text("here")

    target = tmp_path / "cache" / "engine"
    threads = [threading.Thread(target=install_once, args=(target, install)) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(made) == 1
    assert (target / "engine").read_text() == "here"


def test_an_install_that_fails_leaves_nothing_and_names_the_reason(tmp_path: Path) -> None:
    target = tmp_path / "engine"

    def install(folder: Path) -> None:
        (folder / "half").touch()
        run_installer("engine 1.0", [sys.executable, "-c", "raise SystemExit('no registry')"], folder, 60)

    with pytest.raises(RunError, match=r"cannot install engine 1.0: .* printed no registry"):
        install_once(target, install)
    assert [file.name for file in tmp_path.iterdir()] == ["engine.lock"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"cannot install engine into .*file"):
        install_once(tmp_path / "file" / "engine", lambda _: None)
