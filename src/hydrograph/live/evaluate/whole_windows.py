"""Evaluation of whole windows: for each batch the program runs over all rows of the windows.

Nothing is kept between two batches, so any other evaluation can hand over to this one at any time. Istream and Dstream
compare the solutions of each report with the snapshot of the one before (S30): a late element counts from some report
on, and the rows alone do not tell from which. CONSTRUCT and DESCRIBE make triples of changes, which only the program
can do: it evaluates the previous report once more (`ReportTimeline.rereads_previous`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from hydrograph.compile import output_queries
from hydrograph.compile.inputs import CLOSES, Deduplication
from hydrograph.compile.program import Program
from hydrograph.live.evaluate.deduplication import may_repeat
from hydrograph.live.evaluate.incremental_r2s import IncrementalR2S, compare_reports
from hydrograph.live.evaluate.live_program import MAX_REPORTS, LiveCompiler, load_ranks, load_static
from hydrograph.live.evaluate.report_numbering import Timing, due_ranks
from hydrograph.live.failpoints import reach
from hydrograph.live.step.evaluation import CallOrder, PreviousReport, ReportRequest
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.live.step.state import State, StateRun
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.placement.executor import PreparedProgram
from hydrograph.runtime.report_ranks import ReportRanks, instants_of, nonempty_ranks, read_instants
from hydrograph.runtime.reports import Report, RowsByRank
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.temporal import END_OF_TIME, Instant


@dataclass(frozen=True, slots=True)
class _WindowProgram:
    """Program over whole windows, prepared for its placement."""

    program: Program
    prepared: PreparedProgram


class WholeWindows:
    """Evaluation that runs the program over all rows of the windows."""

    keeps_rows: ClassVar = False
    kept_rows: ClassVar = 0

    def __init__(self, timeline: ReportTimeline, static: StaticGraphs, placement: Placement, reason: str) -> None:
        """Compile the program that is right for all data; `reason` is why rows are not kept."""
        self._timeline = timeline
        self._static = static
        self._placement = placement
        self._reason = reason
        self._compiler = LiveCompiler(timeline, static, placement)
        self._inputs = self._compiler.inputs()
        self._windows = self._compiler.windows()
        # Istream and Dstream need to know when a solution enters and leaves. Where each element makes a report, as many
        # reports show a solution as a window has elements.
        self._by_interval = timeline.compares_snapshots and not timeline.plan.is_ordered
        self._programs: dict[Deduplication, _WindowProgram] = {}
        self._order = CallOrder()
        self._program(Deduplication.LEAD)

    def _program(self, deduplication: Deduplication) -> _WindowProgram:
        """Return the program for rows with repeated triples (LEAD), or the faster one for rows without (NOT_NEEDED)."""
        if deduplication not in self._programs:
            program = self._compiler.compile(deduplication)
            outputs = [output_queries.by_interval(program) if self._by_interval else output_queries.by_report(program)]
            if program.instants is not None:
                outputs.append(output_queries.instants(program))
            prepared = self._placement.prepare(program, outputs, f"static_{deduplication.value}_")
            load_static(self._placement, self._static, program, prepared)
            self._programs[deduplication] = _WindowProgram(program, prepared)
        return self._programs[deduplication]

    @property
    def description(self) -> str:
        """The reason why whole windows are evaluated."""
        return f"whole windows: {self._reason}"

    def replace_static(self, static: StaticGraphs) -> None:
        """Use other static data from the next batch on (S27)."""
        self._static = static
        for each in self._programs.values():
            load_static(self._placement, static, each.program, each.prepared)

    def resume(self, state: State) -> None:
        """Keep nothing: requests carry the rows."""
        del state
        self._order.resume()

    def take(self, runs: Mapping[Iri, Sequence[StateRun]]) -> None:
        """Keep nothing: requests carry the rows."""
        del runs
        self._order.take()

    def release(self, state: State, frontier: int) -> None:
        """Keep nothing: requests carry the rows."""
        del state, frontier
        self._order.release()

    def overdue_reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return reports of closes that were settled before they became due (A1).

        No report is made before the first window that holds an element, or after the last. Of closes in between, where
        windows leave gaps, that is known only when a further element arrives.
        """
        self._order.check_overdue()
        if self._timeline.by_rank:
            return self._by_rank(request)
        closes = self._timeline.closes(request.held, request.start, request.end)
        return self._by_time(request, END_OF_TIME, closes) if closes else ([], request.previous)

    def reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return the reports that are due."""
        self._order.check_reports()
        if self._timeline.by_rank:
            return self._by_rank(request)
        after, last = request.start - 1, request.previous.last
        if self._timeline.rereads_previous and last is not None:
            after = min(request.start, last) - 1
        closes = self._timeline.closes(request.held, after + 1, request.end)
        return self._by_time(request, after, closes)

    def _by_rank(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return the reports of a grid."""
        ranks = due_ranks(self._timeline, request)
        if not len(ranks):
            return [], request.previous
        tables = self._load_windows(request)
        repeats = any(map(may_repeat, {id(each): each for each in tables.values()}.values()))
        made = self._program(Deduplication.LEAD if repeats else Deduplication.NOT_NEEDED)
        reread = int(self._timeline.rereads_previous and request.previous.last is not None)
        evaluated = ReportRanks(ranks.start - reread, ranks.end)
        given = load_ranks(self._placement, self._timeline.plan, made.program, evaluated, ranks)
        (rows,) = self._run(made, given)
        return self._compare(made, rows, self._timings(ranks), request.previous)

    def _timings(self, ranks: ReportRanks) -> list[Timing]:
        """Return the reports of a grid, without empty ones where those are not reported."""
        plan = self._timeline.plan
        content = nonempty_ranks(self._inputs, self._placement, ranks) if plan.needs_content else None
        return list(instants_of(plan, ranks, content))

    def _by_time(
        self, request: ReportRequest, after: Instant, closes: list[Instant]
    ) -> tuple[list[Report], PreviousReport]:
        """Return the reports that form no grid: closes, and those after a time that the program finds."""
        self._load_windows(request)
        made = self._program(Deduplication.LEAD)
        closes_table = f"{self._placement.prefix}{CLOSES}"
        self._placement.add_table(closes_table, pa.table({"t": pa.array(closes, pa.int64())}))
        given = {"k_from": 0, "k_to": MAX_REPORTS, "after": max(BEGINNING, after), "until": request.end - 1}
        given |= {f"{name}_before": request.rows.units_before(window) for name, (window, _) in self._windows.items()}
        rows, found = self._run(made, given)
        timings = [each for each in read_instants(found) if each[1] >= request.start]
        return self._compare(made, rows, timings, request.previous)

    def _load_windows(self, request: ReportRequest) -> dict[Iri, pa.Table]:
        """Load the rows of all windows; return them."""
        tables = request.rows.tables()
        for name, (window, _) in self._windows.items():
            self._placement.add_table(name, tables[window])
        return tables

    def _run(self, made: _WindowProgram, given: Mapping[str, int]) -> list[pa.Table]:
        """Return the solutions, and the reports that the program has found where they form no grid."""
        reach("evaluate")
        return self._placement.run(made.prepared, given)

    def _compare(
        self, made: _WindowProgram, rows: pa.Table, timings: Sequence[Timing], previous: PreviousReport
    ) -> tuple[list[Report], PreviousReport]:
        """Return the reports of solutions."""
        if not self._by_interval:
            return compare_reports(self._timeline, timings, RowsByRank(made.program, rows), previous)
        changes = IncrementalR2S(self._timeline.plan, made.program)
        changes.add(rows)
        return changes.changes(timings, [rank for rank, _, _ in timings], previous)
