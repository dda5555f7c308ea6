"""YABench's directories and result files: read, run, judged again, with its own verdicts beside ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hydrograph.errors import DataError, UsageError
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.experiments.run import rejudge_run
from hydrograph_gauge.experiments.yabench import (
    YABENCH_ORACLE,
    import_yabench,
    read_yabench_answers,
    read_yabench_tests,
)
from hydrograph_gauge.run_records import OutcomeRecord, WindowRecord, read_provenance, read_records

OM = "http://knoesis.wright.edu/ssw/ont/sensor-observation.owl#"
ENGINE = f"""REGISTER QUERY q AS SELECT ?obs ?value
FROM STREAM <http://ex.org/streams/test> [RANGE ${{WSIZE}} STEP ${{WSLIDE}}]
WHERE {{ ?obs <{OM}floatValue> ?value FILTER(?value > ${{TEMP}}) }}"""
ORACLE = f"SELECT ?obs ?value WHERE {{ ?obs <{OM}floatValue> ?value FILTER(?value > ${{TEMP}}) }}"
CONFIG = {
    "generator": "SG1", "duration": "10s", "seed": 7, "stations": 1, "interval": "1s", "enginename": "csparql",
    "vars": {"WSIZE": "5s", "WSLIDE": "5s", "WPOLICY": "onwindowclose", "TEMP": "50.0"},
    "tests": [{"name": "hot"}, {"name": "mild", "runs": 3, "vars": {"TEMP": "20.0"}}],
}  # fmt: skip
VARS = {"WSIZE": "5s", "WSLIDE": "5s", "WPOLICY": "onwindowclose", "TEMP": "50.0"}
VALUES = {0: 10, 1000: 60, 2000: 70, 6000: 80, 7000: 30}
START = 1430236906000


def line(t: int, value: int) -> str:
    return f'<http://e/o{t}> <{OM}floatValue> {value}.0^^<http://www.w3.org/2001/XMLSchema#float> "{t}" .\n'


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    place = tmp_path / "Experiment_1"
    results = place / "results"
    results.mkdir(parents=True)
    (place / "config.json").write_text(json.dumps(CONFIG))
    (place / "engine.query").write_text(ENGINE)
    (place / "oracle.query").write_text(ORACLE)
    (results / "SG_hot").write_text("".join(line(t, value) for t, value in VALUES.items()))
    rows = [f'http://e/o{t}\t"{VALUES[t]}.0"^^http://www.w3.org/2001/XMLSchema#float' for t in (1000, 6000)]
    answers = [str(START), "obs\tvalue", str(START + 5112), rows[0], str(START + 10022), rows[1]]
    (results / "QR_hot").write_text("\n".join(answers) + "\n")
    (results / "P_hot").write_text(
        "csparql\ntime,rss_mem,cpu_percent,mem_percent,threads\n0,120.5,50,1,20\n500,130,100,1,21\n"
    )
    (results / "ORACLE_hot").write_text("1.0,0.5,1,2,3,0,5000,112\n1.0,1.0,1,1,2,5000,10000,22\n")
    return place


def test_a_directory_becomes_an_experiment(directory: Path) -> None:
    found = read_experiment(str(directory))
    assert [(test.name, test.repetitions, test.seed) for test in found.tests] == [("hot", 1, 7), ("mild", 3, 7)]
    hot, mild = found.tests
    assert hot.world.name == "sensors"
    assert hot.world.settings["stations"] == 1
    assert "50.0" in hot.queries.texts["query"]
    assert "20.0" in mild.queries.texts["query"]
    assert "RANGE 5s STEP 5s" in mild.queries.engine_texts["hydrograph"]["query"]
    assert hot.oracle.profile == "yabench-close"
    assert read_experiment(str(directory), ["engines=oxigraph", "seed=3"]).tests[0].engines == ("oxigraph",)


def test_keys_and_variables_are_set_from_the_command_line_and_unknown_ones_refused(directory: Path) -> None:
    config = directory / "config.json"
    config.write_text(json.dumps({**CONFIG, "graceful": True}))
    assert {test.oracle.gracious for test in read_experiment(str(directory)).tests} == {True}
    found = read_experiment(
        str(directory), ["TEMP=35", "graceful=false", "stations=4", "runs=2", "WPOLICY=oncontentchange"]
    )
    assert {test.oracle.gracious for test in found.tests} == {False}
    assert {test.oracle.profile for test in found.tests} == {"yabench-change"}
    assert {test.repetitions for test in found.tests} == {2}
    assert {test.world.settings["stations"] for test in found.tests} == {4}
    for test in found.tests:
        assert "> 35)" in test.queries.engine_texts["hydrograph"]["query"]
        assert "> 35" in test.queries.texts["query"]
    with pytest.raises(UsageError, match="no key or variable 'TMEP' to set with -D; there are TEMP, WPOLICY"):
        read_experiment(str(directory), ["TMEP=20"])
    with pytest.raises(UsageError, match="no key or variable 'exec"):
        read_experiment(str(directory), ["exec.engine=java"])
    with pytest.raises(UsageError, match="expected graceful to be true or false, got 'no'"):
        read_experiment(str(directory), ["graceful=no"])
    with pytest.raises(UsageError, match="expected key=value, got 'TEMP'"):
        read_experiment(str(directory), ["TEMP"])


def test_engines_that_read_its_language_are_asked_its_text(directory: Path) -> None:
    engines = "hydrograph-live,oxigraph,rsp-services:http://h,cqels:jars,csparql:jars"
    (test, _) = read_experiment(str(directory), [f"engines={engines}"]).tests
    assert list(test.queries.engine_texts) == ["hydrograph-live", "rsp-services:http://h", "csparql:jars"]


def test_its_results_are_judged_again_and_its_own_verdicts_stand_beside(directory: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert import_yabench(directory, folder) == 1
    records = list(read_records(folder))
    outcomes = {each.key.engine: each for each in records if isinstance(each, OutcomeRecord)}
    assert set(outcomes) == {"csparql", f"csparql, {YABENCH_ORACLE}"}
    windows = [each for each in records if isinstance(each, WindowRecord)]
    ours = [each for each in windows if each.key.engine == "csparql"]
    theirs = [each for each in windows if each.key.engine != "csparql"]
    shown = {"open", "close", "content", "expected", "actual", "precision", "recall", "delay"}
    assert [each.model_dump(include=shown) for each in ours] == [each.model_dump(include=shown) for each in theirs]
    assert [blame.row[0] for blame in ours[0].missing] == ["<http://e/o2000>"]
    assert outcomes["csparql"].memory_peak == 130
    assert outcomes["csparql"].cpu == 0.75
    assert outcomes["csparql"].verdict == "wrong"
    assert read_provenance(folder).experiment == "Experiment_1"
    rejudge_run(folder, tmp_path / "again")
    again = list(read_records(tmp_path / "again"))
    assert {each.key.engine for each in again if isinstance(each, OutcomeRecord)} == set(outcomes)
    assert [each for each in again if isinstance(each, WindowRecord) and each.key.engine != "csparql"] == theirs


def imported(
    directory: Path, config: dict[str, Any], answers: dict[int, list[tuple[int, ...]]], *names: str
) -> list[WindowRecord]:
    """Judge answers, each the times of its observations by when it came, and return the windows."""
    (directory / "config.json").write_text(json.dumps(config))
    lines = [str(START), "\t".join(names)]
    for at, rows in answers.items():
        lines += [str(START + at), *("\t".join(f"http://e/o{t}" for t in row) for row in rows)]
    (directory / "results" / "QR_hot").write_text("\n".join(lines) + "\n")
    (directory / "results" / "ORACLE_hot").unlink()
    import_yabench(directory, directory / "run")
    return [each for each in read_records(directory / "run") if isinstance(each, WindowRecord)]


def test_windows_that_slide_are_reported_before_the_stream_has_filled_one(directory: Path) -> None:
    config = {**CONFIG, "enginename": "mine", "vars": {**VARS, "WSIZE": "4s", "WSLIDE": "2s"}}
    (directory / "engine.query").write_text(ENGINE.replace("?obs ?value\n", "?obs\n"))
    (directory / "oracle.query").write_text(ORACLE.replace("SELECT ?obs ?value", "SELECT ?obs"))
    came: dict[int, list[tuple[int, ...]]] = {
        2010: [(1000,)],
        4010: [(1000,), (2000,)],
        6010: [(2000,)],
        8010: [(6000,)],
    }
    found = imported(directory, config, came, "obs")
    assert [(each.open, each.close, each.expected, each.precision, each.recall) for each in found] == [
        (0, 2000, 1, 1, 1),
        (0, 4000, 2, 1, 1),
        (2000, 6000, 1, 1, 1),
        (4000, 8000, 1, 1, 1),  # and none for [6000, 10000): the stream was over
    ]


PAIRS = f"SELECT ?a ?b WHERE {{ ?a <{OM}floatValue> ?x . ?b <{OM}floatValue> ?y FILTER(?x > ?y && ?y > ${{TEMP}}) }}"


@pytest.mark.parametrize(
    ("late", "second"),
    [
        ([], (1, 1, 1.0)),
        ([(6000, 1000), (6000, 2000)], (1, 3, 1 / 3)),  # as an engine has it that keeps elements for a whole width
    ],
)
def test_where_the_content_changes_the_window_begins_with_its_slide(
    directory: Path, late: list[tuple[int, ...]], second: tuple[int, int, float]
) -> None:
    """Whatever the engine is called, its rows are matched one by one and told by slides."""
    config = {**CONFIG, "enginename": "CQELS 1.0", "vars": {**VARS, "WPOLICY": "oncontentchange", "TEMP": "20.0"}}
    inner = PAIRS.partition("WHERE ")[2]
    stream = (
        f"STREAM <http://ex.org/streams/test> [RANGE ${{WSIZE}} SLIDE ${{WSLIDE}}] {inner.partition(' FILTER')[0]} }}"
    )
    (directory / "engine.query").write_text(f"SELECT ?a ?b WHERE {{ {stream} }}")
    (directory / "oracle.query").write_text(PAIRS)
    came: dict[int, list[tuple[int, ...]]] = {2010: [(2000, 1000)], 7010: [(6000, 7000)], 7020: late}
    found = imported(directory, config, came, "a", "b")
    assert [(each.open, each.close, each.expected, each.actual, each.precision) for each in found] == [
        (0, 5000, 1, 1, 1),
        (5000, 10_000, *second),
    ]


def test_what_is_wrong_with_the_files_is_said(directory: Path, tmp_path: Path) -> None:
    config = directory / "config.json"
    config.write_text(json.dumps({**CONFIG, "statoins": 5}))
    with pytest.raises(UsageError, match="unknown key 'statoins'"):
        read_yabench_tests(directory)
    config.write_text(json.dumps({**CONFIG, "vars": {"WSIZE": "5s", "WSLIDE": "5s"}, "tests": [{"name": "hot"}]}))
    with pytest.raises(DataError, match=r"no value for \$\{TEMP\}"):
        read_yabench_tests(directory)
    config.write_text(json.dumps(CONFIG))
    answers = directory / "results" / "QR_hot"
    answers.write_text("soon\n")
    with pytest.raises(DataError, match="line 1: expected the time of the start"):
        read_yabench_answers(answers)
    answers.write_text(f"{START}\nobs\tvalue\n{START + 5}\nhttp://e/o\n")
    with pytest.raises(DataError, match="line 4: expected 2 values"):
        read_yabench_answers(answers)
    answers.unlink()
    with pytest.raises(DataError, match=r"expected a file QR_ for a test \(hot, mild\)"):
        import_yabench(directory, tmp_path / "run")


def test_a_directory_asks_for_the_stream_that_its_seed_gave_in_yabench(directory: Path) -> None:
    hot = read_experiment(str(directory)).tests[0]
    assert hot.world.stream == "http://ex.org/streams/test"
    assert {"random": "java", "faithful": True}.items() <= hot.world.settings.items()
    assert hot.seed == 7


def test_a_comma_behind_the_last_test_is_no_error(directory: Path) -> None:
    """As in the published directory of experiment 3 for CQELS."""
    config = directory / "config.json"
    text = json.dumps({**CONFIG, "name": "a,] b"})
    config.write_text(text.replace("}]", "}\n,\n ]"))
    assert [test.name for test in read_experiment(str(directory)).tests] == ["hot", "mild"]
    config.write_text(text.replace("}]", "},,]"))
    with pytest.raises(DataError, match="expected JSON"):
        read_experiment(str(directory))


def test_the_average_of_yabenchs_oracle_is_none_where_a_window_has_no_value(directory: Path) -> None:
    (directory / "oracle.query").write_text(ORACLE.replace("?obs ?value WHERE", "(<http://yabench/avg>(?value) AS ?a)"))
    (hot, _) = read_experiment(str(directory)).tests
    text = hot.queries.texts["query"]
    assert "AVG(?value)" in text
    assert "COUNT(?value)" in text
    assert "yabench/avg" not in text


def test_a_directory_without_a_generator_needs_a_stream(directory: Path) -> None:
    """As those of CSRBench in YABench's words."""
    config = {key: value for key, value in CONFIG.items() if key != "generator"}
    (directory / "config.json").write_text(json.dumps(config))
    with pytest.raises(UsageError, match="expected a generator, or a file with -D inputstream=FILE"):
        read_experiment(str(directory))
    given = directory / "results" / "SG_hot"
    (hot, _) = read_experiment(str(directory), [f"inputstream={given}"]).tests
    assert hot.world.streams == {"http://ex.org/streams/test": str(given)}
