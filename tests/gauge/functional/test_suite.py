"""The functional suite: right engines pass what they can be asked, and a planted fault fails where it must."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from hydrograph.algebra.windows import TimeWindow
from hydrograph.windows.profile import RSPQL, preset
from hydrograph_gauge.engines.outcome import AnswerBlock
from hydrograph_gauge.engines.session import SessionInput, SessionResult
from hydrograph_gauge.functional.__main__ import matrix
from hydrograph_gauge.functional.cases import CASES, PHASE, UNIT, Case, term
from hydrograph_gauge.functional.suite import difference, due, merge_runs, row_by_row, run_suite
from hydrograph_gauge.functional.w3c import w3c
from hydrograph_gauge.oracle.compare import compare
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.player import Handed
from hydrograph_gauge.run_records import FunctionalRecord, FunctionalVerdict

FAULTY_ENGINE = Path(__file__).parents[1] / "engines" / "faulty_engine.py"


def counted(found: list[FunctionalRecord]) -> Counter[tuple[str, bool | None]]:
    return Counter((each.group, each.passed) for each in found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}, {case.name}")
def test_answers_made_by_hand_are_those_of_the_oracle(case: Case) -> None:
    by_hand = case.expected()
    reports = {
        report.t: report.rows
        for report in evaluate_reports(case.query(), case.elements(), case.static_data())
        if report.rows and report.t <= case.until()
    }
    assert reports or case.name in ("nothing", "t0 = 3", "t0 = 4", "t0 = 5", "query A: two in one room")
    if by_hand is not None:
        assert reports.keys() == {t for t, rows in by_hand.items() if rows}
        assert not any(compare(by_hand[t], rows) for t, rows in reports.items())


@pytest.mark.parametrize("engine", ["hydrograph", "hydrograph-live"])
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_hydrograph_passes_everything(engine: str, every: int) -> None:
    cases = CASES[::every]
    found = list(run_suite(engine, cases))
    assert [each for each in found if each.passed is not True] == []
    assert len(found) == len(cases) > 50 // every


def test_a_store_that_is_kept_up_to_date_passes_what_it_can_be_asked() -> None:
    found = list(run_suite("oxigraph"))
    assert [each for each in found if each.passed is False] == []
    assert {each.name for each in found if each.passed is None} == {"Istream", "Dstream", "two windows of one stream"}


@pytest.mark.slow
def test_a_store_that_is_asked_by_the_clock() -> None:
    found = list(run_suite("oxigraph-periodic", repeat=2))
    assert [each for each in found if each.passed is False] == []
    assert {len(each.rights) for each in found if each.passed} == {2}


def test_windows_are_in_whole_seconds() -> None:
    definitions = [window.definition for case in CASES for window in case.query().windows]
    times = [each for each in definitions if isinstance(each, TimeWindow)]
    assert len(times) == len(definitions)
    assert all(each.width % 1000 == 0 and each.slide is not None and each.slide % 1000 == 0 for each in times)


@pytest.mark.parametrize("name", ["csparql-engine", "csparql", "sparqlstream", "rspql"])
def test_no_element_is_near_a_border_by_the_clock(name: str) -> None:
    """The profile of C-SPARQL rounds t0 down to a second, where the elements are: the clock must not."""
    for case in CASES[21:]:
        times = {element.t for stream in case.elements().values() for element in stream}
        closes = due(case, preset(name), PHASE)
        assert closes
        assert min(abs(close - t) for close in closes for t in times) == min(PHASE, UNIT - PHASE)


@pytest.mark.parametrize("drift", [-300, 300])
def test_windows_by_the_clock_hold_the_same_wherever_they_begin_within_the_phase(drift: int) -> None:
    """An engine may begin its windows somewhat before or after it is expected to: no element is near a border."""
    for case in (case for case in CASES if case.group != "R2R"):
        expected = evaluate_reports(case.query(), case.elements(), case.static_data(), until=case.until())
        by_clock = evaluate_reports(
            case.query(), case.elements(phase=PHASE), case.static_data(), t0=case.start(PHASE) + drift
        )
        found = {report.t - drift + PHASE: report.rows for report in by_clock}
        wrong = [report.t for report in expected if compare(report.rows, found.get(report.t, Counter()))]
        assert wrong == [], case


def run(*, passed: bool | None, words: str = "") -> FunctionalRecord:
    return FunctionalRecord(engine="one", group="R2R", name="join", passed=passed, words=words)


DISTURBED = run(passed=None, words="disturbed: an element was taken 612 ms late, with a phase of 500 ms")
RIGHT, LATE, UNASKED = run(passed=True), run(passed=False, words="late"), run(passed=None, words="no words for it")


@pytest.mark.parametrize(
    ("runs", "verdict", "rights", "words"),
    [
        ([RIGHT] * 3, FunctionalVerdict.PASSED, (True,) * 3, ""),
        ([LATE] * 2, FunctionalVerdict.FAILED, (False,) * 2, "right in 0 of 2 runs; run 1: late"),
        (
            [RIGHT, LATE, RIGHT],
            FunctionalVerdict.UNSTABLE,
            (True, False, True),
            "right in 2 of 3 runs; run 2: late",
        ),
        ([UNASKED] * 2, FunctionalVerdict.NOT_ASKED, (), "no words for it"),
        ([LATE], FunctionalVerdict.FAILED, (), "late"),
        ([DISTURBED, RIGHT, RIGHT], FunctionalVerdict.PASSED, (True, True), ""),
        ([DISTURBED, LATE], FunctionalVerdict.FAILED, (False,), "right in 0 of 1 runs; run 2: late; 1 more disturbed"),
        ([DISTURBED, DISTURBED], FunctionalVerdict.NOT_ASKED, (), DISTURBED.words),
    ],
)
def test_runs_of_a_case_have_one_verdict(
    runs: list[FunctionalRecord], verdict: FunctionalVerdict, rights: tuple[bool, ...], words: str
) -> None:
    found = merge_runs(runs)
    assert (found.verdict, found.rights, found.words) == (verdict, rights, words)


@pytest.mark.parametrize(("late", "verdict"), [(350.0, FunctionalVerdict.FAILED), (450.0, FunctionalVerdict.NOT_ASKED)])
def test_a_run_whose_elements_came_too_late_does_not_count(
    late: float, verdict: FunctionalVerdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is silent here; that is its fault only where the phase was kept."""
    started: list[int] = []

    def silent(_: object, task: SessionInput, __: object) -> SessionResult:
        started.append(len(task.questions))
        handed = [Handed(name, each[-1], due=1_000.0, at=1_000.0 + late) for name, each in task.streams.items()]
        return SessionResult(blocks={name: [] for name in task.questions}, handed=handed)

    monkeypatch.setattr("hydrograph_gauge.functional.suite.run_session", silent)
    case = next(case for case in CASES if case.name == "one pattern")
    (found,) = run_suite("oxigraph-periodic", [case], repeat=2)
    assert found.verdict is verdict
    assert len(started) == (2 if verdict is FunctionalVerdict.FAILED else 4)
    assert ("an element was taken 450 ms late" in found.words) is (verdict is FunctionalVerdict.NOT_ASKED)


