"""SQL trees as text for Spark or for DuckDB."""

from __future__ import annotations

from enum import Enum

from sqlglot import ErrorLevel, exp

from hydrograph.compile.printers import duckdb, spark


class Target(Enum):
    """The SQL engine that reads the text."""

    SPARK = "spark"
    DUCKDB = "duckdb"


def print_sql(tree: exp.Expr, target: Target, *, pretty: bool = False) -> str:
    """Return the text of `tree`; a node that the target cannot express raises, and is never left out."""
    match target:
        case Target.SPARK:
            make, dialect = spark.GENERATOR, "spark"
        case Target.DUCKDB:
            make, dialect = duckdb.GENERATOR, "duckdb"
    # Our trees carry no comments: none are looked for at every node.
    generator = make(dialect=dialect, pretty=pretty, comments=False, unsupported_level=ErrorLevel.RAISE)
    return str(generator.generate(tree, copy=False))
