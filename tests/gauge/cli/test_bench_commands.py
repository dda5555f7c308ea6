"""The command `hydrograph bench`: a shipped experiment, its steps alone, its report, and what is refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hydrograph.errors import UsageError
from hydrograph_gauge.cli.bench import command
from hydrograph_gauge.experiments import model
from hydrograph_gauge.experiments.model import list_shipped, read_experiment


def bench(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("rooms") / "run"
    return folder, bench("run", "rooms", "-D", "engines=oxigraph", "-o", str(folder))


def test_a_run_says_what_it_does_what_came_of_it_and_where_its_time_went(ran: tuple[Path, Result]) -> None:
    folder, done = ran
    assert done.exit_code == 0, done.output
    said = done.stderr.splitlines()
    assert said[0] == "correctness, oxigraph, 3 queries: playing"
    assert "triples played in" in said[1]
    assert said[-2] == "correctness, oxigraph, 3 queries: 2 ok, 1 not supported; 12 windows"
    assert said[-1].startswith("time: data ")
    assert all(f"{what} " in said[-1] for what in ("play", "oracle", "judge"))
    assert done.stdout.splitlines() == [
        "correctness, oxigraph: 3 queries (2 ok, 1 not supported), 12 windows, 12 non-empty, precision 1, recall 1"
    ]
    again = bench("run", "rooms", "-D", "engines=oxigraph", "-o", str(folder))
    assert "playing" not in again.stderr  # it is all there
    assert again.stdout == done.stdout


def test_what_was_played_is_judged_again_and_shown(ran: tuple[Path, Result], tmp_path: Path) -> None:
    folder, done = ran
    same = bench("compare", str(folder), "-o", str(tmp_path / "same"), "--quiet")
    assert (same.exit_code, same.stdout, same.stderr) == (0, done.stdout, "")
    other = bench("compare", str(folder), "-o", str(tmp_path / "other"), "--profile", "cqels")
    assert "precision 0" in other.stdout
    assert "judged: 3 queries" in other.stderr
    page = tmp_path / "page.html"
    assert bench("report", str(folder), str(tmp_path / "other"), "-o", str(page)).exit_code == 0
    assert "<html" in page.read_text("utf-8")


def test_a_run_is_repeated_and_its_means_have_intervals(ran: tuple[Path, Result], tmp_path: Path) -> None:
    """A run of one repetition is continued with two more."""
    folder = tmp_path / "run"
    shutil.copytree(ran[0], folder)
    done = bench("run", "rooms", "-D", "engines=oxigraph", "--repeat", "3", "-o", str(folder))
    assert done.exit_code == 0, done.output
    assert [line for line in done.stderr.splitlines() if line.endswith("playing")] == [
        f"correctness, oxigraph, 3 queries, repetition {number}: playing" for number in (2, 3)
    ]
    first, second = done.stdout.splitlines()
    assert first.startswith("correctness, oxigraph: 9 queries (6 ok, 3 not supported), 36 windows")
    assert second.startswith("correctness, oxigraph: means of 3 repetitions (95 % Student t): precision 1 ± 0, ")
    page = tmp_path / "page.html"
    assert bench("report", str(folder), "-o", str(page)).exit_code == 0
    assert "Means over repetitions, with their confidence intervals (95 % Student t)." in page.read_text("utf-8")
    with pytest.raises(SystemExit):
        command(["run", "rooms", "--repeat", "0", "-o", str(folder)])


def test_experiments_are_listed_and_each_says_how_long_it_takes() -> None:
    listed = bench("list").stdout
    sources = Path(model.__file__).with_name("shipped")
    for name in list_shipped():
        assert f"{name}: {read_experiment(name).title}" in listed
        if name not in ("rooms", "demo", "papers-small"):  # these take less than three minutes
            assert "# About " in (sources / f"{name}.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "nothing", "-o", "x"], "no experiment 'nothing': expected a file or one of csrbench"),
        (["run", "rooms", "-D", "colour=red", "-o", "x"], "rooms has no parameter 'colour'"),
        (["run", "rooms", "--test", "speed", "-o", "x"], "rooms has no test 'speed'; it has correctness"),
    ],
)
def test_what_is_not_there_is_named(arguments: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
