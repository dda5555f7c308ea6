"""A second opinion in a run: where rdflib answers as the engine does, the oracle is wrong, and the page lists it."""

from __future__ import annotations

import sys
from collections import Counter

import pytest

from hydrograph.language import parse
from hydrograph_gauge.judge.evidence import Evidence
from hydrograph_gauge.judge.judge_input import EngineAnswer, JudgeInput, expected_report
from hydrograph_gauge.judge.judge_query import Judgement, judge_query
from hydrograph_gauge.oracle import rdflib_arbiter as arbiter
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.oracle.rdflib_arbiter import ArbiterVerdict
from hydrograph_gauge.report.document import Table
from hydrograph_gauge.run_records import RowText
from tests.support.oracle_experiments import ROOM_CHANGES, STREAM
from tests.support.pages import blocks, key, section, shown

HEAD = f"PREFIX : <http://ex.org/> SELECT ?x FROM NAMED WINDOW :w ON <{STREAM.value}> [RANGE PT0.01S STEP PT0.01S] "
ZERO_STEPS = HEAD + "{ WINDOW :w { ?x :detectedAt? :r9 } }"
"""A known error of pyoxigraph: no step from a constant that is not in the data."""
R9: Counter[RowText] = Counter([("<http://ex.org/r9>",)])


def judged(*said: Counter[RowText], static: int = 0) -> Judgement:
    query = parse(ZERO_STEPS)
    due = [expected_report(report) for report in evaluate_reports(query, {STREAM: ROOM_CHANGES})]
    answers = [EngineAnswer(each.t, rows, each.t) for each, rows in zip(due, said, strict=True)]
    trial = JudgeInput(key=key("engine", "q"), due=due, said=answers, static=static)
    return judge_query(trial, lambda: Evidence(query, {STREAM: ROOM_CHANGES}))


def test_the_engine_is_right_where_rdflib_agrees_with_it() -> None:
    found = judged(R9, R9)
    outcome = found.outcome
    assert (outcome.verdict, outcome.missing, outcome.extra, outcome.right) == ("oracle error", 0, 0, 2)
    assert outcome.words == "rdflib answers as the engine does in all 2 windows that differ"
    assert outcome.faults == ()
    assert outcome.notes == (f"2 of 2 windows that rdflib was asked about: {ArbiterVerdict.ORACLE_ERROR}",)
    assert {window.opinion for window in found.windows} == {ArbiterVerdict.ORACLE_ERROR.value}
    assert [window.extra[0].row for window in found.windows] == [("<http://ex.org/r9>",)] * 2
    page = shown([*found.windows, outcome])
    (table,) = blocks(section(page, "Settled differences").blocks, Table)
    assert [row[4:] for row in table.rows] == [(ArbiterVerdict.ORACLE_ERROR.value, "", "<http://ex.org/r9>")] * 2
    assert not [each for each in page.parts[0].sections if each.title == "Wrong windows"]


def test_what_nobody_agrees_on_stays_wrong_and_is_listed() -> None:
    other: Counter[RowText] = Counter([("<http://ex.org/r1>",)])
    found = judged(R9, other)
    assert (found.outcome.verdict, found.outcome.extra) == ("wrong", 1)
    assert [window.opinion for window in found.windows] == [
        ArbiterVerdict.ORACLE_ERROR.value,
        ArbiterVerdict.UNDECIDED.value,
    ]
    (table,) = blocks(section(shown([*found.windows, found.outcome]), "Settled differences").blocks, Table)
    assert len(table.rows) == 2


def test_large_data_is_not_asked_about() -> None:
    found = judged(R9, R9, static=10_000)
    assert (found.outcome.verdict, found.outcome.notes) == ("wrong", ())


def test_without_rdflib_the_outcome_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    arbiter.answer.cache_clear()
    found = judged(R9, Counter([("<http://ex.org/r8>",)])).outcome
    assert found.verdict == "wrong"
    assert "pip install rdflib" in found.notes[0]


def test_what_rdflib_fails_with_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RecursionError("too deep\nfor it")

    monkeypatch.setattr(arbiter, "answer", fails)
    outcome = judged(R9, R9).outcome
    assert outcome.verdict == "wrong"
    assert outcome.notes[0] == "rdflib could not evaluate some wrong windows; last error: RecursionError: too deep"
