"""`make bench-engines`: verdicts of papers as data, put beside those of the gauge."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from click.testing import CliRunner

from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.outcome import Verdict
from hydrograph_gauge.experiments import compare_engines
from hydrograph_gauge.experiments.compare_engines import (
    PAPER_NAMES,
    EngineCell,
    collect_cells,
    find_engines,
    format_cells,
    format_engines_summary,
    list_experiments,
    prepare_test,
    read_paper_verdicts,
)
from hydrograph_gauge.experiments.model import read_experiment
from hydrograph_gauge.functional.cases import CASES
from hydrograph_gauge.queries.query_sets import read_query_set
from hydrograph_gauge.run_records import FunctionalRecord, Key, MissingEngineRecord, OutcomeRecord, Record

PAPERS = read_paper_verdicts()


def outcome(engine: str, query: str, verdict: str, *, repetition: int = 0, words: str = "") -> OutcomeRecord:
    key = Key(test="sensors", engine=engine, query=query, repetition=repetition)
    return OutcomeRecord(key=key, verdict=verdict, phase="execution", words=words)


def test_every_verdict_of_a_paper_is_about_a_query_of_a_shipped_experiment() -> None:
    asked: dict[tuple[str, str], set[str]] = {}
    for case in CASES:
        asked.setdefault(("functional", case.group), set()).add(case.name)
    for name in ("csrbench", "yabench"):
        for test in read_experiment(name, ["graphs=."] if name == "csrbench" else []).tests:
            if test.queries.set is not None:
                names = test.queries.names or tuple(query.name for query in read_query_set(test.queries.set))
                asked.setdefault((name, test.name), set()).update(names)
    for paper in PAPERS:
        assert paper.citation
        for title in paper.tests:
            queries = asked[paper.experiment, title]
            for engine, verdicts in paper.verdicts.items():
                assert engine in PAPER_NAMES.values()
                for pattern, verdict in verdicts.items():
                    assert any(fnmatchcase(query, pattern) for query in queries), (paper.experiment, title, pattern)
                    assert verdict in (Verdict.OK, Verdict.WRONG)


def test_the_verdicts_of_csrbench_are_those_of_the_paper() -> None:
    wrong = {
        (engine, query)
        for paper in PAPERS
        if paper.experiment == "csrbench"
        for engine, verdicts in paper.verdicts.items()
        for query, verdict in verdicts.items()
        if verdict == "wrong"
    }
    assert wrong == {("C-SPARQL", "q5"), ("CQELS", "q4"), ("CQELS", "q6"), ("CQELS", "q7")}


def test_cells_of_outcomes() -> None:
    records: list[Record] = [
        outcome("csparql:/jars", "q1", "ok"),
        outcome("csparql:/jars", "q5", "ok"),
        outcome("cqels:/jars", "q4", "wrong", words="rows that should have left"),
        outcome("cqels:/jars", "q7", "crash"),
        outcome("rsp-js", "q1", "ok"),
        MissingEngineRecord(test="sensors", engine="rsp-rs", why="no cargo"),
    ]
    cells = collect_cells("csrbench", records, PAPERS)
    assert [(cell.engine, cell.query, cell.by_paper, cell.by_gauge, cell.agrees) for cell in cells] == [
        ("csparql", "q1", "ok", "ok", True),
        ("csparql", "q5", "wrong", "ok", False),
        ("cqels", "q4", "wrong", "wrong", True),
        ("cqels", "q7", "wrong", "crash", False),  # a crash is not the wrong answer that the paper saw
        ("rsp-js", "q1", None, "ok", None),
    ]
    assert format_engines_summary(cells) == (
        "engines: 3 engines, 5 cells, 2 agree, 2 differ, 0 not asked, 1 without a verdict of a paper"
    )
    shown = list(format_cells(cells))
    assert shown[0].split() == ["engine", "test,", "query", "paper", "gauge", "agrees"]
    assert shown[3].endswith("rows that should have left")


def test_what_an_engine_cannot_be_asked_neither_agrees_nor_differs() -> None:
    records = [
        FunctionalRecord(engine="cqels:/jars", group="Experiment 1", name="t0 = 0", passed=None, words="no t0"),
        FunctionalRecord(engine="cqels:/jars", group="Experiment 1", name="t0 = 4", passed=False),
        FunctionalRecord(engine="cqels:/jars", group="Experiment 2", name="query A: two in one room", passed=False),
    ]
    cells = collect_cells("functional", records, PAPERS)
    assert [cell.agrees for cell in cells] == [None, None, True]
    assert [cell.by_paper for cell in cells] == ["ok", None, "wrong"]  # of t0 = 4 the paper leaves it open
    assert "1 not asked, 1 without a verdict of a paper" in format_engines_summary(cells)


def test_repetitions_with_different_verdicts_are_unstable() -> None:
    records = [outcome("csparql:/jars", "q1", "ok"), outcome("csparql:/jars", "q1", "wrong", repetition=1)]
    assert collect_cells("csrbench", records, PAPERS) == [
        EngineCell("csparql", "csrbench", "sensors", "q1", "unstable", "ok")
    ]
    name = "query B: everybody with himself"
    record = FunctionalRecord(engine="cqels:/jars", group="Experiment 2", name=name, passed=False, rights=(True, False))
    assert collect_cells("functional", [record], PAPERS) == [
        EngineCell("cqels", "functional", "Experiment 2", name, "unstable", "wrong")
    ]


def test_engines_that_are_not_here_are_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        registry, "find_missing", lambda name: "no node found" if name in ("rsp-js", "rsp-rs") else None
    )
    here, missing = find_engines({"CQELS_JARS": str(tmp_path)})
    assert here == ["hydrograph", "hydrograph-live", "oxigraph", "oxigraph-periodic", f"cqels:{tmp_path}"]
    assert missing == {
        "rsp-js": "no node found",
        "rsp-rs": "no node found",
        "csparql": "CSPARQL_JARS names no folder with its jars",
    }


def test_the_experiments_of_the_comparison() -> None:
    assert [(each.name, [test.name for test in each.tests]) for each in list_experiments("")] == [
        ("csrbench", ["sensors"]),
        ("functional", ["functional"]),
        ("yabench", ["experiment 4", "experiment 4, gracious"]),
    ]


def test_only_engines_that_go_by_the_clock_are_played_to_by_the_clock() -> None:
    csrbench = list_experiments("")[0].tests[0]
    assert prepare_test(csrbench, "rsp-js").play.speed == 10
    assert prepare_test(csrbench, "oxigraph-periodic").play == csrbench.play
    assert prepare_test(csrbench, "rsp-js").engines == ("rsp-js",)


@pytest.mark.slow
def test_one_engine_through_one_experiment(tmp_path: Path) -> None:
    ran = CliRunner().invoke(
        compare_engines.main, ["--engine", "oxigraph", "--experiment", "functional", "-o", str(tmp_path)]
    )
    assert ran.exit_code == 0, ran.output
    lines = ran.stdout.splitlines()
    assert any("functional, R2R, join" in line and " ok " in line for line in lines)
    assert lines[-1].startswith("engines: 1 engines, ")
    assert (tmp_path / "functional" / "oxigraph" / "results.jsonl").is_file()
