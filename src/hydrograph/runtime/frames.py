"""Answers as a Spark DataFrame: the instant of the report, its window, and a text column for each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.compile.print import Target, print_sql
from hydrograph.compile.program import Program
from hydrograph.compile.relation import Encoded, Part, part_of
from hydrograph.runtime.kernels import called
from hydrograph.runtime.placement.spark import register
from hydrograph.runtime.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def answer_frame(raw: DataFrame, program: Program, plan: Plan) -> DataFrame:
    """Return one row for each answer of each report; terms as canonical N-Triples texts."""
    from pyspark.sql import functions as f

    grid = plan.grid
    close = f.lit(grid.first_close) + f.col("r") * f.lit(grid.step)
    single = plan.scope(0) is not None
    opened = close - f.lit(grid.width) if single else f.lit(None).cast("bigint")
    columns = [opened.alias("open"), (close if single else f.lit(None).cast("bigint")).alias("close"), close.alias("t")]
    for output in program.outputs:
        if isinstance(output.form, Encoded) and Part.TEXT not in output.form.parts:
            columns.append(f.lit(None).cast("string").alias(output.variable.name))
            continue
        text = print_sql(part_of(output.form, output.stem, Part.TEXT), Target.SPARK)
        for kernel in called(text):
            register(raw.sparkSession, kernel)
        columns.append(f.expr(text).alias(output.variable.name))
    return raw.select(*columns)
