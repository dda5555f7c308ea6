"""Running experiments: steps write files, interrupted runs are resumed, and errors are named."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hydrograph.errors import DataError, UsageError
from hydrograph_gauge.experiments.data import prepare_data
from hydrograph_gauge.experiments.model import read_experiment, repeat_tests
from hydrograph_gauge.experiments.options import RunOptions
from hydrograph_gauge.experiments.provenance import start_run
from hydrograph_gauge.experiments.run import compute_run_expected, play_experiment, rejudge_run, run_experiment
from hydrograph_gauge.experiments.run_folder import list_played, read_played
from hydrograph_gauge.experiments.summary import format_summary, summarize_gauge
from hydrograph_gauge.functional.cases import CASES
from hydrograph_gauge.run_records import (
    ExclusionRecord,
    FunctionalRecord,
    MaxRateRecord,
    MismatchRecord,
    MissingEngineRecord,
    OutcomeRecord,
    QueryRecord,
    Record,
    WindowRecord,
    read_provenance,
    read_records,
)
from tests.support.gauge_runs import STREAM

TEXT = """
engines = ["oxigraph", "ENGINE"]
seed = 5
[world.streams]
"urn:stream" = "stream.tnt"
[world.static]
default = "static.nt"
[queries.texts]
all = "SELECT ?s ?o FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s] { WINDOW <urn:w> { ?s <urn:p> ?o } }"
none = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s] { WINDOW <urn:w> { ?s <urn:q> ?o } }"
[[test]]
name = "right"
together = true
[[test]]
name = "fast"
only_right = "right"
repetitions = 2
measure = "cmet"
play = {pace = "step"}
"""
REFUSING = """
import json, sys
for line in sys.stdin:
    told = json.loads(line)
    if told["do"] == "load":
        print(json.dumps({"reply": "loaded"}), flush=True)
    elif told["do"] == "register":
        print(json.dumps({"reply": "refused", "query": told["query"], "why": "unsupported", "words": "no"}), flush=True)
"""
DEAF = "import sys\nfor line in sys.stdin:\n    pass\n"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that no test changes."""
    file = prepared(tmp_path_factory.mktemp("whole"))
    run_experiment(read_experiment(str(file)), file.parent / "run")
    return file.parent / "run"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def prepared(tmp_path: Path) -> Path:
    (tmp_path / "stream.tnt").write_text(STREAM)
    (tmp_path / "static.nt").write_text("<urn:a> <urn:b> <urn:c> .\n")
    place = tmp_path / "small.toml"
    place.write_text(TEXT.replace(', "ENGINE"', ""))
    return place


def outcomes(folder: Path) -> list[OutcomeRecord]:
    return [record for record in read_records(folder) if isinstance(record, OutcomeRecord)]


def kinds(folder: Path) -> dict[type[Record], int]:
    found: dict[type[Record], int] = {}
    for record in read_records(folder):
        found[type(record)] = found.get(type(record), 0) + 1
    return found


def test_a_run_judges_every_window_and_speed_is_compared_only_where_answers_are_right(whole: Path) -> None:
    folder = whole
    found = outcomes(folder)
    assert [(each.key.test, each.key.query, each.verdict, each.windows, each.non_empty) for each in found] == [
        ("right", "all", "ok", 5, 5),
        ("right", "none", "ok", 5, 0),
        ("fast", "all", "ok", 5, 5),
        ("fast", "all", "ok", 5, 5),
    ]
    assert [(each.query, each.why) for each in read_records(folder) if isinstance(each, ExclusionRecord)] == [
        ("none", "no results")
    ]
    windows = [each for each in read_records(folder) if isinstance(each, WindowRecord)]
    assert windows[0].model_dump(include={"t", "open", "close", "content", "expected", "actual"}) == {
        "t": 2000, "open": 0, "close": 2000, "content": 4, "expected": 4, "actual": 4,
    }  # fmt: skip
    # As fast as elements are taken, delay is the length of a queue.
    assert {each.delay_median for each in found} == {None}
    assert {each.static for each in found} == {1}
    assert found[-1].executions_rate is not None
    assert found[-1].executions == 5
    assert {each.query for each in read_records(folder) if isinstance(each, QueryRecord)} == {"all", "none"}
    assert (read_provenance(folder).seed, read_provenance(folder).seeds) == (5, {"right": 5, "fast": 5})
    table = pq.read_table(folder / "tables" / "outcome.parquet")
    assert table.num_rows == 4
    assert json.loads(table.schema.metadata[b"hydrograph.seed"]) == 5
    line, ok = summarize_gauge([folder], "oxigraph")
    assert line == "gauge: 4 queries, 20 windows, 15 non-empty, precision 1, recall 1"
    assert ok


