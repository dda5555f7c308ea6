"""The demo prints what it did, leaves a page, and fails if our own answers are not right."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from hydrograph.cli.main import main
from hydrograph.errors import MismatchError
from hydrograph_gauge.cli.demo import _check, demonstrate
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.run_records import Key, OutcomeRecord


def test_an_experiment_is_run_judged_and_shown(tmp_path: Path) -> None:
    said = io.StringIO()
    experiment = read_experiment("rooms")
    demonstrate(experiment, tmp_path / "run", tmp_path / "report.html", Console(file=said, width=120))
    text = said.getvalue()
    assert f"report: {tmp_path / 'report.html'}" in text
    assert "hot on hydrograph" in text
    assert "more windows with rows" in text
    assert "Summary" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("verdict", "non_empty", "complaint"),
    [("wrong", 3, "expected ok, got wrong"), ("ok", 0, "no window has an answer"), ("ok", 1, None)],
)
def test_wrong_or_empty_answers_of_ours_are_an_error(verdict: str, non_empty: int, complaint: str | None) -> None:
    ours = OutcomeRecord(
        key=Key(test="t", engine="hydrograph", query="q"), verdict=verdict, phase="execution", non_empty=non_empty
    )
    other = OutcomeRecord(key=Key(test="t", engine="other", query="q"), verdict="crash", phase="execution")
    if complaint is None:
        _check([other, ours])
    else:
        with pytest.raises(MismatchError, match=complaint):
            _check([other, ours])


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_compares_three_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["demo", "-o", str(tmp_path / "report.html"), "--keep", str(tmp_path / "run")])
    said = capsys.readouterr().out
    assert "demo: 9 runs of queries judged" in said
    for engine in ("hydrograph", "oxigraph", "oxigraph-periodic"):
        assert engine in said
    assert (tmp_path / "report.html").stat().st_size > 50_000
