"""Steps that read static data alone, on Spark: computed once, and let go when they are not needed any more (S27)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hydrograph import api
from hydrograph.bench.engines.replay import encode_elements, encode_triples
from hydrograph.compile import finals
from hydrograph.live.arrivals import Arrival, partition_of
from hydrograph.live.record import Record
from hydrograph.live.state import State
from hydrograph.live.step import Registered, Stepper
from hydrograph.rdf.terms import Iri, Triple
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import plan
from hydrograph.runtime.replay import Ranks
from hydrograph.streams.static import StaticGraphs
from hydrograph.windows.stream import Element

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S = Iri("urn:s")
HYBRID = """
PREFIX : <urn:>
SELECT ?a ?kind FROM NAMED WINDOW :w ON :s [RANGE 2s STEP 1s]
WHERE { WINDOW :w { ?a :p ?b } ?b :kind ?k . ?k :name ?kind }
"""


def triple(s: str, p: str, o: str) -> Triple:
    return Triple(Iri(f"urn:{s}"), Iri(f"urn:{p}"), Iri(f"urn:{o}"))


def static(name: str) -> StaticGraphs:
    return StaticGraphs(encode_triples([triple("b", "kind", "k"), triple("k", "name", name)]))


class Run:
    """A query that is given an element a second."""

    def __init__(self, placed: Spark) -> None:
        """Register the query."""
        query = api.query(HYBRID)
        planned = plan(query.algebra, query.profile, 0)
        self.registered = Registered(name="query", plan=planned, partitions=(partition_of(S),))
        self.stepper = Stepper(self.registered, static("one"), placed)
        self.state, self.record, self.at = State(), Record(), 0

    def next(self) -> str:
        element = Element.of(1_000 * self.at, self.at, triple(f"a{self.at}", "p", "b"))
        arrivals = [Arrival(S, encode_elements([element]), self.at, self.at + 1)]
        self.at += 1
        decision = self.stepper.decide(self.state, arrivals, self.record)
        self.state, units, self.record = self.stepper.work(self.state, arrivals, self.record, decision)
        return "\n".join(unit.text for unit in units)


def kept(session: SparkSession) -> int:
    """Return how many frames are kept by the executors."""
    return int(session.sparkContext._jsc.getPersistentRDDs().size())


@pytest.mark.spark
def test_static_steps_are_computed_once_and_let_go(spark: SparkSession) -> None:
    before = kept(spark)
    with Spark(spark) as placed:
        run = Run(placed)
        run.next()
        assert "urn:one" in run.next()
        stands = dict(placed._stands)
        assert stands, "the static side of the join is a step of its own"
        assert kept(spark) > before
        now = kept(spark)
        assert "urn:one" in run.next()
        assert all(placed._stands[view] is frame for view, frame in stands.items())
        assert kept(spark) == now
        evaluator = run.stepper._evaluator
        assert evaluator is not None
        program, ranks = evaluator._made[False].program, Ranks(1, 2)
        frame = placed.frame(program, finals.by_report(program), evaluator._given(program, ranks, ranks))
        assert "InMemoryTableScan" in str(frame._jdf.queryExecution().executedPlan())
        run.stepper = Stepper(run.registered, static("two"), placed)
        assert "urn:two" in run.next()
        assert kept(spark) == now
    assert kept(spark) == before
