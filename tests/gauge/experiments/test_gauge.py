"""The gauge, small: the line that it ends with, and what makes it fail."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph_gauge.experiments.__main__ import main
from hydrograph_gauge.experiments.max_rate import explain_failure, find_max_rate, is_growing
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.summary import find_empty_queries, summarize_gauge
from hydrograph_gauge.run_records import Key, OutcomeRecord, WindowRecord, line_of, read_records


@pytest.fixture(scope="module", autouse=True)
def commit() -> Iterator[pytest.MonkeyPatch]:
    """Sources of one commit, whatever happens to the clone meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hydrograph_gauge.experiments.provenance.source_commit", lambda: "one")
        yield patch


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
        for record in read_records(ran[0]):
            written = record
            if not changed and isinstance(record, OutcomeRecord if what == "verdict" else WindowRecord):
                value: object = "timeout" if what == "verdict" else 0.999
                written, changed = record.model_copy(update={what: value}), True
            out.write(line_of(written))
    line, right = summarize_gauge([folder], "hydrograph")
    assert not right
    assert ("precision 1," in line) == (what != "precision")
    done = CliRunner().invoke(main, ["papers-small", "-o", str(folder)])  # what is there is not run again
    assert done.exit_code == 1
    assert done.output.splitlines()[-1] == line


def test_answers_of_another_commit_are_discarded(
    ran: tuple[Path, str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(ran[0], folder)
    wrong = (folder / "results.jsonl").read_text().replace('"verdict":"ok"', '"verdict":"timeout"')
    (folder / "results.jsonl").write_text(wrong)
    monkeypatch.setattr("hydrograph_gauge.experiments.provenance.source_commit", lambda: "another")
    done = CliRunner().invoke(main, ["papers-small", "-o", str(folder), "--test", "functional 1"])
    assert "had answers of another commit (one): all is run again, over the same data" in done.output
    line = done.output.splitlines()[-1]
    assert line.startswith("gauge: 1 queries, ")
    assert line.endswith("precision 1, recall 1")
    assert done.exit_code == 0
    assert (folder / "worlds").exists()


def test_nothing_judged_is_not_right(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text("")
    assert summarize_gauge([tmp_path], "hydrograph") == (
        "gauge: 0 queries, 0 windows, 0 non-empty, precision 0, recall 0",
        False,
    )


def test_queries_without_answers_are_named(ran: tuple[Path, str, int], tmp_path: Path) -> None:
    with (tmp_path / "results.jsonl").open("w") as out:
        for record in read_records(ran[0]):
            empty = isinstance(record, OutcomeRecord) and record.key.query == "hot"
            out.write(line_of(record.model_copy(update={"non_empty": 0}) if empty else record))
    assert list(find_empty_queries([tmp_path], {"rooms"})) == [("rooms", "hot")]
    assert list(find_empty_queries([tmp_path], {"functional 1"})) == []


def test_a_query_without_answers_makes_the_gauge_fail(ran: tuple[Path, str, int], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(ran[0], folder)
    with (folder / "results.jsonl").open("w") as out:
        for record in read_records(ran[0]):
            empty = isinstance(record, OutcomeRecord) and record.key.query == "hot"
            out.write(line_of(record.model_copy(update={"non_empty": 0}) if empty else record))
    done = CliRunner().invoke(main, ["papers-small", "-o", str(folder)])
    assert done.exit_code == 1
    assert "rooms: no window of hot has an answer, so nothing was checked" in done.output.splitlines()


def test_all_workloads_whose_queries_must_have_answers_say_so() -> None:
    must = {test.name.split(" ")[0].rstrip(",") for test in read_experiment("papers").tests if test.answers}
    assert must == {"LSBench", "CSRBench", "YABench"}
    silent_ones = {test.name for test in read_experiment("papers").tests if not test.answers}
    assert silent_ones == {"SRBench", "shop, tumbling", "shop, sliding", "shop, Q9 and Q47"}


def test_the_highest_rate_is_found_between_bounds() -> None:
    rate, tried = find_max_rate(lambda rate: "" if rate <= 700 else "wrong", 10, 100_000)
    assert 630 < rate <= 700
    assert tried[:2] == ((10, ""), (100_000, "wrong"))
    assert len(tried) < 12
    assert find_max_rate(lambda _: "wrong", 10, 100)[0] == 0
    assert find_max_rate(lambda _: "", 10, 100)[0] == 100
    assert not is_growing([])


GROWING = [10.0, 200, 400, 600, 800, 1000]
STEADY = [10.0, 12, 11, 10, 13, 12]


@pytest.mark.parametrize(
    ("changed", "delays", "late", "why"),
    [
        ({}, STEADY, STEADY, ""),
        ({"verdict": "wrong"}, STEADY, STEADY, "wrong"),
        ({"non_empty": 0}, STEADY, STEADY, "no window has an answer"),
        ({}, GROWING, STEADY, "delay grows"),
        ({}, STEADY, GROWING, "elements are taken later and later"),
        ({}, [], STEADY, "no window closed while the stream was played"),
        ({}, [9000.0, 8000, 7000, 6000, 5000], STEADY, "answers wait for the end of the stream"),
    ],
)
def test_an_engine_that_does_not_keep_up_holds_no_rate(
    changed: dict[str, object], delays: list[float], late: list[float], why: str
) -> None:
    key = Key(test="t", engine="e", query="q")
    outcome = OutcomeRecord(key=key, verdict="ok", phase="execution", windows=6, non_empty=6)
    assert explain_failure(outcome.model_copy(update=changed), delays, late, 10_000) == why
