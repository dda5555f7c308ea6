"""Where queries are evaluated: what they need beside the driver is known from their rows, what they cost measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from hydrograph.language import parse
from hydrograph.live.driver.batch_loop import Runner
from hydrograph.live.driver.load_meter import Pace
from hydrograph.live.driver.placement_policy import Places, need, state_bytes
from hydrograph.live.driver.registered_query import Member
from hydrograph.live.settings import Settings
from hydrograph.live.sources.inputs import Input
from hydrograph.live.step.input_batch import Arrival
from hydrograph.live.step.state import Piece, State
from hydrograph.live.step.stepper import Registered, Stepper
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.options import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.streams.static import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.stream import Element
from tests.support.live_faults import MemoryFiles, MemorySource
from tests.support.replay_adapter import encode_elements

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


WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10ms STEP 5ms] { WINDOW <urn:w> { ?s ?p ?o } }"
KEPT = f"SELECT ?s {WINDOW}"
WHOLE = f"REGISTER ISTREAM <urn:q> AS CONSTRUCT {{ ?s <urn:is> ?o }} {WINDOW}"


@pytest.fixture
def placed() -> Iterator[Local]:
    with Local(threads=1, small=True) as database:
        yield database


def driven(text: str, placed: Local, seconds: float, elements: int = 40) -> Runner:
    """Return a driver behind elements 5 ms apart, one a batch, that took so many seconds each by its clock."""
    chunks = [
        Arrival(S, encode_elements([Element.of(5 * t, t, Triple(S, S, Iri(f"urn:{t}")))]), t, t + 1)
        for t in range(elements)
    ]
    source, ticks = MemorySource(chunks), count()
    placed.forget()
    stepper = Stepper(
        Registered(name="q", plan=plan(parse(text), RSPQL, 0), partitions=("urn:s",)), StaticGraphs(), placed
    )
    runner = Runner(Member(stepper), [Input(S, source)], MemoryFiles(), clock=lambda: seconds * next(ticks))
    runner.open()
    for there in range(1, elements + 1):
        source.there = there
        assert runner.once()
    return runner


def settings(master: str | None = "spark://elsewhere:7077", placement: Placement = Placement.AUTO) -> Settings:
    return Settings(checkpoint="unused", master=master, placement=placement)


def test_a_driver_that_can_not_keep_up_gives_a_query_away(placed: Local) -> None:
    runner = driven(WHOLE, placed, 1.0)
    queries = {"q": (runner.members["q"].stepper, runner.paces["q"])}
    assert runner.paces["q"].load == pytest.approx(200)  # a second of work for 5 ms
    found = Places(settings()).overtaken(queries)
    assert found is not None
    assert found[0] == "q"
    assert "took 200.0 s here" in found[1]
    assert Places(settings(master=None)).overtaken(queries) is None  # the same cores again
    assert Places(settings(master="local[8]")).overtaken(queries) is None
    assert Places(settings(placement=Placement.LOCAL)).overtaken(queries) is None
    runner.place({})
    assert not runner.paces  # judged anew


def test_nothing_moves_that_keeps_up_or_would_have_more_to_do_elsewhere(placed: Local) -> None:
    quick = driven(WHOLE, placed, 0.004)
    assert quick.paces["q"].load == 0  # not enough to judge by
    assert Places(settings()).overtaken({"q": (quick.members["q"].stepper, quick.paces["q"])}) is None
    kept = driven(KEPT, placed, 1.0)
    assert kept.paces["q"].load == pytest.approx(200)
    assert Places(settings()).overtaken({"q": (kept.members["q"].stepper, kept.paces["q"])}) is None


def test_queries_that_are_slow_together_lose_the_slowest_that_may_go(placed: Local) -> None:
    stepper = driven(WHOLE, placed, 0.004).members["q"].stepper

    def pace(milliseconds: float) -> Pace:
        made = Pace()
        for second in range(30):
            made.worked(milliseconds, 1_000 * second)
        return made

    queries = {"a": (stepper, pace(450)), "b": (stepper, pace(500))}
    assert Places(settings()).overtaken(queries) is None
    found = Places(settings()).overtaken({**queries, "c": (stepper, pace(400))})
    assert found is not None
    assert found[0] == "b"


def test_one_slow_batch_says_nothing() -> None:
    pace = Pace()
    for second in range(100):
        pace.worked(9_000 if second == 50 else 200, 1_000 * second)
        assert pace.load < 1
    for second in range(100, 200):
        pace.worked(1_200, 1_000 * second)
    assert pace.load == pytest.approx(1.2)
