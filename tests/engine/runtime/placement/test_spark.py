"""Tables and numbers that change with every batch: Spark plans and compiles the same query once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from hydrograph.compile.printers import Target, print_sql
from hydrograph.runtime.placement.spark import Spark, hide_parameters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HIDDEN = "GET(ARRAY(:{} :: BIGINT), COALESCE(({} & 0) :: INT, 0))"


def query(text: str) -> exp.Select:
    tree = sqlglot.parse_one(text, dialect="spark")
    assert isinstance(tree, exp.Select)
    return tree


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("SELECT LEAST(t + 1, :a) AS hi FROM w", {"a": "t"}),
        ("SELECT s FROM w WHERE s = 1 AND t >= :a AND w.hi < :b", {"a": "t", "b": "w.hi"}),
        # Grouped rows have no column of their own any more.
        ("SELECT COALESCE(MAX(lo), :a) AS x FROM w", {}),
        ("SELECT MAX(GREATEST(lo, :a)) AS x FROM w", {"a": "lo"}),
        ("SELECT s, (SELECT MAX(t) FROM v) > :a AS x FROM w", {}),
        ("SELECT s FROM w LIMIT :a", {}),
        # A text is not a number, whatever is beside it.
        ("SELECT s FROM w WHERE t >= :a AND s = :c", {"a": "t"}),
    ],
)
def test_numbers_are_hidden_where_a_time_or_a_rank_is_at_hand(text: str, hidden: Mapping[str, str]) -> None:
    tree = query(text)
    expected = print_sql(tree, Target.SPARK)
    for name, column in hidden.items():
        expected = expected.replace(f":{name}", HIDDEN.format(name, column))
    assert print_sql(hide_parameters(tree, {"c"}), Target.SPARK) == expected
    assert print_sql(tree, Target.SPARK) != expected or not hidden, "the query itself stays as it is"


@pytest.mark.spark
def test_rows_and_numbers_of_a_batch_are_no_part_of_plan_and_code(spark: SparkSession) -> None:
    assert spark._jvm is not None
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    many = pa.table({"t": pa.array(range(100_000), pa.int64())})
    name = "spark.sql.execution.arrow.localRelationThreshold"
    before = spark.conf.get(name)
    asked = query("SELECT t % 10 AS d, COUNT(*) AS n FROM moving WHERE t >= :a AND t < :b GROUP BY t % 10")
    counts = []
    with Spark(spark, moving=True) as placed:
        for first in range(5):
            placed.add_table("moving", many)
            assert "LogicalRDD" in str(spark.table("moving")._jdf.queryExecution().analyzed())
            known = compiled.getCount()
            found = placed.read(asked, {"a": first, "b": first + 1000})
            counts.append(compiled.getCount() - known)
            assert found.column("n").to_pylist() == [100] * 10
        for few in (many.slice(0, 10), many.slice(0, 0)):
            placed.add_table("moving", few)
            assert "Local" in str(spark.table("moving")._jdf.queryExecution().analyzed())
            assert sum(placed.read(asked, {"a": 0, "b": 1000}).column("n").to_pylist()) == few.num_rows
        named = query("SELECT t FROM moving WHERE t >= :a AND CONCAT('n', t % 5) = :c AND t < :b")
        placed.add_table("moving", many)
        assert placed.read(named, {"a": 3, "b": 10, "c": "n4"}).column("t").to_pylist() == [4, 9]
    assert spark.conf.get(name) == before
    # What else happens in the session may compile something meanwhile, but not in every run.
    assert counts[0] > min(counts[1:]) == 0, counts
