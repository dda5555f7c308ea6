"""Idle partitions: the watermark does not wait for them; a partition with unread input is not idle."""

from __future__ import annotations

from hydrograph.language import parse
from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.status import Stopwatch
from hydrograph.live.step.records import InputBatch, QuerySpec, partition_of
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import plan
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import RSPQL
from hydrograph.windows.stream import Element
from tests.support.live_faults import MemoryFiles, MemorySource, memory_input
from tests.support.replay_adapter import encode_elements

QUICK, SLOW = Iri("urn:quick"), Iri("urn:slow")
QUERY = """SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:quick> [RANGE 10ms STEP 10ms]
FROM NAMED WINDOW <urn:v> ON <urn:slow> [RANGE 10ms STEP 10ms]
{ { WINDOW <urn:w> { ?s ?p ?o } } UNION { WINDOW <urn:v> { ?s ?p ?o } } }"""


def arrivals(stream: Iri, times: list[int]) -> list[InputBatch]:
    """Return elements of these times, one after the other."""
    triple = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    encoded = [encode_elements([Element.of(t, n, triple)]) for n, t in enumerate(times)]
    return [InputBatch(stream, events, at, at + 1) for at, events in enumerate(encoded)]


def test_a_partition_with_unread_input_is_not_idle(placed: Local) -> None:
    now = 0.0
    sources = {QUICK: MemorySource(arrivals(QUICK, [1, 25, 35])), SLOW: MemorySource(arrivals(SLOW, [1, 3]))}
    partitions = tuple(map(partition_of, sources))
    registered = QuerySpec(name="query", plan=plan(parse(QUERY), RSPQL, 0), partitions=partitions)
    inputs = [memory_input(stream, source) for stream, source in sources.items()]
    member = RegisteredQuery(Stepper(registered, StaticGraphs(), EvaluationChoice(placed)))
    runner = BatchLoop(member, inputs, MemoryFiles(), idle_after=5.0, clock=lambda: now)
    runner.open()
    quick, slow = (sources[stream].chunks for stream in (QUICK, SLOW))
    sources[QUICK].there = sources[SLOW].there = 1
    assert runner.run_once()
    # A batch of the one takes ten seconds, and meanwhile the other has input too.
    sources[QUICK].there = sources[SLOW].there = 2
    now = 10.0
    assert runner.run_on([quick[1]], Stopwatch())
    assert [*runner.batch.idle] == []
    assert runner.run_on([slow[1]], Stopwatch())
    counts = runner.queries["query"].record.counts
    assert (counts.used, counts.late_dropped) == (4, 0)
    # Now it is idle.
    sources[QUICK].there = 3
    now = 20.0
    assert runner.run_once()
    assert [*runner.batch.idle] == [SLOW.value]
    assert runner.queries["query"].record.reports > 0
