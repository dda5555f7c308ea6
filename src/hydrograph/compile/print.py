"""SQL trees as text for Spark or for DuckDB: the few places where the two differ are all here."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.spark import Spark

from hydrograph.compile import sql


class Target(Enum):
    """Who reads the text."""

    SPARK = "spark"
    DUCKDB = "duckdb"


_Printer = Callable[[Any, Any], str]


def _both(self: Any, node: exp.Expression) -> tuple[str, str]:
    return self.sql(node, "this"), self.sql(node, "expression")


def _spark_floor_divide(self: Any, node: exp.Expression) -> str:
    value, by = _both(self, node)
    return f"(({value}) - PMOD({value}, {by})) DIV {by}"


def _duckdb_floor_divide(self: Any, node: exp.Expression) -> str:
    value, by = _both(self, node)
    return f"(({value}) - ((({value}) % {by}) + {by}) % {by}) // {by}"


def _spark_quotient(self: Any, node: exp.Expression) -> str:
    # Spark's own quotient has 18 fraction digits, rounded half up: where that went away from zero, go one back.
    # The check multiplies exactly below 10^9; above, 18 digits are beyond what the product can hold.
    value, by = _both(self, node)
    quotient = f"TRY_CAST(TRY_DIVIDE({value}, CAST({by} AS DECIMAL(20, 0))) AS DECIMAL(38, 18))"
    product = f"(TRY_CAST(ABS({quotient}) AS DECIMAL(27, 18)) * CAST({by} AS DECIMAL(10, 0)))"
    step = f"CAST(SIGN({value}) AS DECIMAL(1, 0)) * CAST('0.000000000000000001' AS DECIMAL(18, 18))"
    return (
        # DECIMAL(38, 18) minus anything would lose a digit to Spark's rule for the result's precision.
        f"CASE WHEN {product} > ABS({value}) THEN CAST(TRY_CAST({quotient} AS DECIMAL(37, 18)) - {step} AS DECIMAL(38, 18)) "
        f"ELSE {quotient} END"
    )


def _duckdb_quotient(self: Any, node: exp.Expression) -> str:
    value, by = _both(self, node)
    one = "1000000000000000000::HUGEINT"
    whole = f"TRUNC({value})::HUGEINT"
    fraction = f"((({value}) - TRUNC({value}))::DECIMAL(18, 18) * 1000000000000000000::DECIMAL(19, 0))::HUGEINT"
    scaled = f"(({whole} * {one} + {fraction}) // ({by})::HUGEINT)"
    back = f"({scaled} % {one})::DECIMAL(18, 0) * 0.000000000000000001::DECIMAL(18, 18)"
    return f"(({scaled} // {one})::DECIMAL(20, 0)::DECIMAL(38, 18) + ({back})::DECIMAL(38, 18))::DECIMAL(38, 18)"


def _spark_decimal_text(self: Any, node: exp.Expression) -> str:
    # Where ANSI is off a cast writes small numbers as 1E-7: then whole and fraction are written as whole numbers.
    value = self.sql(node, "this")
    whole = f"CAST(FLOOR(ABS({value})) AS DECIMAL(20, 0))"
    fraction = f"TRY_CAST(ABS({value}) AS DECIMAL(37, 18)) - TRY_CAST({whole} AS DECIMAL(19, 0))"
    rest = f"CAST({fraction} AS DECIMAL(18, 18)) * CAST(1000000000000000000 AS DECIMAL(19, 0))"
    digits = f"LPAD(CAST(CAST({rest} AS DECIMAL(18, 0)) AS STRING), 18, '0')"
    sign = f"CASE WHEN {value} < 0 THEN '-' ELSE '' END"
    plain = (
        f"CASE WHEN CONTAINS(CAST({value} AS STRING), 'E') THEN CONCAT({sign}, CAST({whole} AS STRING), '.', {digits})"
    )
    return f"RTRIM('.', RTRIM('0', {plain} ELSE CAST({value} AS STRING) END))"


def _duckdb_decimal_text(self: Any, node: exp.Expression) -> str:
    return f"RTRIM(RTRIM(CAST({self.sql(node, 'this')} AS TEXT), '0'), '.')"


def _arguments(self: Any, node: exp.Expression) -> str:
    return ", ".join(self.sql(argument) for argument in node.expressions)


def _call(name: str) -> _Printer:
    def write(self: Any, node: exp.Expression) -> str:
        return f"{name}({self.sql(node, 'this')})"

    return write


def _spark_fold(self: Any, node: exp.Expression) -> str:
    return f"AGGREGATE(ARRAY_SORT({self.sql(node, 'this')}), CAST(0 AS DOUBLE), (a, x) -> a + x)"


def _duckdb_fold(self: Any, node: exp.Expression) -> str:
    return f"LIST_REDUCE(LIST_SORT({self.sql(node, 'this')}), LAMBDA a, x : a + x, 0::DOUBLE)"


def _duckdb_collect(self: Any, node: exp.Expression) -> str:
    value = self.sql(node, "this")
    return f"COALESCE(LIST({value}) FILTER (WHERE NOT {value} IS NULL), [])"


def _spark_ranks(self: Any, node: exp.Expression) -> str:
    start, end = _both(self, node)
    return f"EXPLODE(SEQUENCE({start}, ({end}) - CAST(1 AS BIGINT)))"


def _duckdb_ranks(self: Any, node: exp.Expression) -> str:
    start, end = _both(self, node)
    return f"UNNEST(RANGE({start}, {end}))"


def _safe_cast(self: Any, node: exp.Expression) -> str:
    return f"TRY_CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"


def _generator(base: Any, printers: dict[Any, _Printer]) -> Any:
    return type("Generator", (base,), {"TRANSFORMS": {**base.TRANSFORMS, **printers}})


_SPARK = _generator(
    Spark.Generator,
    {
        sql.FloorDivide: _spark_floor_divide,
        sql.DecimalQuotient: _spark_quotient,
        sql.DecimalText: _spark_decimal_text,
        sql.DoubleText: _call("hydrograph_double_text"),
        sql.TermId: _call("XXHASH64"),
        sql.RowHash: lambda self, node: f"XXHASH64({_arguments(self, node)})",
        sql.FoldDoubles: _spark_fold,
        sql.CollectList: _call("COLLECT_LIST"),
        sql.IsNan: _call("ISNAN"),
        sql.RankRange: _spark_ranks,
        sql.SafeSum: _call("TRY_SUM"),
        sql.SafeCast: _safe_cast,
    },
)

_DUCKDB = _generator(
    DuckDB.Generator,
    {
        sql.FloorDivide: _duckdb_floor_divide,
        sql.DecimalQuotient: _duckdb_quotient,
        sql.DecimalText: _duckdb_decimal_text,
        sql.DoubleText: _call("hydrograph_double_text"),
        sql.TermId: _call("hydrograph_term_id"),
        sql.FoldDoubles: _duckdb_fold,
        sql.CollectList: _duckdb_collect,
        sql.IsNan: _call("ISNAN"),
        sql.RankRange: _duckdb_ranks,
        sql.SafeSum: _call("SUM"),
        # Hints speak of Spark's partitions and joins; there is nothing to say of them here.
        exp.Hint: lambda self, node: "",  # noqa: ARG005
        sql.SafeCast: _safe_cast,
    },
)


def print_sql(tree: exp.Expression, target: Target, *, pretty: bool = False) -> str:
    """Return the text of `tree`; whatever a target can't say is an error, never left out."""
    match target:
        case Target.SPARK:
            generator = _SPARK(dialect="spark", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
        case Target.DUCKDB:
            generator = _DUCKDB(dialect="duckdb", pretty=pretty, unsupported_level=ErrorLevel.RAISE)
    return str(generator.generate(tree, copy=False))
