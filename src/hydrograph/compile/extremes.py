"""S25: MIN and MAX where windows overlap much, by a dyadic cover instead of rank by rank.

The ranks form a binary tree: node i of level j stands for the ranks from i * 2^j up to (i + 1) * 2^j. A row's interval
is covered by at most two nodes of each level; a segment finds the rows that are valid in it at the nodes above its
first rank. So a row costs the logarithm of its length, where looking at every rank would cost its length.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.accumulators import Accumulator
from hydrograph.compile.context import Compilation
from hydrograph.compile.relation import Ranks
from hydrograph.compile.sql import Sql

SMALL_OVERLAP = 16
"""Up to here looking at every rank costs less."""
UNKNOWN_OVERLAP = 1_000
"""With reports at every change of content an element is seen at as many as there are others in its window."""
_LEVEL, _NODE, _SIZE = "level", "node", "size"


def overlap(compilation: Compilation) -> int:
    """Return in how many windows an event lies at most, or a guess where the reports form no grid."""
    grids = [window.grid for window in compilation.inputs.windows.values()]
    return max((UNKNOWN_OVERLAP if grid is None else -(-grid.width // grid.step) for grid in grids), default=1)


def is_extreme(accumulator: Accumulator) -> bool:
    """Tell whether an aggregate is a MIN or MAX, as SAMPLE is."""
    return any(isinstance(total, exp.Min | exp.Max) for _, total in accumulator.totals)


def without_extremes(accumulator: Accumulator) -> Accumulator:
    """Return what of an aggregate can be swept: the number of its errors."""
    summed = {name for name, total in accumulator.totals if isinstance(total, exp.Sum | sql.SafeSum)}
    return replace(
        accumulator,
        inputs=tuple((name, value) for name, value in accumulator.inputs if name in summed),
        totals=tuple((name, total) for name, total in accumulator.totals if name in summed),
        spread=None,
    )


def with_extremes(
    compilation: Compilation,
    rows: str,
    segments: str,
    columns: list[str],
    accumulators: list[Accumulator],
    carried: list[str],
    validity: Ranks,
) -> exp.Select:
    """Return the segments of groups with their least and greatest terms; `carried` are the totals they have already."""
    inputs = [pair for each in accumulators for pair in each.inputs if pair[0] not in carried]
    totals = [pair for each in accumulators for pair in each.totals if pair[0] not in carried]
    nodes = compilation.let(_nodes(rows, columns, inputs, totals, validity), "nodes")
    lo, hi = validity.columns
    known = [*columns, lo, hi, *carried]
    levels = sql.RankRange(this=sql.cast(sql.num(0), "BIGINT"), expression=_levels(_span(compilation)))
    above = sql.from_(sql.select(*map(sql.col, known), sql.alias(levels, _LEVEL)), segments)
    sized = sql.select(*map(sql.col, known), sql.col(_LEVEL), sql.alias(_size(), _SIZE))
    sized = sized.from_(above.subquery("a", copy=False), copy=False)
    node = sql.FloorDivide(this=sql.col(lo), expression=sql.col(_SIZE))
    found = sql.select(*map(sql.col, known), sql.col(_LEVEL), sql.alias(node, _NODE))
    found = found.from_(sized.subquery("z", copy=False), copy=False)
    same: list[Sql] = [sql.equal(sql.col(name, "l"), sql.col(name, "r")) for name in (_LEVEL, _NODE)]
    same += [exp.NullSafeEQ(this=sql.col(name, "l"), expression=sql.col(name, "r")) for name in columns]
    by = [sql.col(name, "l") for name in known]
    best = [sql.alias(type(total)(this=sql.col(name, "r")), name) for name, total in totals]
    query = sql.select(*[sql.alias(column.copy(), name) for column, name in zip(by, known, strict=True)], *best)
    query = query.from_(found.subquery("l", copy=False), copy=False).join(
        sql.table(nodes, "r"), on=sql.all_of(same), join_type="left", copy=False
    )
    return query.group_by(*by, copy=False)


def _nodes(
    rows: str,
    columns: list[str],
    inputs: list[tuple[str, Sql]],
    totals: list[tuple[str, Sql]],
    validity: Ranks,
) -> exp.Select:
    """Return the least and greatest terms at every node of the rows' covers."""
    lo, hi = validity.columns
    names = [name for name, _ in inputs]
    valued = [sql.alias(value.copy(), name) for name, value in inputs]
    length = sql.subtract(sql.col(hi), sql.col(lo))
    levels = sql.RankRange(this=sql.cast(sql.num(0), "BIGINT"), expression=_levels(length))
    # Rows of one group with the same interval first become one: only one of them is the least, one the greatest.
    read = sql.from_(sql.select(*map(sql.col, (*columns, lo, hi)), *valued), rows)
    merged = sql.select(*map(sql.col, (*columns, lo, hi)), *[sql.alias(total.copy(), name) for name, total in totals])
    merged = merged.from_(read.subquery("v", copy=False), copy=False)
    merged = merged.group_by(*map(sql.col, (*columns, lo, hi)), copy=False)
    spread = sql.select(*map(sql.col, (*columns, lo, hi, *names)), sql.alias(levels, _LEVEL))
    spread = spread.from_(merged.subquery("u", copy=False), copy=False)
    sides = exp.Explode(this=exp.Array(expressions=[sql.num(0), sql.num(1)]))
    kept = [*columns, lo, hi, *names, _LEVEL]
    sized = sql.select(*map(sql.col, kept), sql.alias(_size(), _SIZE), sql.alias(sides, "side"))
    sized = sized.from_(spread.subquery("c", copy=False), copy=False)
    # The first node of the level inside the interval, and the first behind it.
    up = sql.subtract(sql.add(sql.col(lo), sql.col(_SIZE)), sql.num(1))
    first = sql.FloorDivide(this=up, expression=sql.col(_SIZE))
    last = sql.FloorDivide(this=sql.col(hi), expression=sql.col(_SIZE))
    ends = sql.select(
        *map(sql.col, (*columns, *names, _LEVEL, "side")), sql.alias(first, "first"), sql.alias(last, "last")
    ).from_(sized.subquery("e", copy=False), copy=False)
    is_left = sql.equal(sql.col("side"), sql.num(0))
    node = sql.when(
        (sql.all_of([is_left, _odd("first")]), sql.col("first")),
        (sql.all_of([sql.negate(is_left.copy()), _odd("last")]), sql.subtract(sql.col("last"), sql.num(1))),
    )
    chosen = sql.select(*map(sql.col, (*columns, *names, _LEVEL)), sql.alias(node, _NODE))
    chosen = chosen.from_(ends.subquery("n", copy=False), copy=False)
    chosen = chosen.where(sql.less(sql.col("first"), sql.col("last")), copy=False)
    by = [sql.col(name) for name in (*columns, _LEVEL, _NODE)]
    best = [sql.alias(total.copy(), name) for name, total in totals]
    query = sql.select(*by, *best).from_(chosen.subquery("b", copy=False), copy=False)
    query = query.where(sql.not_null(sql.col(_NODE)), copy=False)
    return query.group_by(*[column.copy() for column in by], copy=False)


def _odd(name: str) -> Sql:
    return sql.equal(exp.Mod(this=sql.col(name), expression=sql.num(2)), sql.num(1))


def _span(compilation: Compilation) -> Sql:
    """Return the longest that an interval can be."""
    ranks = sql.subtract(sql.parameter("k_to"), sql.parameter("k_from"))
    chunking = compilation.inputs.chunking
    longest = ranks if chunking is None else sql.least(ranks, sql.num(chunking.ranks))
    return sql.greatest(longest, sql.num(1))


def _levels(length: Sql) -> Sql:
    """Return how many levels of nodes fit into an interval; one more does no harm."""
    return sql.cast(sql.add(sql.call("FLOOR", sql.call("LOG2", sql.cast(length, "DOUBLE"))), sql.num(2)), "BIGINT")


def _size() -> Sql:
    return sql.cast(sql.call("POWER", sql.num(2), sql.col(_LEVEL)), "BIGINT")
