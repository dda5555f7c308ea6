"""DISTINCT and UNION.

DISTINCT makes the intervals of equal rows disjoint (S21); SQL's DISTINCT would only remove equal intervals. UNION
brings both sides to the same columns.
"""

from __future__ import annotations

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.rank_expansion import match_validity
from hydrograph.compile.relation import (
    Always,
    Demand,
    EncodedLayout,
    Part,
    Parts,
    Relation,
    TermLayout,
    layout_types,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable


def identity_columns(relation: Relation, variable: Variable) -> list[str]:
    """Return the columns that tell two terms of a variable apart."""
    layout = relation.layouts[variable]
    return [relation.column(variable, Part.ID)] if isinstance(layout, EncodedLayout) else relation.columns(variable)


def distinct(compilation: Compilation, inner: Relation) -> Relation:
    """Return each mapping once at every instant: later rows are cut at what earlier ones cover (S19.2)."""
    columns = [sql.col(name) for name in inner.all_columns()]
    if isinstance(inner.validity, Always):
        query = sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), inner.name).distinct()
        return compilation.step(inner, query, "distinct")
    lo, hi = inner.validity.lo, inner.validity.hi
    identity = [sql.col(name) for variable in inner.layouts for name in identity_columns(inner, variable)]
    identity += [sql.col(key) for key in inner.keys]  # behind an id, which sorts faster
    covered = covered_before(identity, lo, hi)
    start = sql.greatest(sql.col(lo), sql.coalesce(covered, sql.col(lo)))
    kept = [name for name in inner.all_columns() if name != lo]
    cut = sql.from_(sql.select(*[sql.col(name) for name in kept], sql.alias(start, lo)), inner.name)
    outer = (
        sql.select(*columns)
        .from_(cut.subquery("c", copy=False), copy=False)
        .where(sql.less(sql.col(lo), sql.col(hi)), copy=False)
    )
    return compilation.step(inner, outer, "distinct")


def covered_before(identity: list[Sql], lo: str, hi: str) -> Sql:
    """Return the greatest end among the earlier rows of the same identity; NULL for the first."""
    frame = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="1", end_side="PRECEDING")
    ordered = [exp.Ordered(this=sql.col(name), nulls_first=True) for name in (lo, hi)]
    return exp.Window(
        this=exp.Max(this=sql.col(hi)),
        partition_by=identity or [sql.num(0)],
        order=exp.Order(expressions=ordered),
        spec=frame,
    )


def union(compilation: Compilation, left: Relation, right: Relation, demand: Demand) -> Relation:
    """Return the rows of both; where one side does not bind a variable it is unbound.

    Static rows beside rows of a window are given the evaluated ranks, cut into chunks like all others.
    """
    left, right = match_validity(compilation, left, right), match_validity(compilation, right, left)
    assert frozenset(left.keys) == frozenset(right.keys), "both sides carry the hidden keys of their scope"
    layouts = {
        variable: _common(left, right, variable, demand.get(variable, frozenset()))
        for variable in dict.fromkeys((*left.layouts, *right.layouts))
    }
    names = {variable: compilation.stem(variable) for variable in layouts}
    result = Relation(left.name, layouts, left.certain & right.certain, left.keys, left.validity, names)
    query = exp.union(_side(left, result), _side(right, result), distinct=False, copy=False)
    return compilation.step(result, query, "union")


def _common(left: Relation, right: Relation, variable: Variable, wanted: Parts) -> TermLayout:
    """Return the layout in which both sides can give the variable."""
    layouts = {side.layouts[variable] for side in (left, right) if variable in side.layouts}
    layout = next(iter(layouts))
    return layout if wanted and len(layouts) == 1 and not isinstance(layout, EncodedLayout) else EncodedLayout(wanted)


def _side(side: Relation, result: Relation) -> exp.Select:
    columns: list[Sql] = [sql.col(key) for key in result.keys]
    for variable, layout in result.layouts.items():
        values = _values(side, variable, layout)
        columns += [sql.alias(value, name) for name, value in zip(result.columns(variable), values, strict=True)]
    columns += [sql.col(name) for name in result.validity.columns]
    return sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), side.name)


def _values(side: Relation, variable: Variable, layout: TermLayout) -> list[Sql]:
    if variable not in side.layouts:
        return [sql.cast(sql.NULL.copy(), kind) for kind in layout_types(layout).values()]
    if side.layouts[variable] == layout:
        return [sql.col(name) for name in side.columns(variable)]
    assert isinstance(layout, EncodedLayout)
    mine = side.layouts[variable]
    parts = [part for part in Part if part in layout.parts]
    missing = layout.parts - mine.parts if isinstance(mine, EncodedLayout) else frozenset[Part]()
    return [null_part(part) if part in missing else side.part(variable, part) for part in parts]
