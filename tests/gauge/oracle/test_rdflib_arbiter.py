"""Arbitration between engine, pyoxigraph and rdflib."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest

from hydrograph.errors import RunError
from hydrograph.language import parse
from hydrograph_gauge.oracle import rdflib_arbiter as arbiter
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.dataset import Dataset
from hydrograph_gauge.oracle.evaluate import Report, evaluate_reports
from hydrograph_gauge.oracle.rdflib_arbiter import ArbiterVerdict, arbitrate
from tests.support.oracle_experiments import ROOM_CHANGES, STREAM, thing
from tests.support.random_cases import random_case

STREAMS = {STREAM: ROOM_CHANGES}
HEAD = f"PREFIX : <http://ex.org/> SELECT ?x FROM NAMED WINDOW :w ON <{STREAM.value}> [RANGE PT0.01S STEP PT0.01S] "
PLAIN = parse(HEAD + "{ WINDOW :w { ?x :detectedAt :r1 } }")
ZERO_STEPS = parse(HEAD + "{ WINDOW :w { ?x :detectedAt? :r9 } }")
"""Asks for a known error of pyoxigraph: no step from a constant that is not in the data."""


def all_rows(*rows: Counter[tuple[object, ...]]) -> list[Report]:
    return [Report(close, close - 10, close, rows) for close, rows in zip((10, 20), rows, strict=True)]  # type: ignore[arg-type]


R9: Counter[tuple[object, ...]] = Counter([(thing("r9"),)])
NONE: Counter[tuple[object, ...]] = Counter()


def test_an_answer_like_the_oracles_needs_no_arbiter() -> None:
    assert arbitrate(PLAIN, STREAMS, evaluate_reports(PLAIN, STREAMS)) is ArbiterVerdict.AGREED


def test_the_engine_is_wrong_against_two() -> None:
    assert arbitrate(PLAIN, STREAMS, all_rows(R9, NONE)) is ArbiterVerdict.ENGINE_ERROR


def test_the_oracle_is_wrong_where_rdflib_and_the_engine_agree() -> None:
    assert arbitrate(ZERO_STEPS, STREAMS, all_rows(R9, R9)) is ArbiterVerdict.ORACLE_ERROR


def test_three_answers_are_for_a_person() -> None:
    assert arbitrate(ZERO_STEPS, STREAMS, all_rows(R9, NONE)) is ArbiterVerdict.UNDECIDED


def test_options_reach_both_evaluators() -> None:
    reports = evaluate_reports(PLAIN, STREAMS, t0=2)
    assert arbitrate(PLAIN, STREAMS, reports, t0=2) is ArbiterVerdict.AGREED
    assert arbitrate(PLAIN, STREAMS, reports) is ArbiterVerdict.ENGINE_ERROR


def test_without_rdflib_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(RunError, match="install it with"):
        arbiter.answer("ASK { }", Dataset())


@pytest.mark.parametrize("seed", range(60))
def test_both_evaluators_agree_on_basic_cases(seed: int) -> None:
    case = random_case(seed)
    second = evaluate_reports(
        case.query,
        case.elements,
        case.static,
        profile=case.profile,
        t0=case.t0,
        from_=case.from_,
        until=case.until,
        evaluator=arbiter.answer,
    )
    mismatches = compare_reports(case.expected(), second)
    assert not mismatches, f"{mismatches[0]}\n{case}"


def test_a_report_is_compared_with_its_window() -> None:
    reports = evaluate_reports(PLAIN, STREAMS)
    moved = [replace(report, open=report.t - 9) for report in reports]
    assert compare_reports(reports, moved)
