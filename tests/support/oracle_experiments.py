"""The streams of the two experiments on functional testing by Dell'Aglio, Balduini and Della Valle (BeRSys 2013).

They tell engines apart by window content, report and eviction. The paper's seconds are milliseconds here.
"""

from __future__ import annotations

from hydrograph.rdf.terms import Iri, Triple
from hydrograph.windows.stream import Element

STREAM = Iri("http://ex.org/streams/test")
DETECTED_AT = Iri("http://ex.org/detectedAt")


def thing(name: str) -> Iri:
    """Return a mover or a room."""
    return Iri(f"http://ex.org/{name}")


def detected(mover: str, room: str) -> Triple:
    """Return the triple with the position of a mover."""
    return Triple(thing(mover), DETECTED_AT, thing(room))


ROOM_CHANGES = (
    Element.of(1, 0, detected("m1", "r1")),
    Element.of(3, 1, detected("m2", "r1")),
    Element.of(12, 2, detected("m1", "r2")),
    Element.of(15, 3, detected("m2", "r2")),
)
"""Experiment 1: in which room are m1 and m2 both, in tumbling windows of 10?"""

FOUR_MOVERS = (
    Element.of(0, 0, detected("m1", "r1")),
    Element.of(5, 1, detected("m2", "r2")),
    Element.of(10, 2, detected("m3", "r1")),
    Element.of(15, 3, detected("m4", "r2")),
)
"""Experiment 2: who is in one room, in tumbling windows of 3? No window holds two of them."""
