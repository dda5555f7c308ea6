"""Unsupported queries are rejected by name, never answered in another way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hydrograph import api
from hydrograph.errors import UnsupportedError
from hydrograph.runtime.plan import plan
from hydrograph.windows.report import Multi, Policy, When

CONTINUOUS = "SELECT ?s { STREAM <urn:s> [RANGE 5s] { ?s ?p ?o } }"
TWO = (
    "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 9s STEP 2s] "
    "FROM NAMED WINDOW <urn:v> ON <urn:s> [RANGE 8s STEP 2s] { WINDOW <urn:w> { ?s ?p ?o } }"
)


def test_a_continuous_slide_never_closes() -> None:
    query = api.query(CONTINUOUS, preset="rspql")
    with pytest.raises(UnsupportedError, match="a continuously sliding window never closes; give it a slide"):
        plan(query.algebra, query.profile, 0)


def test_windows_that_never_close_together_can_not_report_together() -> None:
    query = api.query(TWO)
    with pytest.raises(UnsupportedError, match="never close together"):
        plan(query.algebra, replace(query.profile, report=Policy(multi=Multi.ALL)), 0)


def test_a_period_is_needed() -> None:
    query = api.query(TWO)
    with pytest.raises(UnsupportedError, match="periodic reporting needs a period above zero"):
        plan(query.algebra, replace(query.profile, report=Policy(When.PERIODIC)), 0)


@pytest.mark.parametrize(
    ("text", "preset"),
    [
        ("SELECT ?s FROM STREAM <urn:s> [RANGE 5s STEP 1s] { ?s ?p ?o }", "csparql"),
        (CONTINUOUS, "cqels"),
        ("SELECT ?s FROM NAMED STREAM <urn:s> [NOW - 5 S SLIDE 1 S] { ?s ?p ?o }", "sparqlstream"),
    ],
)
def test_a_query_follows_its_dialect(text: str, preset: str) -> None:
    query = api.query(text)
    assert query.profile.name == preset
    assert plan(query.algebra, query.profile, 0).profile.name == preset
