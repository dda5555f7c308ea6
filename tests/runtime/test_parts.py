"""Reports that are computed in parts are those that are computed together (S17)."""

from __future__ import annotations

from pathlib import Path

import pytest

import hydrograph
from hydrograph.runtime import run as running
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay import Ranks, parts

ROOT = Path(__file__).parents[2]
VISITS = ROOT / "examples" / "data" / "visits.tnt"
BUILDING = ROOT / "src" / "hydrograph" / "bench" / "workloads" / "rooms" / "building.tnt"
START = "PREFIX : <http://example.org/> "
WINDOW = " FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT1S] WHERE "
SEEN = "WINDOW :w { ?who :detectedAt ?room }"
QUERIES = {
    "rstream": f"{START} SELECT ?who ?room {WINDOW} {{ {SEEN} }}",
    "istream": f"{START} REGISTER ISTREAM <urn:q> AS SELECT ?who ?room {WINDOW} {{ {SEEN} }}",
    "dstream": f"{START} REGISTER DSTREAM <urn:q> AS SELECT ?who ?room {WINDOW} {{ {SEEN} }}",
    "count": f"{START} SELECT (COUNT(*) AS ?n) {WINDOW} {{ {SEEN} }}",
    "changed count": f"{START} REGISTER ISTREAM <urn:q> AS SELECT (COUNT(*) AS ?n) {WINDOW} {{ {SEEN} }}",
    "group": f"{START} SELECT ?room (COUNT(DISTINCT ?who) AS ?n) {WINDOW} {{ {SEEN} }} GROUP BY ?room",
    "ask": f"{START} ASK {WINDOW} {{ WINDOW :w {{ ?who :detectedAt :green }} }}",
    "optional": f"{START} SELECT * {WINDOW} {{ {SEEN} OPTIONAL {{ WINDOW :w {{ ?x :detectedAt ?room, :red }} }} }}",
    "order": f"{START} SELECT ?who {WINDOW} {{ {SEEN} }} ORDER BY DESC(?who) LIMIT 2",
    "construct": f"{START} CONSTRUCT {{ ?who :in [ :at ?room ] }} {WINDOW} {{ {SEEN} }}",
    "path": f"{START} SELECT * {WINDOW} {{ WINDOW :w {{ ?a (:detectedAt/^:detectedAt)+ ?b }} }}",
    "nothing": f"{START} SELECT * {WINDOW} {{ FILTER NOT EXISTS {{ WINDOW :w {{ ?who :detectedAt :red }} }} }}",
}


@pytest.mark.parametrize(("location", "at_once"), [(VISITS, 9), (BUILDING, 400)], ids=["visits", "building"])
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES.keys())
def test_parts(text: str, location: Path, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query = hydrograph.query(text)
    with query.over(location, placement="local") as run:
        together = list(run.reports())
    monkeypatch.setattr(running, "_ROWS_AT_ONCE", at_once)
    with query.over(location, placement="local") as run:
        assert list(run.reports()) == together
        assert list(run.reports()) == together  # a second time, after the tables of the last part
    assert len(together) > 20


def test_the_length_of_parts() -> None:
    parsed = hydrograph.query(QUERIES["rstream"])  # an event is in ten windows
    planned = plan(parsed.algebra, parsed.profile, 0)
    assert parts(planned, Ranks(5, 105), 1000, 10_000) == [Ranks(5, 105)]
    assert parts(planned, Ranks(5, 105), 1000, 3000) == [Ranks(5, 30), Ranks(30, 55), Ranks(55, 80), Ranks(80, 105)]
    assert parts(planned, Ranks(5, 8), 10**9, 1) == [Ranks(5, 6), Ranks(6, 7), Ranks(7, 8)]
    assert parts(planned, Ranks(5, 5), 10**9, 1) == [Ranks(5, 5)]