def test_what_is_in_the_results_is_not_run_again(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    shutil.copytree(whole, folder)
    experiment = read_experiment(str(whole.parent / "small.toml"))
    text = (folder / "results.jsonl").read_bytes()
    lines = text.splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"record":"outcome"' in line)
    (folder / "results.jsonl").write_bytes(b"".join(lines[:last]) + lines[last][:40])
    monkeypatch.setattr("hydrograph_gauge.experiments.play.run_session", None)  # nothing is played again: it is there
    run_experiment(experiment, folder)
    assert (folder / "results.jsonl").read_bytes() == text
    monkeypatch.setattr("hydrograph_gauge.experiments.run.play", None)
    run_experiment(experiment, folder)
    assert (folder / "results.jsonl").read_bytes() == text


def test_another_experiment_does_not_go_into_the_same_folder(whole: Path) -> None:
    with pytest.raises(UsageError, match="holds a run of small, not of rooms"):
        run_experiment(read_experiment("rooms"), whole)


def test_a_run_is_resumed_with_more_engines_but_not_over_other_data(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    start_run(read_experiment(str(file)), folder)
    said: list[str] = []
    start_run(read_experiment(str(file), ["engines=oxigraph,hydrograph", "repetitions=3"]), folder, said.append)
    assert not said
    file.write_text(TEXT.replace("[RANGE 2s]", "[RANGE 3s]"))
    start_run(read_experiment(str(file)), folder)  # nothing has been played yet
    file.write_text(TEXT)
    start_run(read_experiment(str(file)), folder)
    (folder / "played").mkdir()
    file.write_text(TEXT.replace("[RANGE 2s]", "[RANGE 3s]"))
    with pytest.raises(UsageError, match="holds test right with other settings: choose another folder"):
        start_run(read_experiment(str(file)), folder)
    file.write_text(TEXT + '[[test]]\nname = "more"\n')
    start_run(read_experiment(str(file)), folder, said.append)
    assert list(read_provenance(folder).tests) == ["right", "fast", "more"]


def test_results_of_other_sources_are_not_taken_silently(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_run(read_experiment(str(file)), tmp_path / "run")
    monkeypatch.setattr("hydrograph_gauge.experiments.provenance.source_commit", lambda: "another")
    said: list[str] = []
    start_run(read_experiment(str(file)), tmp_path / "run", said.append)
    assert "what was played then is not played again" in said[0]


def test_each_step_runs_alone_on_the_files_of_a_run(file: Path) -> None:
    folder = file.parent / "run"
    assert play_experiment(read_experiment(str(file), only=["right"]), folder) == 1
    assert not (folder / "results.jsonl").exists()
    (place,) = list_played(folder)
    record = read_played(place)
    assert (record.elements, record.triples, set(record.questions)) == (20, 20, {"all", "none"})
    assert pq.read_table(place / "handed.parquet").num_rows == 20
    assert len(compute_run_expected(folder)) == 1
    rejudge_run(folder, folder)
    assert kinds(folder)[OutcomeRecord] == 2
    again = file.parent / "again"
    rejudge_run(folder, again, profile="csparql")
    assert read_provenance(again).settings == {"profile": "csparql"}
    # An engine with the profile of C-SPARQL would report every window here, so the verdicts are the same.
    assert [each.verdict for each in outcomes(again)] == ["ok", "ok"]
    wrong = file.parent / "wrong"
    rejudge_run(folder, wrong, profile="cqels")
    assert [each.verdict for each in outcomes(wrong)] == ["wrong", "ok"]  # of nothing, nothing is wrong


def test_engines_that_fail_are_part_of_the_result(file: Path) -> None:
    deaf = file.parent / "deaf.py"
    deaf.write_text(DEAF)
    file.write_text("limits = {seconds = 6}\n" + TEXT.replace("ENGINE", f"program:{sys.executable} {deaf}"))
    folder = file.parent / "run"
    run_experiment(read_experiment(str(file), only=["right"]), folder)
    found = {(each.key.engine[:7], each.key.query): each.verdict for each in outcomes(folder)}
    assert found["oxigrap", "all"] == "ok"
    assert kinds(folder)[MismatchRecord] == 4
    assert any("program" in line for line in format_summary([folder]))
    assert found["program", "all"] == "timeout"


def test_an_engine_that_goes_by_the_clock_is_right_by_when_elements_were_handed_over(file: Path) -> None:
    """Four times as fast, elements of two windows come in one; borders lie a second and more from all that is asked."""
    times = {0: "starts", 1000: "p", 3000: "p", 12_000: "p"}
    (file.parent / "stream.tnt").write_text("".join(f"{t}\t<urn:s{t}> <urn:{p}> <urn:o> .\n" for t, p in times.items()))
    clocked = 'play = {pace = "event-time", speed = 4}\n' + TEXT.replace('"oxigraph", "ENGINE"', '"oxigraph-periodic"')
    file.write_text("\n".join(line for line in clocked.splitlines() if not line.startswith("none =")))
    run_experiment(read_experiment(str(file), only=["right"]), file.parent / "run")
    (outcome,) = outcomes(file.parent / "run")
    assert outcome.verdict == "ok"
    windows = [each for each in read_records(file.parent / "run") if isinstance(each, WindowRecord)]
    assert [(window.expected, window.actual) for window in windows] == [(2, 2), (1, 1)]


def test_an_engine_and_the_oracle_may_each_be_asked_in_words_of_their_own(file: Path) -> None:
    given, tests = TEXT.replace(', "ENGINE"', "").split("[[test]]", 1)
    inner = "{ ?s <urn:p> ?o FILTER(?s = <urn:s0>) }"
    window = "FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2s]"
    engine = f'[queries.engine_texts.oxigraph]\nall = "SELECT ?s ?o {window} {{ WINDOW <urn:w> {inner} }}"\n'
    oracle = f'[queries.oracle_texts]\nall = "SELECT ?s ?o {{ GRAPH <urn:w> {inner} }}"\n'
    for own, verdict in ((engine, "wrong"), (engine + oracle, "ok")):
        file.write_text(f"{given}{own}[[test]]{tests}")
        folder = file.parent / verdict
        run_experiment(read_experiment(str(file), only=["right"]), folder)
        found = next(each for each in outcomes(folder) if each.key.query == "all")
        assert (found.verdict, found.output) == (verdict, 7)
    (facts, _) = [each for each in read_records(folder) if isinstance(each, QueryRecord)]
    assert inner in facts.texts["oxigraph"]
    file.write_text(f"{given}{engine.replace('.oxigraph]', '.oxygraph]')}[[test]]{tests}")
    with pytest.raises(UsageError, match="no engine named 'oxygraph'"):
        run_experiment(read_experiment(str(file), only=["right"]), file.parent / "run")


def test_engines_are_compared_by_pairs_of_those_that_take_the_query(file: Path) -> None:
    deaf = file.parent / "refuse.py"
    deaf.write_text(REFUSING)
    more = f'"oxigraph", "program:{sys.executable} {deaf}", "oxigraph-periodic"'
    file.write_text(TEXT.replace('"oxigraph", "ENGINE"', more))
    folder = file.parent / "run"
    for _ in range(2):  # what was compared is not compared again
        run_experiment(read_experiment(str(file), only=["right"]), folder)
        pairs = {(each.one, each.other) for each in read_records(folder) if isinstance(each, MismatchRecord)}
        assert pairs == {("oxigraph", "oxigraph-periodic"), ("oxigraph-periodic", "oxigraph")}
        assert kinds(folder)[MismatchRecord] == 4
    strict = {
        each.comparable for each in read_records(folder) if isinstance(each, MismatchRecord) and each.query == "all"
    }
    assert strict == {False}
    file.write_text("comparable = 1.0\n" + file.read_text())
    lenient = file.parent / "lenient"
    play_experiment(read_experiment(str(file), only=["right"]), lenient)
    rejudge_run(lenient, lenient)
    assert {
        each.comparable for each in read_records(lenient) if isinstance(each, MismatchRecord) and each.query == "all"
    } == {True}


def test_a_missing_engine_is_reported_and_excludes_no_query(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = f"cqels:{file.parent / 'gone'}"
    monkeypatch.setattr("hydrograph_gauge.functional.suite.run_suite", lambda *_, **__: [])
    suite = '[[test]]\nname = "suite"\nmeasure = "functional"\n'
    file.write_text(TEXT.replace("ENGINE", gone) + suite)
    folder = file.parent / "run"
    said: list[str] = []
    for _ in range(2):
        run_experiment(read_experiment(str(file)), folder, RunOptions(progress=said.append))
        absent = [(each.test, each.engine) for each in read_records(folder) if isinstance(each, MissingEngineRecord)]
        assert sorted(absent) == [("fast", gone), ("right", gone), ("suite", gone)]
    assert [line for line in said if line.startswith(f"right: {gone} is left out: ")]
    assert [(each.query, each.why) for each in read_records(folder) if isinstance(each, ExclusionRecord)] == [
        ("none", "no results")
    ]
    assert {(each.key.test, each.key.engine, each.verdict) for each in outcomes(folder)} == {
        ("right", "oxigraph", "ok"),
        ("fast", "oxigraph", "ok"),
    }
    assert any(line.startswith(f"fast, {gone}: left out: ") for line in format_summary([folder]))
    rejudge_run(folder, folder)
    assert kinds(folder)[MissingEngineRecord] == 3
    run_experiment(read_experiment(str(file), ["engines=oxigraph"]), folder)  # missing engines are determined again
    assert MissingEngineRecord not in kinds(folder)


def test_tests_that_cannot_be_played_alone_are_named(file: Path) -> None:
    with pytest.raises(UsageError, match=r"functional cannot be played alone: .* use `hydrograph bench run`"):
        play_experiment(read_experiment("functional"), file.parent / "run")
    file.write_text(file.read_text() + '[[test]]\nname = "suite"\nmeasure = "functional"\n')
    said: list[str] = []
    some = read_experiment(str(file), only=["right", "suite"])
    assert play_experiment(some, file.parent / "run", RunOptions(progress=said.append)) == 1
    assert said[0] == "test suite is left out: only `hydrograph bench run` can play it"


def test_missing_data_is_named(file: Path) -> None:
    file.write_text(file.read_text().replace("static.nt", "gone.nt"))
    with pytest.raises(DataError, match=r"gone\.nt: no such file"):
        run_experiment(read_experiment(str(file)), file.parent / "run")
    file.write_text(file.read_text().replace('"urn:stream" =', '"urn:other" =').replace("gone.nt", "static.nt"))
    with pytest.raises(UsageError, match="no stream <urn:stream> in its data; there are urn:other"):
        run_experiment(read_experiment(str(file)), file.parent / "run")


def test_a_part_of_a_stream_can_be_played(file: Path) -> None:
    (test,) = read_experiment(str(file), only=["right"]).tests
    world = test.world.model_copy(update={"duration": 3000})
    data = prepare_data(world, 1, file.parent / "kept")
    (stream,) = data.streams.values()
    assert pq.read_table(stream.files[0]).num_rows == 6


SLOW = """
import subprocess, sys, time
command = [sys.executable, "-m", "hydrograph_gauge.engines.oxigraph", "incremental"]
engine = subprocess.Popen(command, stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    time.sleep(0.1)
    engine.stdin.write(line)
    engine.stdin.flush()
engine.stdin.close()
sys.exit(engine.wait())
"""
"""An engine that takes ten elements a second."""


def held(file: Path, engines: str, start: float) -> Path:
    """Look for the highest rate between `start` and nearly the same, and return the folder of the run."""
    test = (
        f'[[test]]\nname = "held"\nmeasure = "held"\nheld_from = {start}\nheld_to = {start + 1}\nheld_for = "500ms"\n'
    )
    file.write_text(TEXT.replace('"oxigraph", "ENGINE"', engines).split("[[test]]")[0] + test)
    run_experiment(read_experiment(str(file)), file.parent / "run")
    return file.parent / "run"


def test_the_highest_rate_is_looked_for_by_playing(file: Path) -> None:
    folder = held(file, '"oxigraph"', 15)
    some, none = [record for record in read_records(folder) if isinstance(record, MaxRateRecord)]
    assert (some.key.query, some.rate, some.tried, some.why) == ("all", 16, ((15, True), (16, True)), "")
    assert (none.key.query, none.rate, none.why) == ("none", 0, "no window has an answer")
    assert "held, oxigraph, all: 16 elements/s held, the highest that was tried" in format_summary([folder])
    run_experiment(read_experiment(str(file)), folder)
    rejudge_run(folder, folder)
    assert kinds(folder)[MaxRateRecord] == 2
    run_experiment(repeat_tests(read_experiment(str(file)), 2), folder)
    assert kinds(folder)[MaxRateRecord] == 4
    assert any("all: 16 ± 0 elements/s held, mean of 2 repetitions" in line for line in format_summary([folder]))
    assert not outcomes(folder)


def test_an_engine_that_is_too_slow_does_not_hold_a_rate(file: Path) -> None:
    slow = file.parent / "slow.py"
    slow.write_text(SLOW)
    found, _ = [
        each
        for each in read_records(held(file, f'"program:{sys.executable} {slow}"', 35))
        if isinstance(each, MaxRateRecord)
    ]
    assert (found.rate, found.tried, found.why) == (0, ((35, False),), "elements are taken later and later")


def test_a_rate_is_only_tried_for_as_long_as_there_is_a_stream(file: Path) -> None:
    held = 'name = "held"\nmeasure = "held"\nheld_from = 100\n'
    file.write_text(file.read_text().split("[[test]]")[0] + f"[[test]]\n{held}")
    with pytest.raises(
        UsageError, match="the streams of all have 20 elements: expected 1,000 for 10 s at 100 a second"
    ):
        run_experiment(read_experiment(str(file)), file.parent / "run")


def test_the_functional_suite_is_a_test_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def functional(engine: str, cases: Sequence[object], *, repeat: int, phase: int) -> list[FunctionalRecord]:
        assert [*cases] == [*CASES]  # without the W3C's tests unless their folder is given
        assert (repeat, phase) == (3, 400)
        asked.append(engine)
        return [FunctionalRecord(engine=engine, group="R2R", name="filter", passed=True)]

    monkeypatch.setattr("hydrograph_gauge.functional.suite.run_suite", functional)
    file.write_text('engines = ["oxigraph", "hydrograph"]\n[[test]]\nname = "f"\nmeasure = "functional"\nphase = 400\n')
    folder = file.parent / "run"
    for _ in range(2):
        run_experiment(repeat_tests(read_experiment(str(file)), 3), folder)
    assert ",".join(asked) == "oxigraph,hydrograph"
    assert kinds(folder)[FunctionalRecord] == 2
