"""Experiment 1 of the functional-testing paper (BeRSys 2013) in RSP-QL: contents and answers at every t0.

t      1    3              12   15
       S1   S2             S3   S4        m1, m2 in r1; then m1, m2 in r2
t0=0  [------------)[------------)        r1 @ 10, r2 @ 20
t0=3       [------------)[------------)   -  @ 13, -  @ 23
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hydrograph.language import parse
from hydrograph.windows.stream import merged
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.oracle_experiments import DETECTED_AT, ROOM_CHANGES, STREAM, thing
from tests.support.random_cases import Case
from tests.support.replay_adapter import answer

FRAME = f"FROM NAMED WINDOW <urn:w> ON <{STREAM.value}> [RANGE 10 STEP 10] WHERE {{ WINDOW <urn:w> {{ "
M1, M2 = f"<{thing('m1').value}>", f"<{thing('m2').value}>"
MEET = f"SELECT ?room {FRAME} {M1} <{DETECTED_AT.value}> ?room . {M2} <{DETECTED_AT.value}> ?room }} }}"
CONTENT = f"SELECT ?s ?p ?o {FRAME} ?s ?p ?o }} }}"

S1, S2, S3, S4 = ROOM_CHANGES
TABLE = [
    (0, (S1, S2), (S3, S4), "r1", "r2"),
    (1, (S1, S2), (S3, S4), "r1", "r2"),
    (2, (S2,), (S3, S4), None, "r2"),
    (3, (S2, S3), (S4,), None, None),
    (4, (S3,), (S4,), None, None),
    (5, (S3,), (S4,), None, None),
    (6, (S3, S4), (), "r2", None),
]


def case(text: str, t0: int) -> Case:
    return replace(Case(0, parse(text), {STREAM: ROOM_CHANGES}), t0=t0, from_=t0, until=t0 + 20)


@pytest.mark.parametrize(("t0", "first", "second", "room", "other"), TABLE)
def test_windows_and_answers(t0: int, first: tuple, second: tuple, room: str | None, other: str | None) -> None:  # type: ignore[type-arg]
    contents = answer(case(CONTENT, t0))
    graphs = [{(x.subject, x.predicate, x.object) for x in merged(elements)} for elements in (first, second)]
    assert [set(report.rows) for report in contents] == graphs
    assert [(report.open, report.close) for report in contents] == [(t0, t0 + 10), (t0 + 10, t0 + 20)]
    rooms = answer(case(MEET, t0))
    assert [_room(report) for report in rooms] == [room, other]
    assert not compare_reports(case(MEET, t0).expected(), rooms)


def _room(report: Report) -> str | None:
    rows = list(report.rows.elements())
    return str(rows[0][0].value.removeprefix("http://ex.org/")) if rows else None  # type: ignore[union-attr]
