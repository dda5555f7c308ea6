"""A query that runs beside others, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hydrograph.errors import RunError
from hydrograph.live.step.input_batch import Arrival, Partition
from hydrograph.live.step.records import Decision, Enrolled, Record
from hydrograph.live.step.state import State
from hydrograph.live.step.stepper import Stepper
from hydrograph.live.step.units import Unit
from hydrograph.runtime.placement.local import Local


@dataclass(frozen=True, slots=True)
class Member:
    """A query that runs, and where it stands."""

    stepper: Stepper
    graphs: str = ""
    """The fingerprint of its static data."""
    first: str | None = None
    """The fingerprint of the static data that it began with; None where that is the same."""
    state: State = field(default_factory=State)
    record: Record = field(default_factory=Record)

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.stepper.query.name

    @property
    def enrolled(self) -> Enrolled:
        """What is recorded of it."""
        return Enrolled(self.stepper.query.version, self.graphs, self.graphs if self.first is None else self.first)

    def own(self, names: Iterable[Partition]) -> tuple[Partition, ...]:
        """Return those of some partitions that the query reads."""
        return tuple(name for name in names if name in self.stepper.query.partitions)

    def worked(self, arrivals: Sequence[Arrival], decision: Decision) -> tuple[State, list[Unit], Record]:
        """Return what the step makes of a batch; on Spark it is taken again if a job fails.

        An executor that leaves may take rows with it that were kept there. The step depends on nothing but what it is
        given, and the second attempt makes those rows anew; what fails twice fails.
        """
        try:
            return self.stepper.work(self.state, arrivals, self.record, decision)
        except RunError:
            if isinstance(self.stepper.placed, Local):
                raise
            return self.stepper.work(self.state, arrivals, self.record, decision)

    def starting(self, number: int, ends: Mapping[Partition, int]) -> Member:
        """Return the query as one that begins behind a batch: what came before it does not exist for it (S40)."""
        own = {name: ends.get(name, 0) for name in self.stepper.query.partitions}
        decision = Decision(batch=number, start=own, end=own)
        return replace(self, state=State(), record=Record(decision=decision, oldest=own))
