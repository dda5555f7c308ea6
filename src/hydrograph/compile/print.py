"""SQL trees as text for Spark or for DuckDB."""

from __future__ import annotations

from enum import Enum

from sqlglot import ErrorLevel, exp

from hydrograph.compile.printers import duckdb, spark


class Target(Enum):
    """Who reads the text."""

    SPARK = "spark"
    DUCKDB = "duckdb"


def print_sql(tree: exp.Expr, target: Target, *, pretty: bool = False) -> str:
    """Return the text of `tree`; whatever a target can't say is an error, never left out."""
    match target:
        case Target.SPARK:
            generator = spark.GENERATOR(dialect="spark", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
        case Target.DUCKDB:
            generator = duckdb.GENERATOR(dialect="duckdb", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
    return str(generator.generate(tree, copy=False))
