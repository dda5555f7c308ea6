"""Queries that report as soon as content changes, as CQELS does: from the hand-over of an element to its answers.

An instant is over when a later element comes: answers of the last instant of a slice wait for the next slice.
"""

from __future__ import annotations

from hydrograph import api
from hydrograph_gauge.live_load.load import SLICE, Measured, played, slices, static_kinds

_PREFIX = "PREFIX : <urn:bench:>"
_BLOCK = "STREAM :stream [RANGE 5s]"
CHANGING = {
    "filter": f"{_PREFIX} SELECT ?a ?b {{ {_BLOCK} {{ ?a :p ?b FILTER(STRENDS(STR(?b), '7')) }} }}",
    "join": f"{_PREFIX} SELECT ?a ?b ?c ?d {{ {_BLOCK} {{ ?a :p ?b . ?b :q ?c . ?c :r ?d }} }}",
    "hybrid": f"{_PREFIX} SELECT ?a ?b ?kind {{ {_BLOCK} {{ ?a :p ?b }} ?b :kind ?kind }}",
}


def measure_changes(query: str, rate: int, seconds: int, *, placement: str) -> Measured:
    """Play a stream to a query in CQELS' language, and note when the answers to elements come."""
    static = static_kinds(rate) if query == "hybrid" else None
    parts = [*slices(rate, 1000 * seconds)]
    asked = api.query(CHANGING[query], dialect="cqels")
    return played(asked, parts, static, placement=placement, shown_by=lambda t: t - t % SLICE)
