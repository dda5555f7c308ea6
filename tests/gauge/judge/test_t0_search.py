"""Search for an unknown t0 from the answers, which are judged by CSRBench's rule."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri
from hydrograph.windows.profile import CQELS, RSPQL
from hydrograph_gauge.experiments.model import Experiment, read_experiment
from hydrograph_gauge.experiments.run import rejudge_run, run_experiment
from hydrograph_gauge.experiments.summary import format_summary
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport, JudgeInput
from hydrograph_gauge.judge.judge_query import judge_query
from hydrograph_gauge.judge.t0_search import EngineOutput, T0Candidates, list_t0_candidates, search_t0
from hydrograph_gauge.report.page import build_document
from hydrograph_gauge.report.run_data import read_run
from hydrograph_gauge.run_records import Key, OutcomeRecord, RowText, read_records

FAULTY_ENGINE = Path(__file__).parents[1] / "engines" / "faulty_engine.py"
STREAM = Iri("urn:stream")
TEXT = (
    "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE {width} STEP {slide}] "
    "{{ WINDOW <urn:w> {{ ?s <urn:p> ?o }} }}"
)
LINE_PROGRAM = "".join(f"{t}\t<urn:s{t}> <urn:p> <urn:o> .\n" for t in range(0, 8_000, 100))
FILE = """
[world.streams]
"urn:stream" = "stream.tnt"
[queries.texts]
all = "{all}"
count = "{count}"
[[test]]
name = "moved"
together = true
[test.oracle]
t0 = {t0}
"""


def experiment(tmp_path: Path, fault: str, t0: str) -> Experiment:
    (tmp_path / "stream.tnt").write_text(LINE_PROGRAM)
    text = TEXT.format(width="1s", slide="500ms")
    file = tmp_path / "experiment.toml"
    file.write_text(FILE.format(all=text, count=text.replace("?s", "(COUNT(*) AS ?n)", 1), t0=t0))
    return read_experiment(str(file), [f"engines=program:{sys.executable} {FAULTY_ENGINE} {fault}"])


def outcomes(folder: Path) -> dict[str, OutcomeRecord]:
    return {each.key.query: each for each in read_records(folder) if isinstance(each, OutcomeRecord)}


def test_an_engine_whose_windows_lie_400_ms_later_is_right_for_that_t0(tmp_path: Path) -> None:
    run_experiment(experiment(tmp_path, "shift-unnamed", '"search"'), tmp_path / "run")
    found = outcomes(tmp_path / "run")["all"]
    # Its windows begin 400 ms behind those of 500 ms; it answers the one that holds the first elements too.
    assert (found.t0, found.verdict, found.missing, found.extra, found.recall) == (-100, "ok", 0, 0, 1)
    assert found.faults == ()
    assert found.windows > 10
    lines = "\n".join(format_summary([tmp_path / "run"]))
    assert "t0 -100 ms fits best for all" in lines
    page = build_document([read_run(tmp_path / "run")])
    (table,) = next(each for each in page.parts[0].sections if each.title == "First windows").blocks
    assert ("all", 1, -100, 0) in [row[3:7] for row in table.rows]  # type: ignore[union-attr]
    rejudge_run(tmp_path / "run", tmp_path / "again")
    assert outcomes(tmp_path / "again")["all"].t0 == -100


def test_an_engine_that_names_its_times_is_judged_by_them(tmp_path: Path) -> None:
    """The same windows, but each is called by another time: no t0 makes it right."""
    run_experiment(experiment(tmp_path, "shift", '"search"'), tmp_path / "run")
    found = outcomes(tmp_path / "run")["all"]
    assert (found.t0, found.verdict) == (0, "wrong")
    assert found.faults == ("shifts windows by 301 to 400 ms, to later times",)


def test_an_engine_that_loses_elements_is_right_for_no_t0(tmp_path: Path) -> None:
    run_experiment(experiment(tmp_path, "drop", '"search"'), tmp_path / "run")
    found = outcomes(tmp_path / "run")["all"]
    assert (found.t0, found.verdict) == (0, "wrong")
    assert found.missing > 0


@pytest.mark.parametrize(
    ("width", "slide", "times", "found"),
    [
        # One second each, as CSRBench tries them; what lies before the first element too.
        ("3s", "3s", range(0, 9_000, 1_000), [-2_000, -1_000, 0, 1_000, 2_000, 3_000]),
        # Only three places differ in a slide.
        ("1s", "1s", [100, 350, 2_350, 3_900], [-900, -650, -100, 0, 100, 350, 900]),
        # A window that is no multiple of its slide closes elsewhere than it opens.
        ("15s", "10s", [0, 10_000, 20_000], [-5_000, 0, 5_000, 10_000, 15_000]),
        # An engine that counts from the epoch: only the place in the slide differs.
        ("2s", "1s", [10_000_100, 10_000_600], [9_999_100, 9_999_600, 10_000_000, 10_000_100, 10_000_600]),
    ],
)
def test_candidates_are_those_that_change_the_content(
    width: str, slide: str, times: list[int], found: list[int]
) -> None:
    query = parse(TEXT.format(width=width, slide=slide))
    tried = list_t0_candidates(query, RSPQL, {STREAM: times}).times
    assert set(found) <= set(tried)
    assert min(tried) >= min(found)
    assert len(tried) <= len(found) + 4


def test_a_window_that_slides_continuously_differs_only_in_what_it_began_with() -> None:
    query = parse(TEXT.format(width="2s", slide="1s"))
    assert list_t0_candidates(query, CQELS, {STREAM: [500, 700, 2_000, 9_000]}).times == (500, 700, 2_000)


def bag(texts: str) -> Counter[RowText]:
    return Counter((f'"{text}"',) for text in texts)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        (["cd", "ef"], 0),  # begins later, ends earlier
        (["", "ab", "cd", "ef", "g"], 0),
        (["cd", "e"], 1),
        (["ab", "ef"], 4),  # one left out in the middle: not contiguous
        (["ab", "cd", "ef", "g", "hi"], 2),
        (["cd", "", "ef"], 6),  # an empty answer belongs to the sequence
    ],
)
def test_answers_are_compared_as_a_contiguous_part(said: list[str], wrong: int) -> None:
    due = [bag(texts) for texts in ("", "ab", "cd", "ef", "g")]
    assert EngineOutput([(None, bag(texts)) for texts in said], eager=False).wrong(enumerate(due)) == wrong


def test_an_engine_that_is_silent_when_empty_skips_empty_windows() -> None:
    due = [bag(texts) for texts in ("ab", "", "cd", "", "", "ef")]
    assert EngineOutput([(None, bag(texts)) for texts in ("ab", "cd", "ef")], eager=False).wrong(enumerate(due)) == 0
    assert EngineOutput([(None, bag(texts)) for texts in ("ab", "cd", "")], eager=False).wrong(enumerate(due)) > 0


def test_answers_that_name_a_time_are_compared_with_the_report_of_that_time() -> None:
    due = [(t, bag(texts)) for t, texts in ((10, "ab"), (20, "cd"), (30, "ef"))]
    named = EngineOutput([(20, bag("cd")), (30, bag("ef"))], eager=False)
    assert (named.wrong(due), named.met) == (0, True)
    moved = EngineOutput([(10, bag("cd")), (20, bag("ef"))], eager=False)
    assert moved.wrong(due) == 8
    elsewhere = EngineOutput([(7, bag("cd")), (8, bag(""))], eager=False)
    assert (elsewhere.wrong(due), elsewhere.met) == (3, False)
    elsewhere.forget_times()
    assert elsewhere.wrong(due) == 2


def test_times_that_answers_name_are_tried_as_closes_of_windows() -> None:
    query = parse(TEXT.format(width="10s", slide="10s"))
    times = {STREAM: range(0, 34_000, 1_000)}
    assert 2_345 in list_t0_candidates(query, RSPQL, times, [22_345, 32_345]).times
    assert 2_345 not in list_t0_candidates(query, RSPQL, times).times


def test_rows_of_eager_engines_are_compared_without_their_executions() -> None:
    assert EngineOutput([(None, bag(text)) for text in "abc"], eager=True).wrong([(1, bag("ab")), (2, bag("d"))]) == 2


def test_of_too_many_candidates_those_around_the_best_are_tried() -> None:
    tried: list[int] = []

    def wrong(times: object) -> dict[int, int]:
        some = list(times)  # type: ignore[call-overload]
        tried.extend(some)
        return {t: min(abs(t - 3_333), 900) for t in some}

    best, count = search_t0(T0Candidates(0, tuple(range(5_000))), 40, wrong)
    assert (best.t0, best.wrong) == (3_333, 0)
    assert count == len(tried) == len(set(tried)) < 120


def test_reports_around_the_answers_are_left_out_and_counted() -> None:
    due = [
        ExpectedReport(t, t - 1000, t, bag(texts)) for t, texts in ((1000, "a"), (2000, "b"), (3000, "c"), (4000, "d"))
    ]
    key = Key(test="t", engine="e", query="q")
    found = judge_query(
        JudgeInput(key=key, due=due, said=[EngineAnswer(1, bag("b"), 7), EngineAnswer(2, bag("c"), 8)], t0=0)
    ).outcome
    assert (found.verdict, found.windows, found.recall) == ("ok", 2, 1.0)
    assert found.notes == (
        "2 reports before the first answer or after the last are not required",
        "no t0 makes a report due at a time that the engine names; its answers are judged in their order",
    )
    silent = judge_query(JudgeInput(key=key, due=due, said=[], t0=0)).outcome
    assert (silent.verdict, silent.missing) == ("wrong", 4)
