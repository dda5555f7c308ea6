"""Borders that were moved on purpose are found again, for queries of several shapes, windows and stream operators."""

from __future__ import annotations

import random

import pytest

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_INTEGER
from hydrograph.windows.stream import Element
from hydrograph_gauge.judge.evidence import BorderShift, Evidence
from hydrograph_gauge.judge.faults import FaultKind
from hydrograph_gauge.judge.judge_input import EngineAnswer, JudgeInput, expected_report
from hydrograph_gauge.judge.judge_query import judge_query
from hydrograph_gauge.oracle.dataset import texts_of
from hydrograph_gauge.oracle.evaluate import evaluate_reports
from hydrograph_gauge.run_records import Key

BASE = "http://example.org/"
ONE = "FROM NAMED WINDOW :w ON :s [RANGE 400ms STEP 200ms]"
TWO = f"{ONE} FROM NAMED WINDOW :v ON :t [RANGE 400ms STEP 200ms]"
QUERIES = {
    "default graph": "REGISTER QUERY q AS SELECT ?x ?y FROM STREAM <http://example.org/s> [RANGE 400ms STEP 200ms] "
    "FROM STREAM <http://example.org/t> [RANGE 400ms STEP 200ms] WHERE { ?x <http://example.org/is> ?y }",
    "identity": f"SELECT ?x ?y {ONE} WHERE {{ WINDOW :w {{ ?x :is ?y }} }}",
    "sum": f"SELECT ?y (SUM(?n) AS ?sum) {ONE} WHERE {{ WINDOW :w {{ ?x :is ?y ; :has ?n }} }} GROUP BY ?y",
    "two streams": f"SELECT ?x ?z {TWO} WHERE {{ WINDOW :w {{ ?x :is ?y }} WINDOW :v {{ ?z :is ?y }} }}",
    "istream": f"REGISTER ISTREAM :o AS SELECT ?x ?y {ONE} WHERE {{ WINDOW :w {{ ?x :is ?y }} }}",
    "any window": f"SELECT ?x ?n {ONE} WHERE {{ WINDOW ?any {{ ?x :has ?n }} }}",
}


def stream(seed: int) -> tuple[Element, ...]:
    draw = random.Random(seed)
    times = sorted(draw.sample(range(2_000), 160))
    return tuple(
        Element.of(
            t,
            seq,
            Triple(Iri(f"{BASE}x{seed}-{seq}"), Iri(f"{BASE}is"), Iri(f"{BASE}y{draw.randrange(8)}")),
            Triple(Iri(f"{BASE}x{seed}-{seq}"), Iri(f"{BASE}has"), Literal(str(1 << draw.randrange(20)), XSD_INTEGER)),
        )
        for seq, t in enumerate(times)
    )


STREAMS = {Iri(f"{BASE}s"): stream(1), Iri(f"{BASE}t"): stream(2)}


def asked(name: str) -> ContinuousQuery:
    text = QUERIES[name]
    return parse(text if text.startswith("REGISTER QUERY") else f"PREFIX : <{BASE}>\n{text}")


MOVES = {
    BorderShift(70, 70): FaultKind.SHIFTS,
    BorderShift(-70, -70): FaultKind.SHIFTS,
    BorderShift(-60, 0): FaultKind.EVICTS_LATE,
    BorderShift(None, 0): FaultKind.NO_EVICTION,
    BorderShift(60, 0): FaultKind.OPENS_LATE,
    BorderShift(0, 50): FaultKind.CLOSES_LATE,
    BorderShift(0, -50): FaultKind.CLOSES_EARLY,
}
CASES = [
    (name, moved, kind)
    for name in QUERIES
    for moved, kind in MOVES.items()
    # What leaves is not seen in what enters.
    if name != "istream" or kind in (FaultKind.SHIFTS, FaultKind.CLOSES_LATE)
]


def moved_trial(query: ContinuousQuery, moved: BorderShift) -> JudgeInput:
    """Return the answers of an engine whose windows have moved borders."""
    evidence = Evidence(query, STREAMS)
    reports = evaluate_reports(query, STREAMS)
    times = [None, *(report.t for report in reports)]
    answers = [
        EngineAnswer(0.0, texts_of(evidence.answer(report.t, before, moved)), report.t)
        for before, report in zip(times, reports, strict=False)
    ]
    due = [expected_report(report) for report in reports]
    return JudgeInput(key=Key(test="t", engine="e", query="q"), due=due, said=answers)


@pytest.mark.parametrize("moved", [each for each in MOVES if each.start is not None], ids=str)
def test_gracious_judging_finds_borders_that_were_moved_either_way(moved: BorderShift) -> None:
    """Early and late starts, early and late ends: at the borders that were used every answer is right."""
    query = asked("identity")
    found = judge_query(moved_trial(query, moved), lambda: Evidence(query, STREAMS), gracious=True)
    assert found.outcome.verdict == "wrong"
    assert all(window.precision == window.recall == 1 for window in found.windows)
    times = sorted(element.t for element in STREAMS[Iri(f"{BASE}s")])
    assert moved.start is not None
    for window in found.windows:
        assert window.open is not None
        assert window.close is not None
        due = max(0, window.open + moved.start), window.close + moved.end
        used = (window.used_open or window.open, window.used_close or window.close)
        assert [t for t in times if used[0] <= t < used[1]] == [t for t in times if due[0] <= t < due[1]]


@pytest.mark.parametrize(("name", "moved", "kind"), CASES, ids=str)
def test_moved_borders_are_found_again(name: str, moved: BorderShift, kind: FaultKind) -> None:
    query = asked(name)
    found = judge_query(moved_trial(query, moved), lambda: Evidence(query, STREAMS))
    assert [fault.kind for fault in found.faults] == [kind], found.outcome.faults
    recovered = found.faults[0].moved
    assert recovered is not None
    if moved.start is not None and recovered.start is not None:
        # Elements are 12 ms apart on average, and some windows lie in a gap.
        assert abs(moved.start - recovered.start) <= 3
        assert abs(moved.end - recovered.end) <= 3
    else:
        assert recovered == moved


def test_borders_that_waver_as_clocks_make_them() -> None:
    query = asked("identity")
    evidence, reports = Evidence(query, STREAMS), evaluate_reports(query, STREAMS)
    draw = random.Random(5)
    distances = [draw.randrange(-30, 30) for _ in reports]
    answers = [
        EngineAnswer(0.0, texts_of(evidence.answer(report.t, None, BorderShift(distance, distance))), report.t)
        for report, distance in zip(reports, distances, strict=True)
    ]
    trial = JudgeInput(
        key=Key(test="t", engine="e", query="q"), due=[expected_report(report) for report in reports], said=answers
    )
    (fault,) = judge_query(trial, lambda: Evidence(query, STREAMS)).faults
    assert fault.kind is FaultKind.WAVERS
    assert str(fault).startswith("borders of windows waver by up to ")
    assert int(fault.how.split()[-2]) <= 30
