"""Replay on Spark: any number of windows in one job; results stay with the executors until they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile.inputs import TimeVisibility
from hydrograph.compile.output_queries import by_report, by_stretch, instants
from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.program import Program
from hydrograph.compile.relation import EncodedLayout, Part, part_of
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks
from hydrograph.runtime.kernels import called_kernels
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.placement.local import as_columns
from hydrograph.runtime.placement.spark import Spark, register
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.replay import replay
from hydrograph.runtime.replay.replay import CompiledReplay, Data, Replay
from hydrograph.runtime.replay.spark_loader import SparkLoader
from hydrograph.runtime.replay.text_one_pass import UnconfirmedReplay, open_in_one_pass
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.runtime.reports import Report, ReportDigest, RowsByRank, stretches, sweep
from hydrograph.streams import sources
from hydrograph.streams.sources import RecordedStream
from hydrograph.temporal import Instant
from hydrograph.windows.report import Range, When

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


class SparkReplay(Replay):
    """Replay in a Spark session, which may be the user's."""

    choice: ClassVar = PlacementChoice.SPARK

    def __init__(
        self,
        plan: Plan,
        data: Data,
        streams: Mapping[Iri, RecordedStream],
        within: Range,
        session: SparkSession,
        lifetime: ExitStack,
    ) -> None:
        """Compile the program; text is read in one pass where its contents can be predicted, else surveyed first."""
        self._spark = lifetime.enter_context(Spark(session))
        loader = SparkLoader(self._spark, streams)
        super().__init__(self._spark, loader, plan, data, within)
        self._cores = session.sparkContext.defaultParallelism
        opened = open_in_one_pass(
            self._spark, loader, plan, within, lambda bounds, spans: self._compile(bounds, spans, self._cores)
        )
        self._opened: CompiledReplay | UnconfirmedReplay
        if opened is None:
            self._opened = self._survey(self._cores)
        else:
            self._opened = opened
            self._load_tables(self.expected)

    @property
    def compiled(self) -> CompiledReplay:
        """The program with the true bounds of its streams, which are surveyed if no query has observed them yet."""
        if isinstance(self._opened, UnconfirmedReplay):
            self._opened = self._survey(self._cores)
        return self._opened

    @property
    def expected(self) -> CompiledReplay:
        """The program before it is run; its ranks may be more than there are."""
        return self._opened.compiled if isinstance(self._opened, UnconfirmedReplay) else self._opened

    def digests(self) -> Iterator[ReportDigest]:
        """Return row count and hash of every report; no row reaches the driver for it."""
        program = self.expected.program
        times: Iterator[tuple[int, Instant, int | None]]
        if self.plan.reports is None:
            table, found = self._run([by_stretch(program), instants(program)])
            times, start, end = report_ranks.read_instants(found), 0, found.num_rows
        else:
            (table,) = self._run([by_stretch(program)])
            ranks = self.compiled.ranks
            start, end = ranks.start, ranks.end
            times = report_ranks.instants_of(self.plan, ranks, self._nonempty_ranks())
        sums = dict(enumerate(sweep(stretches(as_columns(table)), start, end), start))
        for rank, t, _ in times:
            count, hashed = sums[rank]
            if count or self.plan.profile.emit_empty:
                yield ReportDigest(t, count, hashed)

    def frame(self) -> DataFrame:
        """Return the results as a Spark DataFrame: open, close and `t` of the report, one text column per variable."""
        compiled = self.compiled
        plan, program = compiled.plan, compiled.program
        if plan.reports is None:
            prepared = self._spark.prepare(program, [by_report(program), instants(program)])
            raw, found = self._spark.frames(prepared, compiled.parameters)
            return _sparse_frame(raw, found, program, plan)
        raw = self._spark.frame(program, by_report(program), compiled.parameters)
        nonempty = self._nonempty_ranks()
        if nonempty is not None:
            ranks = pa.table({"r": pa.array(sorted(nonempty), pa.int64())})
            raw = raw.join(self._spark.session.createDataFrame(ranks), "r", "left_semi")
        return _grid_frame(raw, program, plan)

    def tasks(self) -> tuple[int, int]:
        """Return how many of the known tasks are done, and how many there are."""
        return self._spark.tasks()

    def explain_spark(self) -> str:
        """Return Spark's own plan of the program."""
        compiled = self.compiled
        frame = self._spark.frame(compiled.program, by_report(compiled.program), compiled.parameters)
        return str(frame._jdf.queryExecution().toString())

    def _run(self, outputs: list[exp.Select]) -> list[pa.Table]:
        if isinstance(self._opened, UnconfirmedReplay):
            (output,) = outputs
            confirmed = self._opened.run(output)
            if confirmed is not None:
                table, self._opened = confirmed
                return [table]
        compiled = self.compiled
        with sources.data_errors():
            return self._spark.run(self._spark.prepare(compiled.program, outputs), compiled.parameters)

    def _reports_in_parts(self, parts: list[ReportRanks]) -> Iterator[Report]:
        """Return the reports from results that Spark computes once and keeps, so that few rows are in memory here."""
        del parts  # cut by the rows there are, not by those expected
        compiled, nonempty = self.compiled, self._nonempty_ranks()
        plan, program, start = compiled.plan, compiled.program, compiled.ranks.start
        frame = self._spark.frame(program, by_report(program), compiled.parameters)
        with sources.data_errors():
            for end, table in self._spark.in_parts(frame, replay.ROWS_AT_ONCE):
                rows = RowsByRank(program, table)
                yield from report_ranks.reports_of(plan, ReportRanks(start, end), rows, nonempty)
                start = end
        yield from report_ranks.reports_of(plan, ReportRanks(start, compiled.ranks.end), {}, nonempty)

    def _nonempty_ranks(self) -> frozenset[int] | None:
        with sources.data_errors():
            return super()._nonempty_ranks()


