"""Spark placement: the program as Spark SQL in a given session."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self
from uuid import uuid4

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.program import Program
from hydrograph.compile.sql import Sql
from hydrograph.errors import RunError
from hydrograph.runtime.kernels import Kernel, called_kernels
from hydrograph.runtime.placement import Parameters, executor
from hydrograph.runtime.placement.executor import PreparedProgram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_INTEGERS = frozenset({"t", "t_next", "lo", "hi", "r"})
"""Columns of a program that hold times and ranks, or nothing."""

_APART = (exp.Query, exp.AggFunc, exp.Window, exp.Anonymous)
"""What has rows of its own, or may have: a function that is not known may be an aggregate."""


def hide_parameters(query: exp.Query, constants: Collection[str]) -> exp.Query:
    """Return an equal query with its parameters hidden wherever a row with a time or a rank is at hand.

    `constants` are not hidden: they are the same in every run, and Spark passes texts beside the code.
    """
    hidden = query.copy()
    for place in list(hidden.find_all(exp.Placeholder)):
        column = _near(place) if place.name not in constants else None
        if column is not None:
            place.replace(_element(place.copy(), column.copy()))
    return hidden


def _element(value: Sql, column: Sql) -> Sql:
    none = sql.coalesce(sql.cast(exp.BitwiseAnd(this=column, expression=sql.num(0)), "INT"), sql.num(0))
    array = exp.Anonymous(this="ARRAY", expressions=[sql.cast(value, "BIGINT")])
    return exp.Anonymous(this="GET", expressions=[array, none])


def _near(place: exp.Expr) -> exp.Column | None:
    """Return a column of integers in the smallest expression around a parameter that has one."""
    around = place.parent
    while around is not None and not isinstance(around, exp.Query):
        found = next(_columns(around), None)
        if found is not None:
            return found
        around = around.parent
    return None


def _columns(tree: exp.Expr) -> Iterator[exp.Column]:
    """Yield the columns of integers in an expression, without those that queries and aggregates inside it read."""
    for node in tree.walk(prune=lambda each: each is not tree and isinstance(each, _APART)):
        if isinstance(node, exp.Column) and node.name in _INTEGERS:
            yield node


_SMALL = 64 * 1024
"""Bytes of a table up to which its rows may be part of a plan."""
_SETTING = Lock()
"""Held while a setting of a session differs for a moment: queries run side by side in one session."""


class Spark:
    """The tables of one run as temporary views, under names of their own in a session that may be the user's."""

    name: ClassVar = "spark"
    in_process: ClassVar = False
    supports_incremental: ClassVar = False
    is_retryable: ClassVar = True
    target: ClassVar = Target.SPARK

    def __init__(self, session: SparkSession, *, moving: bool = False) -> None:
        """Use `session`; it is never stopped here, and its settings stay as they are.

        `moving` is for tables that are replaced with every batch: their rows are left to tasks. By default Spark makes
        rows of up to 48 MB a part of the plan, which is then filtered, hashed and compared in the driver: a three-way
        join over 100,000 rows took seconds to plan. Parameters are kept out of generated code, see `hide_parameters`.
        """
        self.session = session
        self._moving = moving
        self.prefix = f"hydrograph_{uuid4().hex[:12]}_"
        self._views: list[str] = []
        self._cached: list[DataFrame] = []

    def __enter__(self) -> Self:
        """Return the placement itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop the views and what was kept in memory."""
        for view in self._views:
            self.session.catalog.dropTempView(view)
        for frame in self._cached:
            frame.unpersist()

    def add_frame(self, name: str, frame: DataFrame) -> None:
        """Name the rows of a DataFrame."""
        frame.createOrReplaceTempView(name)
        self._views.append(name)

    def add_table(self, name: str, rows: pa.Table) -> None:
        """Name rows in the driver's memory."""
        # In one piece: PySpark takes an empty piece for the end of the table.
        whole = rows.combine_chunks()
        apart = self._set("spark.sql.execution.arrow.localRelationThreshold", str(_SMALL))
        with apart if self._moving else nullcontext():
            frame = self.session.createDataFrame(whole)
        self.add_frame(name, frame)

    def keep(self, frame: DataFrame) -> DataFrame:
        """Keep a frame in memory, or on disk where that is too small, for the time of the run."""
        from pyspark import StorageLevel

        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._cached.append(kept)
        return kept

    def materialise(self, name: str, query: exp.Query, given: Parameters, *, eager: bool = False) -> DataFrame:
        """Name the rows of a query, computed once, now or when the first is asked for, and spread as it spreads them.

        Rows as they stand and not by column as `keep` has them: those are dearer to make and forget the spreading.
        What is returned is the query, for what it has observed.
        """
        rows = self._frame(query, given)
        self.add_frame(name, self._checkpoint(rows, eager=eager))
        return rows

    def tasks(self) -> tuple[int, int]:
        """Return how many of the known tasks are done, and how many there are."""
        tracker = self.session.sparkContext.statusTracker()
        stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
        return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)

    def prepare(
        self,
        program: Program,
        outputs: Sequence[exp.Select],
        static_prefix: str | None = None,  # noqa: ARG002  static steps are part of the lazy plan
        whole: Program | None = None,  # noqa: ARG002
    ) -> PreparedProgram:
        """Print the steps of a program and its output queries; no step is computed before it is run."""
        constants = program.constants
        return PreparedProgram.of(program, outputs, lambda query: self._text(query, constants), prefix=self.prefix)

    def load_static(self, prepared: PreparedProgram) -> None:
        """Compute the static steps of a program for all later runs: there are none on Spark."""
        executor.load_static(prepared, self)

    def run(self, prepared: PreparedProgram, parameters: Mapping[str, int]) -> list[pa.Table]:
        """Return the rows of each output query in the driver's memory."""
        return [collect(frame) for frame in self.frames(prepared, parameters)]

    def frames(self, prepared: PreparedProgram, parameters: Mapping[str, int]) -> list[DataFrame]:
        """Return each output query as a lazy DataFrame; steps that a program materialises are computed now."""
        return executor.execute(prepared, self, parameters)

    def frame(self, program: Program, output: exp.Select, parameters: Mapping[str, int]) -> DataFrame:
        """Return one output query of a program as a lazy DataFrame."""
        return self.frames(self.prepare(program, [output]), parameters)[0]

    def rows(self, program: Program, output: exp.Select, parameters: Mapping[str, int]) -> pa.Table:
        """Return the rows of one output query of a program that is run once."""
        return collect(self.frame(program, output, parameters))

    def read(self, query: exp.Query, parameters: Parameters) -> pa.Table:
        """Return the rows of one query in the driver's memory."""
        return collect(self._frame(query, parameters))

    def fetch(self, text: str, parameters: Parameters) -> pa.Table:
        """Return the rows of a SQL text in the driver's memory."""
        return collect(self.query(text, parameters))

    def query(self, text: str, parameters: Parameters) -> DataFrame:
        """Return the rows of a SQL text as a lazy DataFrame."""
        for kernel in called_kernels(text):
            register(self.session, kernel)
        return self.session.sql(text, args=dict(parameters))

    def _frame(self, query: exp.Query, parameters: Parameters) -> DataFrame:
        texts = {name for name, value in parameters.items() if not isinstance(value, int)}
        return self.query(self._text(query, texts), parameters)

    def _text(self, query: exp.Query, constants: Collection[str]) -> str:
        """Print a query; `constants` are the parameters that are the same in every run."""
        return print_sql(hide_parameters(query, constants) if self._moving else query, self.target)

    def store(self, table: str, rows: DataFrame, earlier: DataFrame | None = None) -> tuple[DataFrame, bool]:
        """Materialise rows without their lineage, which would grow with every round of a path; name them."""
        from pyspark.errors import PySparkException

        try:
            kept = self._checkpoint(rows, eager=True)
            is_new = not kept.isEmpty()
        except PySparkException as error:
            raise run_error(error) from None
        stored = kept if earlier is None else earlier.unionByName(kept)
        self.add_frame(table, stored)
        return stored, is_new

    def _checkpoint(self, rows: DataFrame, *, eager: bool) -> DataFrame:
        # A checkpoint keeps constraints that name columns it no longer has, and a union of such rows fails to plan.
        with self._set("spark.sql.constraintPropagation.enabled", "false"):
            return rows.localCheckpoint(eager=eager)

    @contextmanager
    def _set(self, name: str, value: str) -> Iterator[None]:
        """Change a setting of the session for the time of a block."""
        with _SETTING:
            before = self.session.conf.get(name)
            self.session.conf.set(name, value)
            try:
                yield
            finally:
                self.session.conf.set(name, str(before))

    def in_parts(self, frame: DataFrame, at_once: int) -> Iterator[tuple[int, pa.Table]]:
        """Give the rows of a frame by ascending ranks `r`, about `at_once` of them in the driver's memory at a time.

        With each part comes the rank that it ends before. The rows stay with the executors until they are asked for.
        """
        kept = self.keep(frame)
        counted = collect(kept.groupBy("r").count().orderBy("r"))
        start, rows = None, 0
        for rank, count in zip(*(counted.column(name).to_pylist() for name in ("r", "count")), strict=True):
            if start is not None and rows + count > at_once:
                yield rank, collect(kept.where((kept["r"] >= start) & (kept["r"] < rank)))
                start, rows = rank, 0
            start, rows = rank if start is None else start, rows + count
        if start is not None:
            yield rank + 1, collect(kept.where(kept["r"] >= start))


