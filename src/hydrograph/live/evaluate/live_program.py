"""Program of a live query: compiled once, whatever the data, and run for any reports."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile.inputs import GRAPHS, QUADS, STATIC, Deduplication, StreamInput
from hydrograph.compile.program import Program
from hydrograph.live.evaluate.report_numbering import Windows
from hydrograph.live.step.report_timeline import ReportTimeline
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.placement.executor import PreparedProgram
from hydrograph.runtime.plan import Facts, Plan
from hydrograph.runtime.report_ranks import ReportRanks, domain, domain_table, parameters
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.scope import Grid

MAX_REPORTS = 2**40
"""More reports than one batch can have, and a bucket of time that holds all of it."""


@dataclass(frozen=True, slots=True)
class LiveCompiler:
    """Compiler of the programs of a live query for one placement."""

    timeline: ReportTimeline
    static: StaticGraphs
    placement: Placement

    def compile(self, deduplication: Deduplication, reports: Grid | None = None) -> Program:
        """Return the program for rows that are deduplicated in some way; `reports` replaces the grid of the plan.

        Where reports are compared with a snapshot, the program returns solutions (Rstream).
        """
        plan = self.timeline.plan
        if self.timeline.compares_snapshots:
            plan = replace(plan, profile=replace(plan.profile, operator=StreamOperator.RSTREAM))
        if reports is not None:
            plan = replace(plan, reports=reports)
        return plan.program(self._facts(deduplication), prefix=self.placement.prefix)

    def inputs(self) -> list[StreamInput]:
        """Return the input of each window of the query."""
        return self.timeline.plan.inputs(self._facts(Deduplication.LEAD), self.placement.prefix)

    def windows(self) -> Windows:
        """Return window and stream of each table that a program reads."""
        named = zip(self.inputs(), self.timeline.plan.query.windows, strict=True)
        return {source.name: (window.name, window.stream) for source, window in named if window.name is not None}

    def _facts(self, deduplication: Deduplication) -> Facts:
        return Facts(
            {window.stream: deduplication for window in self.timeline.plan.query.windows},
            self.static.default is not None,
            broadcast=not self.placement.in_process,
            named=self.static.named is not None,
            bucket=MAX_REPORTS,
            moving=True,
        )


def load_static(placement: Placement, static: StaticGraphs, program: Program, prepared: PreparedProgram) -> None:
    """Load the static tables that a program reads, and compute the steps that read nothing else."""
    tables = {STATIC: lambda: static.default, QUADS: static.quads, GRAPHS: static.names}
    for table in program.statics:
        placement.add_table(table.name, tables[table.name.removeprefix(placement.prefix)]())
    placement.load_static(prepared)


def load_ranks(
    placement: Placement, plan: Plan, program: Program, evaluated: ReportRanks, reported: ReportRanks
) -> dict[str, int]:
    """Load the ranks that are evaluated, if the program reads them; return the parameters of the run."""
    if program.domain is not None:
        placement.add_table(program.domain, domain_table(domain(None, evaluated), None))
    return {**parameters(plan, program, evaluated), "r_from": reported.start}
