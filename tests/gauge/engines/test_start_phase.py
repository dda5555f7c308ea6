"""Registration at the beginning of a second, and streams that begin a whole number of slides later."""

from __future__ import annotations

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines import registry
from hydrograph_gauge.engines.process import Limits
from hydrograph_gauge.engines.session import EngineQuery, SessionInput, run_session
from hydrograph_gauge.engines.start_phase import Registration, StartPhase, stream_paces, wait_to_register
from hydrograph_gauge.player import ByEventTime

STREAM = Iri("urn:s")
START = StartPhase({"q": 3_000}, {STREAM: "q"})


@pytest.mark.parametrize("now", [70_000.0, 70_001.0, 71_999.5, 1_234_567.8])
@pytest.mark.parametrize("passed", [0.0, 137.0, 499.0])
def test_a_stream_begins_whole_slides_after_the_second_of_the_registration(now: float, passed: float) -> None:
    registered = {"q": Registration(64_000 + passed / 2, 64_000 + passed)}
    delay = stream_paces(START, registered, now)[STREAM].delay
    assert 0 <= delay < 3_000
    assert (now + delay - 64_000) % 3_000 == pytest.approx(0)


def test_elements_follow_by_event_time() -> None:
    pace = stream_paces(START, {"q": Registration(1_000, 1_100)}, 1_200.0)[STREAM]
    elements = [Element.of(t, seq) for seq, t in enumerate((-500, 0, 4_000))]
    assert list(pace.due(elements, first=-9_000)) == [2_800, 3_300, 7_300]


def test_a_refused_query_delays_nothing() -> None:
    assert stream_paces(START, {}, 5_555.0)[STREAM].delay == 0


@pytest.mark.parametrize(("now", "wait"), [(5_000, 0), (5_200, 0), (5_201, 799), (5_999, 1)])
def test_queries_are_registered_at_the_beginning_of_a_second(now: float, wait: float) -> None:
    assert wait_to_register(now) == wait


@pytest.mark.parametrize(
    ("told", "heard", "within"), [(5_010, 5_100, True), (5_010, 5_500, False), (5_010, 6_010, False)]
)
def test_a_registration_that_takes_long_leaves_the_phase_uncertain(told: float, heard: float, *, within: bool) -> None:
    assert Registration(told, heard).is_within(500) is within


def test_a_session_by_the_clock_begins_in_phase() -> None:
    """A real engine by the clock, with windows of a second: each holds the element of its own second."""
    query = parse(
        "SELECT ?o FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 1s STEP 1s] { WINDOW <urn:w> { <urn:e> <urn:p> ?o } }"
    )
    asked = EngineQuery(registry.print_for_engine("oxigraph-periodic", query), ("o",))
    triples = [Triple(Iri("urn:e"), Iri("urn:p"), Iri(f"urn:o{n}")) for n in range(3)]
    other = Triple(Iri("urn:nothing"), Iri("urn:happens"), Iri("urn:yet"))
    elements = [Element.of(-500, 0, other), *(Element.of(1_000 * n, n + 1, each) for n, each in enumerate(triples))]
    task = SessionInput(
        {"q": asked}, {STREAM: elements}, {STREAM: ByEventTime()}, start=StartPhase({"q": 1_000}, {STREAM: "q"})
    )
    found = run_session(registry.start_command("oxigraph-periodic"), task, Limits(seconds=60))
    registration = found.registered["q"]
    assert registration.told <= registration.heard
    first = found.handed[0].due
    assert 0 <= first < 1_000
    assert [each.due - first for each in found.handed] == [0, 500, 1_500, 2_500]
    if max(each.at - each.due for each in found.handed) < 400:  # the machine kept the phase
        assert [list(block.rows) for block in found.blocks["q"] if block.rows] == [[(each.object,)] for each in triples]
