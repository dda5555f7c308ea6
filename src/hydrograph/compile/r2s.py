"""Relation to stream: Istream and Dstream as sums of endpoint deltas (S29, S30)."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.program import SortKey
from hydrograph.compile.rank_expansion import at_evaluated_ranks
from hydrograph.compile.relation import Always, RankInterval, Relation
from hydrograph.compile.sql import Sql


def stamp_answer(compilation: Compilation, inner: Relation, order: tuple[SortKey, ...] = ()) -> Relation:
    """Return rows stamped with ranks: static ones are valid at every rank that is evaluated."""
    keyed = compilation.inputs.keys or compilation.ranked is not None
    if isinstance(inner.validity, Always) and keyed and not order:
        return at_evaluated_ranks(compilation, inner)
    columns = [sql.col(name) for name in (*inner.all_columns(), *(key.column for key in order))]
    if isinstance(inner.validity, Always):
        columns += [sql.alias(_first(compilation), "lo"), sql.alias(compilation.rank_behind(), "hi")]
        inner = replace(inner, validity=compilation.ranks())
    return compilation.step(inner, sql.from_(sql.select(*columns), inner.name), "answer")


def _first(compilation: Compilation) -> Sql:
    return sql.parameter("k_from") if compilation.ranked is None else sql.cast(sql.num(0), "BIGINT")


def stream_differences(
    compilation: Compilation, inner: Relation, operator: StreamOperator, *, as_set: bool
) -> Relation:
    """Return each row that enters (Istream) or leaves (Dstream) at report `r`, `m` times.

    "Emit rows at their start" would be wrong: a row that ends where an equal one begins must cancel. The chunk is no
    key here, because rows were cut at its borders and have to cancel across them.
    """
    assert isinstance(inner.validity, RankInterval)
    keys = tuple(key for key in inner.keys if key != "chunk")
    names = [*keys, *(name for variable in inner.layouts for name in inner.columns(variable))]
    signs = exp.Explode(this=exp.Array(expressions=[sql.num(1), sql.num(-1)]))
    stamps = [sql.col(name) for name in inner.validity.columns]
    signed = sql.from_(sql.select(*[sql.col(name) for name in names], *stamps, sql.alias(signs, "d")), inner.name)
    at = sql.when(
        (sql.equal(sql.col("d"), sql.num(1)), sql.col(inner.validity.lo)), otherwise=sql.col(inner.validity.hi)
    )
    columns = [sql.col(name) for name in names]
    deltas = sql.select(*columns, sql.alias(at, "r"), sql.col("d")).from_(signed.subquery("x", copy=False), copy=False)
    by = [*[column.copy() for column in columns], sql.col("r")]
    net = sql.select(*columns, sql.col("r"), sql.alias(exp.Sum(this=sql.col("d")), "m"))
    net = net.from_(deltas.subquery("y", copy=False), copy=False).group_by(*by, copy=False)
    entering = operator is StreamOperator.ISTREAM
    if as_set:
        query = _set_changes(net, names, entering=entering)
    else:
        amount = sql.col("m") if entering else exp.Neg(this=sql.col("m"))
        query = sql.select(*columns, sql.col("r"), sql.alias(sql.cast(amount, "BIGINT"), "m")).from_(
            net.subquery("z", copy=False), copy=False
        )
        changed = sql.more(sql.col("m"), sql.num(0)) if entering else sql.less(sql.col("m"), sql.num(0))
        query = query.where(changed, copy=False)
    within = [sql.less(sql.col("r"), compilation.rank_behind())]
    if compilation.ranked is None:
        within.append(sql.at_least(sql.col("r"), sql.parameter("r_from")))
    query = query.where(*within, copy=False)
    relation = Relation(inner.name, inner.layouts, inner.certain, keys, Always(), inner.names)
    return compilation.step(relation, query, operator.value)


def _set_changes(net: exp.Select, names: list[str], *, entering: bool) -> exp.Select:
    """Return the rows whose multiplicity leaves zero, or falls to it."""
    identity = [sql.col(name) for name in names] or [sql.num(0)]
    total = sql.window(exp.Sum(this=sql.col("m")), identity, [sql.col("r")], running=True)
    columns = [sql.col(name) for name in names]
    counted = sql.select(*columns, sql.col("r"), sql.col("m"), sql.alias(total, "c")).from_(
        net.subquery("n", copy=False), copy=False
    )
    before = sql.subtract(sql.col("c"), sql.col("m"))
    zero = sql.num(0)
    if entering:
        changed = [sql.equal(before, zero), sql.more(sql.col("c"), zero.copy())]
    else:
        changed = [sql.more(before, zero), sql.equal(sql.col("c"), zero.copy())]
    return (
        sql.select(*columns, sql.col("r"), sql.alias(sql.num(1), "m"))
        .from_(counted.subquery("s", copy=False), copy=False)
        .where(*changed, copy=False)
    )
