"""Harness that drives the step of a live query batch by batch, without sources, files or threads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Self

from hydrograph import api
from hydrograph.live.checkpoint.batch_commit import decode_outcome, encode
from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.step.records import (
    BatchOutcome,
    InputBatch,
    Lateness,
    Partition,
    QueryRecord,
    QuerySpec,
    ResultUnit,
    partition_of,
)
from hydrograph.live.step.state import State
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import plan
from hydrograph.runtime.reports import Report
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import Profile
from hydrograph.windows.stream import Element
from tests.support.replay_adapter import encode_elements


class StepHarness:
    """A stepper with its state, its record, the units it has made and the log it has read."""

    def __init__(self, query: QuerySpec, placed: Local | Spark, static: StaticGraphs | None = None) -> None:
        """Register a query that has seen nothing yet."""
        self._query, self._placed = query, placed
        self._static = static or StaticGraphs()
        self.stepper = self._started()
        self.state, self.record = State(), QueryRecord()
        self.units: list[ResultUnit] = []
        self.log: list[InputBatch] = []

    @classmethod
    def of_text(
        cls, text: str, placed: Local, profile: Profile | None = None, lateness: Lateness | None = None
    ) -> Self:
        """Register a query whose windows start at 0."""
        query = api.query(text)
        streams = dict.fromkeys(window.stream for window in query.algebra.windows)
        spec = QuerySpec(
            name="query",
            plan=plan(query.algebra, profile or query.profile, 0),
            lateness=lateness or Lateness(),
            partitions=tuple(map(partition_of, streams)),
        )
        return cls(spec, placed)

    def _started(self) -> Stepper:
        if isinstance(self._placed, Local):
            self._placed.forget()
        return Stepper(self._query, self._static, EvaluationChoice(self._placed))

    def step(
        self, batches: Sequence[InputBatch], *, idle: Collection[Partition] = (), ended: Collection[Partition] = ()
    ) -> list[ResultUnit]:
        """Decide about a batch and process it; return its units."""
        self.log += batches
        decision = self.stepper.decide(self.state, batches, self.record, idle=idle, ended=ended)
        self.state, units, self.record = self.stepper.work(self.state, batches, self.record, decision)
        self.units += units
        return units

    def send(
        self, *elements: Element, stream: Iri | None = None, idle: Collection[Partition] = (), end: bool = False
    ) -> list[ResultUnit]:
        """Process a batch of elements of one stream, by default the first; `end` ends all streams."""
        name = self._query.partitions[0] if stream is None else partition_of(stream)
        start = self.record.decision.end.get(name, 0)
        batches = [InputBatch(Iri(name), encode_elements(elements), start, start + len(elements))] if elements else []
        return self.step(batches, idle=idle, ended=self._query.partitions if end else ())

    def restart(self) -> None:
        """Continue as after a crash: from the record as it is written, and from the log that it still needs."""
        outcome = decode_outcome(encode(BatchOutcome(records={"query": self.record}), {}), {})
        self.record = replace(outcome.records["query"], snapshot=self.record.snapshot)  # which has a file of its own
        self.stepper = self._started()
        needed = [batch for batch in self.log if batch.start >= self.record.oldest.get(batch.name, 0)]
        self.state = self.stepper.rebuild(self.record, needed)

    @property
    def reports(self) -> list[Report]:
        """All reports so far."""
        return [unit.report for unit in self.units]

    @property
    def lines(self) -> list[str]:
        """All reports so far, as lines of JSON."""
        return [unit.text for unit in self.units]

    def subjects(self) -> list[tuple[int, list[str]]]:
        """Return time and subjects of each report, without the prefix `urn:`."""
        return [(report.t, sorted(str(row[0])[5:-1] for row in report.rows)) for report in self.reports]
