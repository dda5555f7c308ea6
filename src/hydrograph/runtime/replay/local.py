"""Replay in the driver's process: streams become DuckDB tables, reports are computed in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import ClassVar

import pyarrow as pa
from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile.inputs import StreamInput
from hydrograph.compile.output_queries import by_report
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.replay.replay import CompiledReplay, Data, Replay, StreamLoader
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.runtime.reports import Report, ReportDigest, RowsByRank, digest
from hydrograph.streams import sources
from hydrograph.streams.bad_lines import ReadCounts
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.windows.report import Held, Range
from hydrograph.windows.scope import Grid

_STATIC_PREFIX = "static_"


class LocalLoader(StreamLoader):
    """Loader into DuckDB: text is read into memory, Parquet files are read in place."""

    def __init__(self, placed: Local, streams: Mapping[Iri, RecordedStream]) -> None:
        """Read nothing yet."""
        super().__init__(streams)
        self._placed = placed
        self._tables = {name: f"stream{number}" for number, name in enumerate(streams)}

    def survey(self) -> dict[Iri, Bounds]:
        """Load each stream as a table; return its time bounds and row count."""
        found: dict[Iri, Bounds] = {}
        for name, stream in self.streams.items():
            table = self._tables[name]
            if paths := sources.parquet_paths(stream):
                self._placed.add_files(table, paths)
            else:
                tally = ReadCounts()
                self._placed.add_table(table, sources.events_as_arrow(stream, tally))
                self.bad_lines += tally.bad
            query = f'SELECT MIN(t) AS first, MAX(t) AS last, COUNT(*) AS "rows" FROM "{table}"'
            row = self._placed.query(query, {}).to_pylist()[0]
            found[name] = Bounds(row["first"], row["last"], row["rows"], blanks=False, grouped=False)
        return found

    def span_inside(self, stream: Iri, plan: Plan, grid: Grid | None, bounds: Bounds) -> Held:
        """Return the first and the last event time at or after t0, inside a window of `grid` where that has gaps."""
        del bounds
        values, inside = {"t0": plan.t0}, ""
        if grid is not None:
            # The remainder by the slide tells an event inside a window from one in the gap behind it.
            inside = "AND ((t - $t0) % $step + $step) % $step < $width"
            values = {"t0": grid.open(0), "step": grid.step, "width": grid.width}
        query = f'SELECT MIN(t) AS a, MAX(t) AS b FROM "{self._tables[stream]}" WHERE t >= $t0 {inside}'
        row = self._placed.query(query, values).to_pylist()[0]
        return None if row["a"] is None else (row["a"], row["b"])

    def load(self, compiled: CompiledReplay) -> None:
        """Name the loaded tables as the program names its inputs."""
        for window in compiled.plan.inputs(compiled.facts):
            self._placed.add_alias(window.name, self._tables[window.stream])

    def time_inputs(self, windows: list[StreamInput], bounds: Mapping[Iri, Bounds]) -> list[StreamInput]:
        """Return the windows as they are: their tables hold all events."""
        del bounds
        return windows


class LocalReplay(Replay):
    """Replay in a DuckDB database in memory."""

    choice: ClassVar = PlacementChoice.LOCAL

    def __init__(
        self,
        plan: Plan,
        data: Data,
        streams: Mapping[Iri, RecordedStream],
        within: Range,
        lifetime: ExitStack,
    ) -> None:
        """Load the streams and compile the program."""
        self._local = lifetime.enter_context(Local())
        super().__init__(self._local, LocalLoader(self._local, streams), plan, data, within)
        self._compiled = self._survey()

    @property
    def compiled(self) -> CompiledReplay:
        """The program with the bounds of its streams."""
        return self._compiled

    def digests(self) -> Iterator[ReportDigest]:
        """Return row count and hash of every report."""
        return map(digest, self.reports())

    def _run(self, outputs: list[exp.Select]) -> list[pa.Table]:
        compiled = self._compiled
        return self._local.run(self._local.prepare(compiled.program, outputs), compiled.parameters)

    def _reports_in_parts(self, parts: list[ReportRanks]) -> Iterator[Report]:
        """Return the reports part by part, so that the results of one part at a time are in memory."""
        plan, program, ranks = self._compiled.plan, self._compiled.program, self._compiled.ranks
        nonempty = self._nonempty_ranks()
        prepared = self._local.prepare(program, [by_report(program)], _STATIC_PREFIX)
        self._local.load_static(prepared)
        for part in parts:
            # Changes are relative to the report before, which is evaluated too, but not returned.
            earlier = int(plan.operator is not StreamOperator.RSTREAM and part.start > ranks.start)
            evaluated = ReportRanks(part.start - earlier, part.end)
            if program.domain is not None:
                domain = report_ranks.domain_table(report_ranks.domain(None, evaluated), None)
                self._local.add_table(program.domain, domain)
            values = {**report_ranks.parameters(plan, program, evaluated), "r_from": part.start}
            rows = RowsByRank(program, self._local.run(prepared, values)[0])
            yield from report_ranks.reports_of(plan, part, rows, nonempty)