def test_an_engine_that_is_right_in_every_other_run_is_unstable(tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == "one pattern")
    (found,) = run_suite(f"program:{sys.executable} {FAULTY_ENGINE} every-other {tmp_path / 'runs'}", [case], repeat=4)
    assert (found.verdict, found.rights) == (FunctionalVerdict.UNSTABLE, (True, False, True, False))
    assert matrix([found]).splitlines()[1].split() == ["R2R", "one", "pattern", "UNSTABLE", "2/4"]


def test_late_eviction_shows_where_content_shows() -> None:
    """The planted engine keeps elements for three units too long."""
    found = list(run_suite(f"program:{sys.executable} {FAULTY_ENGINE} evict 3000"))
    failed = {(each.group, each.name) for each in found if each.passed is False}
    assert ("R2S", "Rstream") in failed
    assert {("S2R", "sliding, identity"), ("S2R", "sliding, join"), ("S2R", "sliding, count")} <= failed
    assert not any(group == "R2R" for group, _ in failed)


def block(text: str, t: int | None = None) -> AnswerBlock:
    return AnswerBlock(1.0, Counter([tuple(map(term, text.split()))] if text else []), t)


@pytest.mark.parametrize(
    ("said", "wrong"),
    [
        ("m1 r1, m2 r1, m2 r1, m1 r2", ""),  # a report of two rows in two answers
        ("m1 r1, m2 r1, m2 r1", "missing 1 x <http://ex.org/m1> <http://ex.org/r2>"),
        ("m1 r1, m2 r1, m2 r1, m1 r2, m1 r2", "extra   1 x <http://ex.org/m1> <http://ex.org/r2>"),
        ("m1 r1, m2 r1, m2 r1, m1 r2, m9 r9", ""),  # due behind the last time that is judged
    ],
)
def test_eager_engines_are_compared_row_by_row(said: str, wrong: str) -> None:
    expects: dict[int, Counter[Row]] = {
        1: Counter([(term("m1"), term("r1")), (term("m2"), term("r1"))]),
        2: Counter([(term("m2"), term("r1"))]),
        3: Counter([(term("m1"), term("r2"))]),
        9: Counter([(term("m9"), term("r9"))]),
    }
    assert row_by_row(expects, [block(row) for row in said.split(", ")], until=5) == wrong


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        ([100, 200, 300], ""),
        ([100, 300], "silent at 200 ms, where an empty report was due"),
        ([100, None, 300], ""),  # it is unknown which report came
    ],
)
def test_silence_is_not_an_empty_report(times: list[int | None], wrong: str) -> None:
    room: Counter[Row] = Counter([(term("r1"),)])
    expects = {100: room, 200: Counter(), 300: room, 900: Counter()}
    blocks = [block("" if t in (200, None) else "r1", t) for t in times]
    assert difference(expects, blocks, 500, by_clock=False) == wrong


