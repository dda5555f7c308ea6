"""Choice of the evaluation of a live query: incremental where that is possible, else whole windows.

Incremental evaluation may turn out not to be possible while a query runs: a join makes more rows than can be kept, or
instants cannot be numbered. It then hands over to whole windows, which need nothing from it, and does not come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hydrograph.algebra.queries import Ask, Select
from hydrograph.algebra.walk import expressions, subpatterns
from hydrograph.compile.expressions.demand import reads_clock
from hydrograph.live.evaluate.change_instants import IncrementalLimitError, why_not_numbered
from hydrograph.live.evaluate.incremental import Incremental
from hydrograph.live.evaluate.whole_windows import WholeWindows
from hydrograph.live.step.evaluation import Evaluation, EvaluationStatus, PreviousReport, ReportRequest
from hydrograph.live.step.report_timeline import ReportTimeline
from hydrograph.live.step.state import State, StateRun
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report
from hydrograph.streams.schema import TRIPLES
from hydrograph.streams.static_graphs import StaticGraphs


def choose_evaluation(plan: Plan, static: StaticGraphs, placement: Placement) -> Evaluation:
    """Return the evaluation of a plan whose t0 is known."""
    timeline = ReportTimeline(plan)
    reason = why_whole_windows(timeline, placement)
    if reason is None:
        return IncrementalWithFallback(timeline, static, placement)
    return WholeWindows(timeline, static, placement, reason)


def why_whole_windows(timeline: ReportTimeline, placement: Placement) -> str | None:
    """Return the reason why a query cannot be evaluated incrementally; None where it can."""
    plan = timeline.plan
    if not placement.supports_incremental:
        return f"no rows are kept on {placement.name.capitalize()}"
    if timeline.rereads_previous:
        return "it makes triples of changes"
    if not timeline.by_rank:
        if (reason := why_not_numbered(timeline)) is not None:
            return reason
        if not isinstance(plan.query.form, Select | Ask):
            return "it makes triples of elements"
        if any(reads_clock(each) for pattern in subpatterns(plan.pattern) for each in expressions(pattern)):
            return "its answers change with the clock"
    if plan.needs_content:
        return "empty windows are not reported"
    return None


@dataclass(frozen=True, slots=True)
class EvaluationChoice:
    """Factory of evaluations in one placement, for the step."""

    placement: Placement

    def __call__(self, plan: Plan, static: StaticGraphs) -> Evaluation:
        """Return the evaluation of a plan whose t0 is known."""
        return choose_evaluation(plan, static, self.placement)


def preview_evaluation(plan: Plan) -> EvaluationStatus:
    """Return the status that a live query would have in the local placement, with static data of every kind."""
    static = StaticGraphs(TRIPLES.empty_table(), {})
    with Local(1, small=True) as placement:
        return choose_evaluation(plan if plan.is_placed else plan.starting(0), static, placement)


class IncrementalWithFallback:
    """Incremental evaluation that hands over to whole windows where it reaches a limit."""

    def __init__(self, timeline: ReportTimeline, static: StaticGraphs, placement: Placement) -> None:
        """Begin with incremental evaluation."""
        self._timeline = timeline
        self._static = static
        self._placement = placement
        self.current: Evaluation = Incremental(timeline, static, placement)
        """The evaluation in use."""

    def _hand_over(self, limit: IncrementalLimitError) -> None:
        """Continue with whole windows. They can begin in the middle of a batch, since they keep nothing."""
        self.current = WholeWindows(self._timeline, self._static, self._placement, str(limit))

    @property
    def keeps_rows(self) -> bool:
        """True if rows are still kept."""
        return self.current.keeps_rows

    @property
    def kept_rows(self) -> int:
        """The number of rows kept."""
        return self.current.kept_rows

    @property
    def description(self) -> str:
        """The description of the evaluation in use."""
        return self.current.description

    def resume(self, state: State) -> None:
        """Begin a batch."""
        self.current.resume(state)

    def overdue_reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return reports of frontiers that were settled before this batch."""
        try:
            return self.current.overdue_reports(request)
        except IncrementalLimitError as limit:
            self._hand_over(limit)
            self.current.resume(request.rows.state)
            return self.current.overdue_reports(request)

    def take(self, runs: Mapping[Iri, Sequence[StateRun]]) -> None:
        """Add the new rows of the batch."""
        self.current.take(runs)

    def reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return the reports that are due."""
        try:
            return self.current.reports(request)
        except IncrementalLimitError as limit:
            self._hand_over(limit)
            self.current.resume(request.rows.state)
            self.current.take({})
            return self.current.reports(request)

    def release(self, state: State, frontier: int) -> None:
        """End the batch."""
        try:
            self.current.release(state, frontier)
        except IncrementalLimitError as limit:
            self._hand_over(limit)

    def replace_static(self, static: StaticGraphs) -> None:
        """Use other static data from the next batch on."""
        self._static = static
        self.current.replace_static(static)
