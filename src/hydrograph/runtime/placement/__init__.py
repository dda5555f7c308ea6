"""Placements: the engines that execute the SQL program of a query.

`Local` runs DuckDB in the driver's process, `Spark` a Spark session. A program is compiled once and means the same in
both. The rest of the engine depends on the `Placement` protocol and on the capabilities it declares, never on one of
the two classes.

Contract, in the order of calls:

1. load: `add_table` names the rows of a static graph or of a batch; a second table of that name replaces the first.
2. prepare: `prepare` prints the SQL of a program for the placement. A `PreparedProgram` is plain data. It holds no
   connection and may be run any number of times.
3. run: `load_static` computes the steps that read static data alone. It comes before the first run and again after
   static data was replaced. `run` returns the rows of each output query; tables that a program reads must be loaded.
4. release: leaving the placement as a context manager drops its tables and temporary files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, Protocol

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile.printers import Target
from hydrograph.compile.program import Program
from hydrograph.runtime.placement.executor import PreparedProgram

Parameters = Mapping[str, int | str]


class Placement(Protocol):
    """An engine that executes programs, with its capabilities; see the contract in the package docstring."""

    name: ClassVar[str]
    """Name in options and in the status: `local` or `spark`."""
    in_process: ClassVar[bool]
    """Programs run in the driver's process and use its memory, so they run one after the other.

    Programs of other placements may run at the same time, and small static tables are broadcast.
    """
    supports_incremental: ClassVar[bool]
    """Small deltas are cheap enough to maintain results incrementally instead of evaluating whole windows."""
    is_retryable: ClassVar[bool]
    """A failed run may succeed when it is tried again, because a machine of the cluster may have failed."""
    target: ClassVar[Target]
    """SQL dialect of the placement."""

    @property
    def prefix(self) -> str:
        """Prefix of the names of all tables of the program."""
        ...

    def add_table(self, name: str, rows: pa.Table) -> None:
        """Name rows that are in the driver's memory."""
        ...

    def read(self, query: exp.Query, parameters: Parameters) -> pa.Table:
        """Return the rows of one query over loaded tables."""
        ...

    def fetch(self, text: str, parameters: Parameters) -> pa.Table:
        """Return the rows of a SQL text that was printed for `target`."""
        ...

    def prepare(
        self,
        program: Program,
        outputs: Sequence[exp.Select],
        static_prefix: str | None = None,
        whole: Program | None = None,
    ) -> PreparedProgram:
        """Print the steps of a program and its output queries; see `PreparedProgram.of` for the other parameters."""
        ...

    def load_static(self, prepared: PreparedProgram) -> None:
        """Compute the static steps of a program for all later runs."""
        ...

    def run(self, prepared: PreparedProgram, parameters: Mapping[str, int]) -> list[pa.Table]:
        """Return the rows of each output query."""
        ...


class PlacementChoice(StrEnum):
    """Where a query runs; auto decides by the number of rows."""

    AUTO = "auto"
    SPARK = "spark"
    LOCAL = "local"
