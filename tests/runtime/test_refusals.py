"""What the language can say and the runtime can not do yet is refused by name, never answered in another way."""

from __future__ import annotations

import pytest

from hydrograph import api
from hydrograph.errors import UnsupportedError
from hydrograph.runtime.plan import plan

REFUSED = {
    "SELECT ?s { STREAM <urn:s> [NOW] { ?s ?p ?o } }": "the window of the newest instant",
    "SELECT ?s { STREAM <urn:s> [ALL] { ?s ?p ?o } }": "the window of all elements since t0",
    "SELECT ?s { STREAM <urn:s> [TRIPLES 5] { ?s ?p ?o } }": "a window of the last 5 triples every 1",
    "SELECT ?s { STREAM <urn:s> [RANGE 5s] { ?s ?p ?o } }": "a window of 5s that slides continuously",
    "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [ELEMENTS 5 STEP 2] { WINDOW <urn:w> { ?s ?p ?o } }": (
        "a window of the last 5 elements every 2"
    ),
    "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [FROM NOW-PT9S TO NOW-PT4S STEP PT1S] { WINDOW <urn:w> {} }": (
        "a window from 9s to 4s ago every 1s"
    ),
    "SELECT ?s FROM STREAM <urn:s> [RANGE 5s STEP 1s] { ?s ?p ?o }": "feed the default graph, such as that of <urn:s>",
    "SELECT ?s FROM NAMED STREAM <urn:s> [NOW - 5 S SLIDE 1 S] { ?s ?p ?o }": "feed the default graph",
    "REGISTER QUERY q COMPUTED EVERY 5s AS SELECT ?s FROM STREAM <urn:s> [RANGE 5s STEP 1s] { ?s ?p ?o }": (
        "COMPUTED EVERY is not supported yet"
    ),
    "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s STEP 2s] "
    "FROM NAMED WINDOW <urn:v> ON <urn:s> [RANGE 9s STEP 3s] { WINDOW <urn:w> { ?s ?p ?o } }": "different closes",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_can_not_be_run_yet_is_refused_by_name(text: str) -> None:
    query = api.query(text, preset="rspql")
    with pytest.raises(UnsupportedError, match=REFUSED[text]):
        plan(query.algebra, query.profile, 0)


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("SELECT ?s FROM STREAM <urn:s> [RANGE 5s STEP 1s] { ?s ?p ?o }", "csparql"),
        ("SELECT ?s { STREAM <urn:s> [RANGE 5s] { ?s ?p ?o } }", "cqels"),
    ],
)
def test_a_query_follows_its_dialect(text: str, preset: str) -> None:
    query = api.query(text)
    assert query.profile.name == preset
    with pytest.raises(UnsupportedError, match=f"the report strategy of preset '{preset}' is not supported yet"):
        plan(query.algebra, query.profile, 0)
