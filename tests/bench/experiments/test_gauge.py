"""The gauge, small: the line that it ends with, and what makes it fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph.bench.experiments.__main__ import main
from hydrograph.bench.experiments.holding import grows, highest
from hydrograph.bench.experiments.summary import gauge, silent
from hydrograph.bench.results import Outcome, Window, line_of, read


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, int]:
    folder = tmp_path_factory.mktemp("papers")
    done = CliRunner().invoke(main, ["papers-small", "-o", str(folder)])
    return folder, done.output, done.exit_code


def test_every_window_of_the_small_workloads_is_right(ran: tuple[Path, str, int]) -> None:
    _, output, code = ran
    assert output.splitlines()[-1] == "gauge: 5 queries, 26 windows, 23 non-empty, precision 1, recall 1"
    assert code == 0


@pytest.mark.parametrize("what", ["precision", "recall", "verdict"])
def test_one_thing_wrong_is_not_right(ran: tuple[Path, str, int], tmp_path: Path, what: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(ran[0], folder)
    changed = False
    with (folder / "results.jsonl").open("w") as out:
        for record in read(ran[0]):
            written = record
            if not changed and isinstance(record, Outcome if what == "verdict" else Window):
                value: object = "timeout" if what == "verdict" else 0.999
                written, changed = record.model_copy(update={what: value}), True
            out.write(line_of(written))
    line, right = gauge([folder], "hydrograph")
    assert not right
    assert ("precision 1," in line) == (what != "precision")
    done = CliRunner().invoke(main, ["papers-small", "-o", str(folder)])  # what is there is not run again
    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == line


def test_nothing_judged_is_not_right(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("")
    assert gauge([tmp_path], "hydrograph") == (
        "gauge: 0 queries, 0 windows, 0 non-empty, precision 0, recall 0",
        False,
    )


def test_queries_without_answers_are_named(ran: tuple[Path, str, int], tmp_path: Path) -> None:
    with (tmp_path / "results.jsonl").open("w") as out:
        for record in read(ran[0]):
            empty = isinstance(record, Outcome) and record.key.query == "hot"
            out.write(line_of(record.model_copy(update={"non_empty": 0}) if empty else record))
    assert list(silent([tmp_path], {"rooms"})) == [("rooms", "hot")]
    assert list(silent([tmp_path], {"functional 1"})) == []


def test_the_highest_rate_is_found_between_bounds() -> None:
    rate, tried = highest(lambda rate: rate <= 700, 10, 100_000)
    assert 630 < rate <= 700
    assert tried[:2] == ((10, True), (100_000, False))
    assert len(tried) < 12
    assert highest(lambda _: False, 10, 100)[0] == 0
    assert highest(lambda _: True, 10, 100)[0] == 100
    assert not grows([])
