"""S26: ORDER BY, LIMIT and OFFSET at every instant; ties are broken by all columns in the order of terms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.algebra.nodes import Distinct, Order, OrderBy, Pattern, Project, Reduced, Slice
from hydrograph.compile import sql
from hydrograph.compile.accumulators import flag
from hydrograph.compile.context import Compilation
from hydrograph.compile.distinct import identity_columns
from hydrograph.compile.order import term_order
from hydrograph.compile.program import SortKey
from hydrograph.compile.projection import columns
from hydrograph.compile.relation import Always, Part, Ranks, Relation
from hydrograph.compile.scope import over_domain
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable

_ORDINAL = "ord"
_FIRST = "first"


@dataclass(frozen=True, slots=True)
class Sequenced:
    """What stands around a pattern whose solutions have an order: `Slice(Distinct(Project(OrderBy(inner))))`."""

    inner: Pattern
    order: tuple[Order, ...] = ()
    kept: tuple[Variable, ...] | None = None
    distinct: bool = False
    offset: int = 0
    limit: int | None = None
    sliced: bool = False


def sequenced(pattern: Pattern) -> Sequenced:
    """Take apart what orders and cuts the solutions of a pattern."""
    found = Sequenced(pattern)
    if isinstance(found.inner, Slice):
        cut = found.inner
        found = replace(found, inner=cut.inner, offset=cut.offset, limit=cut.limit, sliced=True)
    if isinstance(found.inner, Distinct | Reduced):
        found = replace(found, inner=found.inner.inner, distinct=True)
    if isinstance(found.inner, Project):
        found = replace(found, inner=found.inner.inner, kept=found.inner.variables)
    if isinstance(found.inner, OrderBy):
        found = replace(found, inner=found.inner.inner, order=found.inner.conditions)
    return found


def at_ranks(compilation: Compilation, rows: Relation) -> Relation:
    """Return every row once for each rank at which it is valid."""
    if not isinstance(rows.validity, Ranks):
        return rows
    lo, hi = rows.validity.columns
    kept = [sql.col(name) for name in rows.all_columns() if name not in (lo, hi)]
    ranks = sql.RankRange(this=sql.col(lo), expression=sql.col(hi))
    spread = sql.from_(sql.select(*kept, sql.alias(ranks, "k")), rows.name)
    query = sql.select(
        *[column.copy() for column in kept],
        sql.alias(sql.col("k"), lo),
        sql.alias(sql.add(sql.col("k"), sql.num(1)), hi),
    ).from_(spread.subquery("s", copy=False), copy=False)
    return compilation.step(rows, query, "ranks")


def by_rank(compilation: Compilation, rows: Relation) -> Relation:
    """Return rows at single ranks, static ones too: for what reads the time of the report (S28)."""
    rows = at_ranks(compilation, over_domain(compilation, rows) if isinstance(rows.validity, Always) else rows)
    if not isinstance(rows.validity, Ranks) or rows.validity.instants is None:
        return rows
    told = [sql.alias(sql.col(name, "i"), f"report_{name}") for name in ("t", "name")]
    query = sql.select(*[sql.alias(sql.col(name, "l"), name) for name in rows.all_columns()], *told)
    same = sql.equal(sql.col(rows.validity.lo, "l"), sql.col("r", "i"))
    query = sql.from_(query, rows.name, "l").join(sql.table(rows.validity.instants, "i"), on=same, copy=False)
    return compilation.step(replace(rows, validity=replace(rows.validity, told=True)), query, "told")


def untold(rows: Relation) -> Relation:
    """Return rows that no longer carry what `by_rank` has told them."""
    if isinstance(rows.validity, Ranks) and rows.validity.told:
        return replace(rows, validity=replace(rows.validity, told=False))
    return rows


def sort_keys(rows: Relation, order: list[tuple[Variable, bool]]) -> list[tuple[Sql, bool]]:
    """Return the sort keys of variables, each with whether it descends; unbound comes first (S26)."""
    keys: list[tuple[Sql, bool]] = []
    for variable, descending in order:
        if variable in rows.forms:
            keys.append((flag(sql.not_null(rows.part(variable, Part.ID))), descending))
            keys += [(key, descending) for _, key in term_order(lambda part, v=variable: rows.part(v, part))]  # type: ignore[misc]
    return keys


def with_sort_columns(
    compilation: Compilation, rows: Relation, order: list[tuple[Variable, bool]]
) -> tuple[Relation, tuple[SortKey, ...]]:
    """Return the rows with their sort keys as columns behind all others, and the names of these."""
    keys = sort_keys(rows, order)
    names = [f"o{number}" for number in range(len(keys))]
    sorts = [sql.alias(key, name) for name, (key, _) in zip(names, keys, strict=True)]
    query = sql.from_(sql.select(*columns(rows), *sorts), rows.name)
    sorting = tuple(SortKey(name, descending) for name, (_, descending) in zip(names, keys, strict=True))
    return compilation.step(rows, query, "sorted"), sorting


def sliced(
    compilation: Compilation, rows: Relation, order: list[tuple[Variable, bool]], cut: Sequenced
) -> tuple[Relation, tuple[SortKey, ...]]:
    """Return the first rows at every instant, and the column that numbers them.

    `rows` have all parts of the variables to order by. The chunk is no obstacle: a rank lies in one chunk.
    """
    rows = at_ranks(compilation, rows)
    kept = list(rows.forms) if cut.kept is None else [variable for variable in cut.kept if variable in rows.forms]
    ties = [(variable, False) for variable in kept]
    keys = sort_keys(rows, [*order, *ties])
    instant = [*rows.keys, *rows.validity.columns[:1]]
    visible = replace(rows, forms={variable: rows.forms[variable] for variable in kept})
    known = [sql.col(name) for name in visible.all_columns()]
    named = [sql.alias(key, f"o{number}") for number, (key, _) in enumerate(keys)]
    query = sql.from_(sql.select(*columns(visible), *named), rows.name)
    names = [(f"o{number}", descending) for number, (_, descending) in enumerate(keys)]
    if cut.distinct:
        same = [*instant, *(name for variable in kept for name in identity_columns(visible, variable))]
        numbered = sql.select(exp.Star(), sql.alias(_number(same, names), _FIRST))
        query = numbered.from_(query.subquery("f", copy=False), copy=False)
        query = exp.Select(expressions=[exp.Star()]).from_(query.subquery("g", copy=False), copy=False)
        query = query.where(sql.equal(sql.col(_FIRST), sql.num(1)), copy=False)
    ordered = sql.select(*[column.copy() for column in known], sql.alias(_number(instant, names), _ORDINAL))
    ordered = ordered.from_(query.subquery("n", copy=False), copy=False)
    tests = [sql.more(sql.col(_ORDINAL), sql.num(cut.offset))] if cut.offset else []
    if cut.limit is not None:
        tests.append(exp.LTE(this=sql.col(_ORDINAL), expression=sql.num(cut.offset + cut.limit)))
    result = sql.select(*[column.copy() for column in known], sql.col(_ORDINAL))
    result = result.from_(ordered.subquery("h", copy=False), copy=False).where(*tests, copy=False)
    certain = visible.certain & frozenset(kept)
    return compilation.step(replace(visible, certain=certain), result, "slice"), (SortKey(_ORDINAL),)


def _number(partition: list[str], keys: list[tuple[str, bool]]) -> Sql:
    ordered = [exp.Ordered(this=sql.col(name), desc=descending, nulls_first=True) for name, descending in keys]
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[sql.col(name) for name in partition] or [sql.num(0)],
        order=exp.Order(expressions=ordered or [exp.Ordered(this=sql.num(0), nulls_first=True)]),
    )
