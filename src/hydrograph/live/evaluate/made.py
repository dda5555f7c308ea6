"""A program of whole windows, printed and prepared once, and run for any stretch of reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from hydrograph.compile import output_queries as finals
from hydrograph.compile.program import Program
from hydrograph.live.failpoints import reach
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.placement.executor import PreparedProgram


@dataclass(frozen=True, slots=True)
class Made:
    """A program, ready to be run."""

    program: Program
    prepared: PreparedProgram
    by_interval: bool
    """Whether each answer comes once, with the reports that show it, and not once for each."""

    @classmethod
    def of(cls, program: Program, placed: Placement, prefix: str, *, by_interval: bool) -> Made:
        """Prepare a program for a place; what stands ready there is named with the prefix."""
        asked = [finals.by_interval(program) if by_interval else finals.by_report(program)]
        if program.instants is not None:
            asked.append(finals.instants(program))
        return cls(program, placed.prepare(program, asked, prefix), by_interval)

    def run(self, placed: Placement, given: Mapping[str, int]) -> list[pa.Table]:
        """Return the answers, and the reports that the program has found where they form no grid."""
        reach("evaluate")
        return placed.run(self.prepared, given)
