"""Where queries are evaluated: what they need beside the driver is known from their rows."""

from __future__ import annotations

from hydrograph.bench.engines.replay import encode_elements
from hydrograph.live.places import need, state_bytes
from hydrograph.live.state import Piece, State
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.windows.stream import Element

S = Iri("urn:s")


def state(rows: int) -> State:
    elements = [Element.of(t, t, Triple(Iri(f"urn:{t:09d}"), Iri("urn:p"), Iri("urn:o"))) for t in range(rows)]
    return State().plus(S, [Piece.of(encode_elements(elements), "urn:s", 0)] if rows else [])


def test_what_is_needed_grows_with_rows_and_with_those_kept() -> None:
    assert need(state(0), 0) == 0
    own = state_bytes(state(1_000))
    assert own > 50_000
    assert need(state(1_000), 0) == 2 * own
    assert need(state(1_000), 1_000) == 4 * own
    assert abs(need(state(2_000), 2_000) - 2 * need(state(1_000), 1_000)) < 0.05 * need(state(2_000), 2_000)
