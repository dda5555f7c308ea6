from __future__ import annotations

import pytest

from hydrograph.algebra.nodes import Bgp, Graph, Slice, TriplePattern
from hydrograph.algebra.queries import Ask, ContinuousQuery, NamedWindow
from hydrograph.algebra.sse import print_pattern, print_query
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.rdf.terms import Iri, Literal, Variable

TRIPLE = TriplePattern(Variable("s"), Iri("urn:p"), Literal('a\n"b"\\', "urn:type"))


def test_what_fits_a_line_stays_on_it() -> None:
    assert (
        print_pattern(Slice(Bgp((TRIPLE,)), 1)) == '(slice 1 _ (bgp (triple ?s <urn:p> "a\\n\\"b\\"\\\\"^^<urn:type>)))'
    )


def test_what_does_not_fit_goes_below() -> None:
    lines = print_pattern(Graph(Iri("urn:g"), Bgp((TRIPLE,) * 3))).splitlines()
    assert lines[0] == "(graph <urn:g>"
    assert lines[1].startswith("  (bgp (triple")
    assert all(line.startswith("    (triple") for line in lines[2:])


@pytest.mark.parametrize(
    ("definition", "text"),
    [
        (TimeWindow(10, 5), "(range 10 5)"),
        (TimeWindow(10, None), "(range 10 continuous)"),
        (CountWindow(3), "(elements 3 1)"),
        (CountWindow(3, 3, triples=True), "(triples 3 3)"),
        (PastWindow(20, 10, 5), "(past 20 10 5)"),
        (NowWindow(), "(now)"),
        (AllWindow(), "(all)"),
    ],
)
def test_windows(definition: WindowDefinition, text: str) -> None:
    query = ContinuousQuery(Ask(), Bgp(()), (NamedWindow(None, Iri("urn:s"), definition),))
    assert print_query(query) == f"(query (from-window <urn:s> {text}) (ask) (bgp))"
