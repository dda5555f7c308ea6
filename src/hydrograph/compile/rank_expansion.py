"""Rank expansion: static rows at every evaluated rank, and rows repeated for each rank of their interval.

Operators work on intervals of ranks wherever they can. What depends on a single report, such as NOW() (S28), LIMIT
(S26) or a random value (A6), needs one row per rank.
"""

from __future__ import annotations

from dataclasses import replace

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.joins import join
from hydrograph.compile.relation import Always, Demand, Part, RankInterval, Relation


def match_validity(compilation: Compilation, left: Relation, right: Relation) -> Relation:
    """Return `left` with intervals if `right` has them: static rows are valid at every evaluated rank."""
    if isinstance(left.validity, Always) and isinstance(right.validity, RankInterval):
        return at_evaluated_ranks(compilation, left)
    return left


def at_evaluated_ranks(compilation: Compilation, rows: Relation) -> Relation:
    """Return static rows as rows that are valid at the evaluated ranks, cut into chunks like all others."""
    return join(compilation, rows, compilation.domain(), all_parts(rows))


def all_parts(rows: Relation) -> Demand:
    """Return the demand for everything the rows have."""
    return dict.fromkeys(rows.layouts, frozenset(Part))


def one_row_per_rank(compilation: Compilation, rows: Relation) -> Relation:
    """Return every row once for each rank at which it is valid."""
    if not isinstance(rows.validity, RankInterval):
        return rows
    lo, hi = rows.validity.columns
    kept = [sql.col(name) for name in rows.all_columns() if name not in (lo, hi)]
    ranks = nodes.RankRange(this=sql.col(lo), expression=sql.col(hi))
    spread = sql.from_(sql.select(*kept, sql.alias(ranks, "k")), rows.name)
    query = sql.select(
        *[column.copy() for column in kept],
        sql.alias(sql.col("k"), lo),
        sql.alias(sql.add(sql.col("k"), sql.num(1)), hi),
    ).from_(spread.subquery("s", copy=False), copy=False)
    return compilation.step(rows, query, "ranks")


def with_report_columns(compilation: Compilation, rows: Relation) -> Relation:
    """Return rows at single ranks, static ones too: for what reads the time of the report (S28)."""
    rows = one_row_per_rank(
        compilation, at_evaluated_ranks(compilation, rows) if isinstance(rows.validity, Always) else rows
    )
    if not isinstance(rows.validity, RankInterval) or rows.validity.instants is None:
        return rows
    told = [sql.alias(sql.col(name, "i"), f"report_{name}") for name in ("t", "name")]
    query = sql.select(*[sql.alias(sql.col(name, "l"), name) for name in rows.all_columns()], *told)
    same = sql.equal(sql.col(rows.validity.lo, "l"), sql.col("r", "i"))
    query = sql.from_(query, rows.name, "l").join(sql.table(rows.validity.instants, "i"), on=same, copy=False)
    return compilation.step(replace(rows, validity=replace(rows.validity, has_report_columns=True)), query, "told")


def without_report_columns(rows: Relation) -> Relation:
    """Return rows without the columns of `with_report_columns`."""
    if isinstance(rows.validity, RankInterval) and rows.validity.has_report_columns:
        return replace(rows, validity=replace(rows.validity, has_report_columns=False))
    return rows
