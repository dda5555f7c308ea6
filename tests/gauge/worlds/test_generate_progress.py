"""Progress bar of `hydrograph generate`: shows steps and Spark tasks on a terminal, and nothing elsewhere."""

from __future__ import annotations

import threading

import pytest

from hydrograph_gauge.cli.generate import _progress


def test_a_terminal_sees_what_happens_next(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    asked = threading.Event()

    def tasks() -> tuple[int, int]:
        asked.set()
        return 3, 4

    with _progress(tasks) as step:
        step("static data")
        assert asked.wait(60)
        step("sensors as tnt")
    shown = capsys.readouterr()
    assert "sensors as tnt" in shown.err
    assert shown.out == ""
    assert all(thread.name != "progress" for thread in threading.enumerate())


def test_a_file_sees_nothing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def tasks() -> tuple[int, int]:
        raise AssertionError("not called without a terminal")

    with _progress(tasks) as step:
        step("static data")
    assert capsys.readouterr() == ("", "")
