"""S21: DISTINCT makes the intervals of equal rows disjoint; SQL's DISTINCT on intervals would not."""

from __future__ import annotations

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.context import Compilation
from hydrograph.compile.relation import Always, Encoded, Part, Relation
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable


def identity_columns(relation: Relation, variable: Variable) -> list[str]:
    """Return the columns that tell two terms of a variable apart."""
    form = relation.forms[variable]
    return [relation.column(variable, Part.ID)] if isinstance(form, Encoded) else relation.columns(variable)


def distinct(compilation: Compilation, inner: Relation) -> Relation:
    """Return each mapping once at every instant: later rows are cut at what earlier ones cover (S19.2)."""
    columns = [sql.col(name) for name in inner.all_columns()]
    if isinstance(inner.validity, Always):
        query = sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), inner.name).distinct()
        return compilation.step(inner, query, "distinct")
    lo, hi = inner.validity.lo, inner.validity.hi
    identity = [sql.col(name) for variable in inner.forms for name in identity_columns(inner, variable)]
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
