"""Registration at the beginning of a second, and streams that begin a whole number of slides later."""

from __future__ import annotations

import pytest

from hydrograph.rdf.terms import Iri
from hydrograph.windows.stream import Element
from hydrograph_gauge.engines.start_phase import Registration, StartPhase, stream_paces, wait_to_register

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
