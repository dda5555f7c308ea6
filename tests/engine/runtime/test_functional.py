"""The tables of the functional-testing paper (Dell'Aglio, Balduini, Della Valle, BeRSys 2013), in its three dialects.

Table 1, rooms where m1 and m2 are both, in tumbling windows of 10 s, for every t0:

    t      1    3              12   15
           S1   S2             S3   S4        m1, m2 in r1; then m1, m2 in r2
    t0=0  [------------)[------------)        r1 @ 10, r2 @ 20
    t0=3       [------------)[------------)   -  @ 13, -  @ 23
    t0=6               [-------------)[---    r2 @ 16, then nothing: silence or an empty answer

Tables 2 and 3, four movers in tumbling windows of 3 s: whatever did not leave its window would meet another.
A dash is an empty answer that is said, None is silence.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrograph import api
from hydrograph.windows.profile import ProfileOverrides

SECOND = 1_000
EX = "http://ex.org/"
STREAM = f"{EX}streams/test"


def written(path: Path, events: list[tuple[int, str, str]]) -> str:
    lines = [f"{t * SECOND}\t<{EX}{mover}> <{EX}detectedAt> <{EX}{room}> .\n" for t, mover, room in events]
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture
def rooms(tmp_path: Path) -> str:
    return written(tmp_path / "rooms.tnt", [(1, "m1", "r1"), (3, "m2", "r1"), (12, "m1", "r2"), (15, "m2", "r2")])


@pytest.fixture
def movers(tmp_path: Path) -> str:
    return written(tmp_path / "movers.tnt", [(0, "m1", "r1"), (5, "m2", "r2"), (10, "m3", "r1"), (15, "m4", "r2")])


DETECTED = f"<{EX}detectedAt> ?room"
BOTH = f"<{EX}m1> {DETECTED} . <{EX}m2> {DETECTED}"
PAIRS = f"?p1 {DETECTED} . ?p2 {DETECTED}"
OTHERS = f"{PAIRS} FILTER(?p1 != ?p2)"


def csparql(columns: str, width: int, pattern: str) -> str:
    window = f"FROM STREAM <{STREAM}> [RANGE {width}s STEP {width}s]"
    return f"REGISTER QUERY Test AS SELECT {columns} {window} WHERE {{ {pattern} }}"


def cqels(columns: str, width: int, pattern: str) -> str:
    return f"SELECT {columns} WHERE {{ STREAM <{STREAM}> [RANGE {width}s SLIDE {width}s] {{ {pattern} }} }}"


def sparqlstream(columns: str, width: int, pattern: str) -> str:
    window = f"FROM NAMED STREAM <{STREAM}> [NOW - {width} S SLIDE {width} S]"
    return f"SELECT RSTREAM {columns} {window} WHERE {{ {pattern} }}"


def answers(text: str, stream: str, t0: int, until: int | None = None) -> list[str]:
    """Return what is reported, in seconds: `r1@10`, `-@12` for an empty answer."""
    end = None if until is None else until * SECOND
    with api.query(text).over(stream, t0=t0 * SECOND, until=end, placement="local") as run:
        found = []
        for report in run.reports():
            rows = [",".join(text.removeprefix(f"<{EX}").rstrip(">") for text in row if text) for row in report.rows]
            found += [f"{row}@{report.t // SECOND}" for row in rows or ["-"]]
        return found


TABLE_1 = [
    # t0, C-SPARQL, SPARQLstream, CQELS as observed
    (0, ["r1@10", "r2@20"], ["r1@10", "r2@20"], ["r1@3", "r2@15"]),
    (1, ["r1@11", "r2@21"], ["r1@11", "r2@21"], ["r1@3", "r2@15"]),
    (2, ["-@12", "r2@22"], ["-@12", "r2@22"], ["r2@15"]),
    (3, ["-@13", "-@23"], ["-@13", "-@23"], ["r2@15"]),
    (4, ["-@14", "-@24"], ["-@14", "-@24"], ["r2@15"]),
    (5, ["-@15", "-@25"], ["-@15", "-@25"], ["r2@15"]),
    (6, ["r2@16"], ["r2@16", "-@26"], ["r2@15"]),
]


@pytest.mark.parametrize(("t0", "csparql_", "sparqlstream_", "cqels_"), TABLE_1)
def test_table_1(rooms: str, t0: int, csparql_: list[str], sparqlstream_: list[str], cqels_: list[str]) -> None:
    assert answers(csparql("?room", 10, BOTH), rooms, t0, t0 + 20) == csparql_
    assert answers(sparqlstream("?room", 10, BOTH), rooms, t0, t0 + 20) == sparqlstream_
    assert answers(cqels("?room", 10, BOTH), rooms, t0) == cqels_


def test_table_2_nobody_meets(movers: str) -> None:
    assert answers(csparql("?room", 3, OTHERS), movers, 0) == ["-@3", "-@6", "-@12", "-@18"]
    assert answers(sparqlstream("?room", 3, OTHERS), movers, 0) == ["-@3", "-@6", "-@9", "-@12", "-@15", "-@18"]
    assert answers(cqels("?room", 3, OTHERS), movers, 0) == [], "the documented meaning: what is old has left"


def test_table_3_everybody_meets_himself(movers: str) -> None:
    selves = ["m1,m1,r1", "m2,m2,r2", "m3,m3,r1", "m4,m4,r2"]
    columns = "?p1 ?p2 ?room"
    at_close = [f"{row}@{t}" for row, t in zip(selves, (3, 6, 12, 18), strict=True)]
    assert answers(csparql(columns, 3, PAIRS), movers, 0) == at_close
    said = [*at_close[:2], "-@9", at_close[2], "-@15", at_close[3]]
    assert answers(sparqlstream(columns, 3, PAIRS), movers, 0) == said
    on_arrival = [f"{row}@{t}" for row, t in zip(selves, (0, 5, 10, 15), strict=True)]
    assert answers(cqels(columns, 3, PAIRS), movers, 0) == on_arrival


@pytest.mark.parametrize("t0", range(7))
def test_csparql_as_its_engine_does_reports_partial_windows_first(rooms: str, t0: int) -> None:
    """RANGE above STEP: windows of 10 every 5 from t0 on, the first ones partial (A3)."""
    text = csparql("?room", 10, BOTH).replace("STEP 10s", "STEP 5s")
    query = api.query(text, preset="csparql-engine")
    with query.over(rooms, t0=t0 * SECOND, placement="local") as run:
        closes = [report.t // SECOND for report in run.reports()]
    elements = [t for t in (1, 3, 12, 15) if t >= t0]
    wanted = [c for c in range(t0 + 5, 40, 5) if any(c - 10 <= t < c for t in elements)]
    assert closes == wanted


# Section 2 of the method: any stream, a window above 1, slide 1, the identity query. Rstream gives the content,
# Istream what enters, Dstream what leaves.
IDENTITY_TIMES = (0, 1, 1, 4, 5, 5, 9)


def content(close: int, width: int) -> list[int]:
    return [n for n, t in enumerate(IDENTITY_TIMES) if close - width <= t < close]


@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize("width", [2, 3, 5])
@pytest.mark.parametrize("align", ["open", "close"])
def test_identity(tmp_path: Path, operator: str, width: int, align: str) -> None:
    lines = [f"{t}\t<urn:s{n}> <urn:p> <urn:o> .\n" for n, t in enumerate(IDENTITY_TIMES)]
    (tmp_path / "s.tnt").write_text("".join(lines))
    text = (
        f"REGISTER {operator} <urn:out> AS SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE {width} STEP 1] "
        "WHERE { WINDOW <urn:w> { ?s ?p ?o } }"
    )
    from hydrograph.windows.scope import Align

    query = api.query(text, overrides=ProfileOverrides(align=Align(align)))
    with query.over(str(tmp_path / "s.tnt"), t0=0, placement="local") as run:
        found = {report.t: [row[0] for row in report.rows] for report in run.reports()}
    first = width if align == "open" else 1
    before: list[int] = []
    for close in range(first, max(IDENTITY_TIMES) + width + 1):
        now = content(close, width)
        wanted = {
            "RSTREAM": now,
            "ISTREAM": [n for n in now if n not in before],
            "DSTREAM": [n for n in before if n not in now],
        }[operator]
        assert found[close] == [f"<urn:s{n}>" for n in wanted], close
        before = now
    assert list(found) == list(range(first, max(IDENTITY_TIMES) + width + 1))