def register(session: SparkSession, kernel: Kernel) -> None:
    """Make a kernel known to a session's SQL."""
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

    result = "STRING" if kernel.result == "VARCHAR" else kernel.result
    session.udf.register(kernel.name, arrow_udf(kernel.run, result))


def collect(frame: DataFrame) -> pa.Table:
    """Return all rows; a failed job becomes one clear error."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        return frame.toArrow()
    except (PySparkException, Py4JJavaError) as error:  # the second where it fails while rows are handed over
        raise run_error(error) from None


def observed(frame: DataFrame, name: str, values: int) -> tuple[int | None, ...]:
    """Return so many numbers that a frame, once it has been run, has observed under a name.

    PySpark's own Observation waits for ever when the frame is read through a view.
    """
    row = frame._jdf.queryExecution().observedMetrics().apply(name)
    return tuple(row.get(position) for position in range(values))


def run_error(error: Exception) -> Exception:
    """Return the error of a failed Spark job: what is wrong with the data, if that is why it failed."""
    from hydrograph.streams.formats.tnt_spark import data_error

    return data_error(error) or RunError(f"the Spark job failed: {cause_of(str(error)) or type(error).__name__}")


def cause_of(trace: str) -> str:
    r"""Return the cause of a Java error, from its trace: the last cause, or the error's own first words.

    >>> cause_of("An error occurred while calling o7.f.\n: a.B: late\n\tat x\nCaused by: a.C: disk full\n\tat y")
    'a.C: disk full'
    >>> cause_of("An error occurred while calling o7.f.\n: a.B: late\n\tat x"), cause_of("[DIVIDE_BY_ZERO] No.\nat z")
    ('a.B: late', '[DIVIDE_BY_ZERO] No.')
    """
    lines = trace.strip().splitlines()
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    own = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    return next(iter([*causes[-1:], *own, *lines]), "").strip()[:500]