def _grid_frame(raw: DataFrame, program: Program, plan: Plan) -> DataFrame:
    """Return one row for each result row of each report of a grid; terms as canonical N-Triples texts."""
    from pyspark.sql import functions as f

    grid = plan.grid
    t = f.lit(grid.first_close) + f.col("r") * f.lit(grid.step)
    return raw.select(*_window(plan, t), t.alias("t"), *_texts(raw, program))


def _sparse_frame(raw: DataFrame, instants: DataFrame, program: Program, plan: Plan) -> DataFrame:
    """Return the same where the reports form no grid and `instants` holds those the program has found."""
    from pyspark.sql import functions as f

    joined = raw.join(instants.select("r", f.col("t").alias("report_t")), "r")
    t = f.col("report_t")
    return joined.select(*_window(plan, t), t.alias("t"), *_texts(joined, program))


def _window(plan: Plan, t: Column) -> list[Column]:
    """Return open and close of the window that a report belongs to: all close then, and have the same scope (A11)."""
    from pyspark.sql import functions as f

    nothing = f.lit(None).cast("bigint")
    visibilities = list(plan.visibilities.values())
    timed = [visibility for visibility in visibilities if isinstance(visibility, TimeVisibility)]
    scopes = {(visibility.grid.width, visibility.delay) for visibility in timed}
    if plan.profile.report.when is not When.WINDOW_CLOSE or len(timed) < len(visibilities) or len(scopes) > 1:
        return [nothing.alias("open"), nothing.alias("close")]
    ((width, delay),) = scopes
    together = f.lit(True)  # noqa: FBT003
    for visibility in timed:
        first = visibility.grid.first_close
        together &= (t >= f.lit(first)) & ((t - f.lit(first)) % f.lit(visibility.grid.step) == 0)
    close = t - f.lit(delay)
    return [
        f.when(together, close - f.lit(width)).alias("open"),
        f.when(together, close).alias("close"),
    ]


def _texts(raw: DataFrame, program: Program) -> list[Column]:
    from pyspark.sql import functions as f

    columns = []
    for output in program.outputs:
        if isinstance(output.layout, EncodedLayout) and Part.TEXT not in output.layout.parts:
            columns.append(f.lit(None).cast("string").alias(output.variable.name))
            continue
        text = print_sql(part_of(output.layout, output.stem, Part.TEXT), Target.SPARK)
        for kernel in called_kernels(text):
            register(raw.sparkSession, kernel)
        columns.append(f.expr(text).alias(output.variable.name))
    return columns