def test_empty_reports_are_due_where_the_paper_has_them() -> None:
    """Experiment 2, query A: a dash is an empty report, and C-SPARQL leaves out windows without content."""
    (case,) = [case for case in CASES if case.name.startswith("query A")]
    closes = list(range(3_000, 19_000, 3_000))
    assert [t for t in due(case, preset("sparqlstream")) if t <= 18_000] == closes
    assert [t for t in due(case, preset("csparql")) if t <= 18_000] == [3_000, 6_000, 12_000, 18_000]
    assert [t for t in due(case, RSPQL) if t <= 18_000] == closes
    assert due(case, preset("cqels")) == {}


def test_a_case_that_kills_the_engine_fails_alone() -> None:
    cases = [case for case in CASES if case.group in ("R2R", "Experiment 2")][-3:]
    found = list(run_suite(f"program:{sys.executable} {FAULTY_ENGINE} crash", cases))
    words = {each.name: each.words for each in found if each.passed is False}
    assert all("crash" in each for each in words.values())
    assert len(found) == len(cases)
    assert counted(found)["R2R", True] == 1  # it has one window only, and the engine dies at its third


def test_the_matrix() -> None:
    found = [
        FunctionalRecord(engine="one", group="R2R", name="join", passed=True),
        FunctionalRecord(engine="two", group="R2R", name="join", passed=None, words="no words for it"),
    ]
    assert matrix(found).splitlines() == [
        "             one     two",
        "R2R  join    pass    -",
        "R2R  passed  1 of 1  0 of 0",
    ]


def test_tests_of_the_w3c(tmp_path: Path) -> None:
    folder = tmp_path / "sparql11"
    folder.mkdir()
    prefixes = (
        "@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .\n"
        "@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .\n"
    )
    (folder / "manifest-sparql11-query.ttl").write_text(
        f"{prefixes}<> mf:entries (<#one>) .\n<#one> a mf:QueryEvaluationTest ; mf:name 'one' ;"
        " mf:action [ qt:query <one.rq> ; qt:data <one.ttl> ] ; mf:result <one.srj> ."
    )
    (folder / "one.rq").write_text("SELECT ?o { <urn:a> <urn:b> ?o }")
    (folder / "one.ttl").write_text("<urn:a> <urn:b> 1, 2 .")
    number = '{"o": {"type": "literal", "value": "%s", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}'
    rows = ", ".join(number % n for n in (1, 2))
    (folder / "one.srj").write_text(f'{{"head": {{"vars": ["o"]}}, "results": {{"bindings": [{rows}]}}}}')
    cases = list(w3c(tmp_path))
    assert len(cases) == 1
    assert [each.passed for each in run_suite("oxigraph", cases)] == [True]
