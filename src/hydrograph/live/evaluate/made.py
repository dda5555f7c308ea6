"""A program of whole windows, printed and prepared once, and run for any stretch of reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile import output_queries as finals
from hydrograph.compile.program import Program
from hydrograph.live.evaluate.prepared_program import Prepared
from hydrograph.live.failpoints import reach
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark


@dataclass(frozen=True, slots=True)
class Made:
    """A program, ready to be run."""

    program: Program
    asked: list[exp.Select]
    prepared: Prepared | None
    by_interval: bool
    """Whether each answer comes once, with the reports that show it, and not once for each."""

    @classmethod
    def of(cls, program: Program, placed: Local | Spark, prefix: str, *, by_interval: bool) -> Made:
        """Prepare a program for a place; what stands ready there is named with the prefix."""
        asked = [finals.by_interval(program) if by_interval else finals.by_report(program)]
        if program.instants is not None:
            asked.append(finals.instants(program))
        prepared = Prepared.of(program, asked, prefix) if isinstance(placed, Local) else None
        return cls(program, asked, prepared, by_interval)

    def run(self, placed: Local | Spark, given: Mapping[str, int]) -> list[pa.Table]:
        """Return the answers, and the reports that the program has found where they form no grid."""
        reach("evaluate")
        if self.prepared is not None:
            assert isinstance(placed, Local)
            return self.prepared.run(placed, given)
        return placed.several(self.program, self.asked, given)
