"""Contract between the step and an evaluation: the order of calls, and what is requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from hydrograph.language import parse
from hydrograph.live.step.evaluation import CallOrder, Evaluation, PreviousReport, ReportRequest
from hydrograph.live.step.records import InputBatch, QueryRecord, QuerySpec, partition_of
from hydrograph.live.step.state import State, StateRun
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan, plan
from hydrograph.runtime.reports import Report
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.stream import Element
from tests.support.replay_adapter import encode_elements

STREAM = Iri("urn:stream")
GAPS = "SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:stream> [RANGE 2ms STEP 10ms] { WINDOW <urn:w> { ?s ?p ?o } }"


class RecordedCalls:
    """Evaluation that reports nothing and records its calls; it is its own factory."""

    keeps_rows = False
    kept_rows = 0
    description = "records its calls"

    def __init__(self, placement: Local) -> None:
        """Record nothing yet."""
        self.placement = placement
        self.calls: list[str] = []
        self.released = State()

    def __call__(self, plan: Plan, static: StaticGraphs) -> Evaluation:
        assert plan.is_placed
        assert static == StaticGraphs()
        self.calls.append("make")
        return self

    def resume(self, state: State) -> None:
        assert state.runs == self.released.runs
        self.calls.append("resume")

    def overdue_reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        self.calls.append(f"overdue {request.start}..{request.end}")
        return [], request.previous

    def take(self, runs: Mapping[Iri, Sequence[StateRun]]) -> None:
        self.calls.append(f"take {sum(run.events.num_rows for each in runs.values() for run in each)}")

    def reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        self.calls.append(f"reports {request.start}..{request.end}")
        return [], request.previous

    def release(self, state: State, frontier: int) -> None:
        self.released = state
        self.calls.append(f"release {frontier}")

    def replace_static(self, static: StaticGraphs) -> None:
        assert static == StaticGraphs()
        self.calls.append("replace static")


def batch(t: int, number: int) -> InputBatch:
    element = Element.of(t, number, Triple(Iri(f"urn:e{number}"), Iri("urn:p"), Iri("urn:o")))
    return InputBatch(STREAM, encode_elements([element]), number, number + 1)


def test_the_step_calls_an_evaluation_in_the_order_of_the_contract(placed: Local) -> None:
    #     8 10      18 20      28 30      38 40
    #     [--)      [--)      [--)      [--)      windows of 2 ms every 10 ms
    evaluation = RecordedCalls(placed)
    query = QuerySpec(name="query", plan=plan(parse(GAPS), RSPQL, 0), partitions=(partition_of(STREAM),))
    stepper = Stepper(query, StaticGraphs(), evaluation)
    assert stepper.evaluation.description == "waits for its first element"
    state, record = State(), QueryRecord()
    calls = []
    for number, t in enumerate((1, 25, 31)):
        batches = [batch(t, number)]
        decision = stepper.decide(state, batches, record)
        state, _, record = stepper.work(state, batches, record, decision)
        calls.append(evaluation.calls.copy())
        evaluation.calls.clear()
    first, second, third = calls
    assert first[:2] == ["make", "resume"]
    assert [call.split()[0] for call in second] == ["resume", "take", "reports", "release"]
    # The window that holds the last element makes the closes before it due, which were settled already.
    assert [call.split()[0] for call in third][:2] == ["resume", "overdue"]
    assert third[-1].startswith("release")
    stepper.replace_static(StaticGraphs())
    assert evaluation.calls == ["replace static"]
    assert stepper.evaluation.description == "records its calls"


def test_calls_in_another_order_are_refused() -> None:
    order = CallOrder()
    with pytest.raises(AssertionError, match="take comes after resume"):
        order.take()
    order.resume()
    order.check_overdue()
    with pytest.raises(AssertionError, match="reports come after take"):
        order.check_reports()
    order.take()
    with pytest.raises(AssertionError, match="before take"):
        order.check_overdue()
    order.check_reports()
    order.release()
    assert order.is_released
    with pytest.raises(AssertionError, match="release comes after take"):
        order.release()


def test_a_batch_that_failed_may_be_begun_again() -> None:
    order = CallOrder()
    order.resume()
    order.take()
    order.resume()
    assert not order.is_released
    order.take()
    order.release()
    assert order.is_released
