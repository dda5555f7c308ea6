"""When elements are due, and that they are handed over then, on a clock that costs no time."""

from __future__ import annotations

from itertools import pairwise

import pytest

from hydrograph.rdf.terms import Iri
from hydrograph.windows.stream import Element
from hydrograph_gauge.player import AsFastAsTaken, AtRandom, AtRate, ByEventTime, Pace, burst, constant, play, ramp

A, B = Iri("urn:a"), Iri("urn:b")


class FakeClock:
    def __init__(self) -> None:
        """Start at 0."""
        self.time = 0.0

    def now(self) -> float:
        return self.time

    def wait(self, until: float) -> None:
        self.time = max(self.time, until)


def elements(*times: int) -> list[Element]:
    return [Element.of(t, seq) for seq, t in enumerate(times)]


def due(pace: Pace, number: int) -> list[float]:
    return list(pace.due(elements(*range(number)), 0))


def test_streams_are_merged_by_event_time_at_a_speed() -> None:
    handed = []
    found = play(
        {A: elements(1000, 1400), B: elements(1200, 1400)},
        {A: ByEventTime(2), B: ByEventTime(2)},
        lambda stream, element: handed.append((stream, element.t)),
        FakeClock(),
    )
    assert handed == [(A, 1000), (B, 1200), (A, 1400), (B, 1400)]
    assert [each.at for each in found] == [0, 100, 200, 200]


def test_each_stream_has_its_own_rate() -> None:
    found = play(
        {A: elements(0, 0, 0), B: elements(0, 0)},
        {A: AtRate(constant(1000)), B: AtRate(constant(500))},
        lambda *_: None,
        FakeClock(),
    )
    assert [(each.stream, each.at) for each in found] == [(A, 0), (B, 0), (A, 1), (A, 2), (B, 2)]


def test_an_engine_that_holds_up_the_player_makes_the_next_elements_late() -> None:
    clock = FakeClock()

    def slow(_: Iri, __: Element) -> None:
        clock.time += 15

    found = play({A: elements(0, 10, 20, 100)}, {A: ByEventTime()}, slow, clock)
    assert [(each.due, each.at) for each in found] == [(0, 0), (10, 15), (20, 30), (100, 100)]


def test_profiles() -> None:
    rising = due(AtRate(ramp(100, 1000, 1000)), 800)
    gaps = [later - earlier for earlier, later in pairwise(rising)]
    assert gaps[0] == 10
    assert gaps[-1] == pytest.approx(1)
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(gaps))
    bursts = due(AtRate(burst(10, 100, 1000, 200)), 60)
    inside = [at for at in bursts if at % 1000 < 200]
    assert len(inside) > 2 * len([at for at in bursts if at % 1000 >= 200])
    assert due(AsFastAsTaken(), 3) == [0, 0, 0]


def test_random_distances_depend_on_the_seed_alone() -> None:
    one = due(AtRandom(1000, 7), 5000)
    assert one == due(AtRandom(1000, 7), 5000) != due(AtRandom(1000, 8), 5000)
    assert one[-1] == pytest.approx(5000, rel=0.1)
