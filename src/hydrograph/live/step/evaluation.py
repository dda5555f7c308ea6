"""Protocol between the step of a live query and the evaluation of its reports.

The step decides which reports are due and which rows they may show; an evaluation turns rows into reports. The step
calls it through this protocol only, and is given a factory for it. `live.evaluate.choose` has the implementations.

Contract
--------
For each batch the step calls, in this order:

1. `resume(state)`. `state` is the state before the batch. Afterwards the evaluation covers exactly its rows. If it is
   not the state that the last `release` has left, or if the last batch was not released because it failed, everything
   kept is rebuilt from it.
2. `overdue_reports(request)`, at most once: reports that an earlier batch has settled but that only the new elements
   make due (A1). They show the rows of the state before the batch, so they come before `take`.
3. `take(runs)`. `runs` are the new rows by stream, none of them late for all reports. Afterwards the evaluation covers
   the rows of the state and these.
4. `reports(request)`, at most once: reports from the settled frontier before the batch to the one after it.
5. `release(state, frontier)`. `state` is the state after the batch, already pruned; no report before `frontier` is
   requested any more. Afterwards rows that only those reports show are dropped.

Requests do not overlap: each starts where the one before it has ended, or later. Reports are returned in the order of
their instants, together with what the next request needs to know of them. `replace_static` comes between two batches.

An evaluation keeps rows for speed alone. It depends on nothing but its arguments, so a batch that is evaluated again,
by this evaluation or by another one, gives the same reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from hydrograph.live.step.records import EMPTY_SNAPSHOT, Snapshot
from hydrograph.live.step.state import State, StateRun
from hydrograph.live.step.state_pruning import WindowRows
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.temporal import Instant
from hydrograph.windows.report import Held


@dataclass(frozen=True, slots=True)
class PreviousReport:
    """Facts about the previous report that the next one needs."""

    snapshot: Snapshot = EMPTY_SNAPSHOT
    """The solutions of the previous report, where Istream or Dstream compare with them."""
    last: Instant | None = None
    """The time of the previous report; None before the first."""


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Request for the reports of the frontiers `[start, end)`."""

    start: int
    end: int
    held: Mapping[Iri, Held]
    """First and last time of an element in each window."""
    rows: WindowRows
    """Rows that the reports may show."""
    previous: PreviousReport

    def __post_init__(self) -> None:
        """Check that a report can be due."""
        assert self.start < self.end, "a request covers at least one frontier"


class EvaluationStatus(Protocol):
    """Status of an evaluation, for the driver and for users."""

    @property
    def keeps_rows(self) -> bool:
        """True if rows are kept from report to report; then the query is not moved to another placement for speed."""
        ...

    @property
    def kept_rows(self) -> int:
        """The number of rows kept beside the state."""
        ...

    @property
    def description(self) -> str:
        """The way in which reports are evaluated, and why."""
        ...


class Evaluation(EvaluationStatus, Protocol):
    """Evaluation of the reports of one query; see the contract in the module docstring."""

    def resume(self, state: State) -> None:
        """Begin a batch behind a state."""
        ...

    def overdue_reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return reports of frontiers that were settled before this batch."""
        ...

    def take(self, runs: Mapping[Iri, Sequence[StateRun]]) -> None:
        """Add the new rows of the batch."""
        ...

    def reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return the reports of the frontiers that this batch settles."""
        ...

    def release(self, state: State, frontier: int) -> None:
        """End the batch; drop what no report from `frontier` on can show."""
        ...

    def replace_static(self, static: StaticGraphs) -> None:
        """Use other static data from the next batch on (S27)."""
        ...


class EvaluationFactory(Protocol):
    """Maker of the evaluation of a query, called once its windows are placed."""

    @property
    def placement(self) -> Placement:
        """The placement in which the evaluation runs its program; the step itself does not use it."""
        ...

    def __call__(self, plan: Plan, static: StaticGraphs) -> Evaluation:
        """Return the evaluation of a plan whose t0 is known."""
        ...


@dataclass(frozen=True, slots=True)
class NotStarted:
    """Status of a query whose windows are not placed yet."""

    keeps_rows: bool = True
    """Not decided: the query may keep rows once it starts."""
    kept_rows: int = 0
    description: str = "waits for its first element"


class CallOrder:
    """Check of the order of calls in the contract of `Evaluation`."""

    class _Stage(Enum):
        RELEASED = auto()
        RESUMED = auto()
        TAKEN = auto()

    def __init__(self) -> None:
        """Begin before the first batch."""
        self._stage = self._Stage.RELEASED

    @property
    def is_released(self) -> bool:
        """True if the last batch came to its end; False after a batch that failed."""
        return self._stage is self._Stage.RELEASED

    def resume(self) -> None:
        """Note `resume`, which may always follow: a batch that failed is begun again."""
        self._stage = self._Stage.RESUMED

    def check_overdue(self) -> None:
        """Check that `overdue_reports` may follow."""
        assert self._stage is self._Stage.RESUMED, "overdue reports come after resume and before take"

    def take(self) -> None:
        """Note `take`."""
        assert self._stage is self._Stage.RESUMED, "take comes after resume"
        self._stage = self._Stage.TAKEN

    def check_reports(self) -> None:
        """Check that `reports` may follow."""
        assert self._stage is self._Stage.TAKEN, "reports come after take"

    def release(self) -> None:
        """Note `release`."""
        assert self._stage is self._Stage.TAKEN, "release comes after take"
        self._stage = self._Stage.RELEASED
