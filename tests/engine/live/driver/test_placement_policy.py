"""Placement policy: memory is estimated from the rows of a query, load is measured."""

from __future__ import annotations

from itertools import count

import pytest

from hydrograph.language import parse
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.placement_policy import LoadMeter, PlacementPolicy, needed_bytes, state_bytes
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.settings import Settings
from hydrograph.live.step.records import InputBatch, QuerySpec
from hydrograph.live.step.state import State, StateRun
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.stream import Element
from tests.support.live_faults import MemoryFiles, MemorySource, memory_input
from tests.support.replay_adapter import encode_elements

S = Iri("urn:s")


def state(rows: int) -> State:
    elements = [Element.of(t, t, Triple(Iri(f"urn:{t:09d}"), Iri("urn:p"), Iri("urn:o"))) for t in range(rows)]
    return State().plus(S, [StateRun.of(encode_elements(elements), "urn:s", 0)] if rows else [])


def test_needed_memory_grows_with_state_and_kept_rows() -> None:
    assert needed_bytes(state(0), 0) == 0
    own = state_bytes(state(1_000))
    assert own > 50_000
    assert needed_bytes(state(1_000), 0) == 2 * own
    assert needed_bytes(state(1_000), 1_000) == 4 * own
    assert abs(needed_bytes(state(2_000), 2_000) - 2 * needed_bytes(state(1_000), 1_000)) < 0.05 * needed_bytes(
        state(2_000), 2_000
    )


WINDOW = "FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10ms STEP 5ms] { WINDOW <urn:w> { ?s ?p ?o } }"
KEPT = f"SELECT ?s {WINDOW}"
WHOLE = f"REGISTER ISTREAM <urn:q> AS CONSTRUCT {{ ?s <urn:is> ?o }} {WINDOW}"


def driven(text: str, placed: Local, seconds: float, elements: int = 40) -> BatchLoop:
    """Return a driver behind elements 5 ms apart, one a batch, that took so many seconds each by its clock."""
    chunks = [
        InputBatch(S, encode_elements([Element.of(5 * t, t, Triple(S, S, Iri(f"urn:{t}")))]), t, t + 1)
        for t in range(elements)
    ]
    source, ticks = MemorySource(chunks), count()
    placed.forget()
    stepper = Stepper(
        QuerySpec(name="q", plan=plan(parse(text), RSPQL, 0), partitions=("urn:s",)),
        StaticGraphs(),
        EvaluationChoice(placed),
    )
    runner = BatchLoop(
        RegisteredQuery(stepper), [memory_input(S, source)], MemoryFiles(), clock=lambda: seconds * next(ticks)
    )
    runner.open()
    for there in range(1, elements + 1):
        source.there = there
        assert runner.run_once()
    return runner


def settings(
    master: str | None = "spark://elsewhere:7077", placement: PlacementChoice = PlacementChoice.AUTO
) -> Settings:
    return Settings(checkpoint="unused", master=master, placement=placement)


def test_an_overloaded_driver_moves_a_query_to_spark(placed: Local) -> None:
    runner = driven(WHOLE, placed, 1.0)
    queries = {"q": (runner.queries["q"].stepper, runner.load["q"])}
    assert runner.load["q"].load == pytest.approx(200)  # a second of work for 5 ms
    moves = PlacementPolicy(settings()).overload_moves(queries)
    assert [*moves] == ["q"]
    assert "took 200.0 s in the driver" in moves["q"]
    assert PlacementPolicy(settings(master=None)).overload_moves(queries) == {}  # the same cores again
    assert PlacementPolicy(settings(master="local[8]")).overload_moves(queries) == {}
    assert PlacementPolicy(settings(placement=PlacementChoice.LOCAL)).overload_moves(queries) == {}
    runner.place({})
    assert not runner.load  # counted from here on


def test_queries_that_keep_up_or_are_incremental_do_not_move(placed: Local) -> None:
    quick = driven(WHOLE, placed, 0.004)
    assert quick.load["q"].load == 0  # not enough to judge by
    assert PlacementPolicy(settings()).overload_moves({"q": (quick.queries["q"].stepper, quick.load["q"])}) == {}
    kept = driven(KEPT, placed, 1.0)
    assert kept.load["q"].load == pytest.approx(200)
    assert PlacementPolicy(settings()).overload_moves({"q": (kept.queries["q"].stepper, kept.load["q"])}) == {}


def test_the_slowest_movable_query_moves_when_all_together_are_too_slow(placed: Local) -> None:
    stepper = driven(WHOLE, placed, 0.004).queries["q"].stepper

    def pace(milliseconds: float) -> LoadMeter:
        made = LoadMeter()
        for second in range(30):
            made.count_batch(milliseconds, 1_000 * second)
        return made

    queries = {"a": (stepper, pace(450)), "b": (stepper, pace(500))}
    assert PlacementPolicy(settings()).overload_moves(queries) == {}
    moves = PlacementPolicy(settings()).overload_moves({**queries, "c": (stepper, pace(400))})
    assert [*moves] == ["b"]


def test_one_slow_batch_does_not_count() -> None:
    pace = LoadMeter()
    for second in range(100):
        pace.count_batch(9_000 if second == 50 else 200, 1_000 * second)
        assert pace.load < 1
    for second in range(100, 200):
        pace.count_batch(1_200, 1_000 * second)
    assert pace.load == pytest.approx(1.2)
