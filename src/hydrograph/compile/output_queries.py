"""Queries over the last step of a program: rows of each report, rows by interval, or counts and hashes by interval."""

from __future__ import annotations

from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.program import Output, Program
from hydrograph.compile.relation import EncodedLayout, Part, layout_columns, part_of
from hydrograph.compile.sql import Sql


def by_report(program: Program) -> exp.Select:
    """Return the query that gives every row once for each report `r` it belongs to."""
    keys = [key for key in program.keys if key != "chunk"]
    names = [*keys, *(name for output in program.outputs for name in layout_columns(output.stem, output.layout))]
    columns = [sql.col(name) for name in names]
    if program.operator is StreamOperator.RSTREAM:
        ranks = nodes.RankRange(this=sql.col("lo"), expression=sql.col("hi"))
        if not program.order:
            return sql.from_(sql.select(*columns, sql.alias(ranks, "r")), program.answer)
        sorts = [sql.col(key.column) for key in program.order]
        spread = sql.from_(sql.select(*columns, *sorts, sql.alias(ranks, "r")), program.answer)
        ordered = [
            exp.Ordered(this=sql.col(key.column), desc=key.descending, nulls_first=True) for key in program.order
        ]
        result = sql.select(*[sql.col(name) for name in (*names, "r")]).from_(
            spread.subquery("s", copy=False), copy=False
        )
        first = [exp.Ordered(this=sql.col(name), nulls_first=True) for name in (*keys, "r")]
        return result.order_by(*first, *ordered, copy=False)
    copies = nodes.RankRange(this=sql.num(0), expression=sql.col("m"))
    spread = sql.from_(sql.select(*columns, sql.col("r"), sql.alias(copies, "copy")), program.answer)
    return sql.select(*[sql.col(name) for name in (*names, "r")]).from_(spread.subquery("s", copy=False), copy=False)


def by_interval(program: Program) -> exp.Select:
    """Return the query that gives every row once, with the ranks `[lo, hi)` of the reports it belongs to."""
    assert program.operator is StreamOperator.RSTREAM, "what changes belongs to one report"
    names = [name for output in program.outputs for name in layout_columns(output.stem, output.layout)]
    return sql.from_(sql.select(*map(sql.col, (*names, "lo", "hi"))), program.answer)


def instants(program: Program) -> exp.Select:
    """Return the query for the reports that a program has found: rank `r`, time `t` and `seq`."""
    assert program.instants is not None, "the reports of this program form a grid"
    return sql.from_(sql.select(*map(sql.col, ("r", "t", "seq"))), program.instants)


def by_stretch(program: Program) -> exp.Select:
    """Return the query that counts rows and adds up the hashes of their texts, for each stretch of ranks `[lo, hi)`.

    Sums are free of order and can be swept: a row is hashed once, however many reports it belongs to. The hash is added
    in halves, because a sum of 64-bit numbers would overflow.
    """
    hashed = nodes.RowHash(expressions=[_text(output) for output in program.outputs])
    if program.operator is StreamOperator.RSTREAM:
        stretch = [sql.col("lo"), sql.col("hi"), sql.alias(sql.num(1), "m")]
    else:
        following = sql.add(sql.col("r"), sql.num(1))
        stretch = [sql.alias(sql.col("r"), "lo"), sql.alias(following, "hi"), sql.col("m")]
    rows = sql.from_(sql.select(*stretch, sql.alias(hashed, "h")), program.answer)
    low = exp.BitwiseAnd(this=sql.col("h"), expression=sql.num(0xFFFFFFFF))
    high = exp.Anonymous(this="SHIFTRIGHTUNSIGNED", expressions=[sql.col("h"), exp.Literal.number(32)])
    by = [sql.col("lo"), sql.col("hi")]
    return (
        sql.select(
            *by,
            sql.alias(exp.Sum(this=sql.col("m")), "n"),
            sql.alias(exp.Sum(this=sql.multiply(sql.col("m"), low)), "low"),
            sql.alias(exp.Sum(this=sql.multiply(sql.col("m"), high)), "high"),
        )
        .from_(rows.subquery("t", copy=False), copy=False)
        .group_by(*by, copy=False)
    )


def _text(output: Output) -> Sql:
    if isinstance(output.layout, EncodedLayout) and Part.TEXT not in output.layout.parts:
        return sql.cast(sql.NULL.copy(), "TEXT")  # never bound by the query
    return part_of(output.layout, output.stem, Part.TEXT)
