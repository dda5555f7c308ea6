"""Answers as a Spark DataFrame: the instant of the report, its window, and a text column for each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.compile.inputs import TimeVisibility
from hydrograph.compile.printers import Target, print_sql
from hydrograph.compile.program import Program
from hydrograph.compile.relation import EncodedLayout, Part, part_of
from hydrograph.runtime.kernels import called
from hydrograph.runtime.placement.spark import register
from hydrograph.runtime.plan import Plan
from hydrograph.windows.report import When

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def answer_frame(raw: DataFrame, program: Program, plan: Plan) -> DataFrame:
    """Return one row for each answer of each report; terms as canonical N-Triples texts."""
    from pyspark.sql import functions as f

    grid = plan.grid
    t = f.lit(grid.first_close) + f.col("r") * f.lit(grid.step)
    return raw.select(*_window(plan, t), t.alias("t"), *_texts(raw, program))


def found_frame(raw: DataFrame, instants: DataFrame, program: Program, plan: Plan) -> DataFrame:
    """Return the same where the reports form no grid: a program has found them."""
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
        for kernel in called(text):
            register(raw.sparkSession, kernel)
        columns.append(f.expr(text).alias(output.variable.name))
    return columns
