"""S25: groups at every instant, by sweep where every total can be undone exactly, else rank by rank.

Sweep: each row adds its values at `lo` and takes them back at `hi`; running sums give the totals on every segment. Its cost
does not depend on how much windows overlap. Counts and sums of integers and decimals are exact and so can be undone; sums
of doubles are not exact, and MIN, MAX and DISTINCT can't be undone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate, Reference
from hydrograph.compile import sql
from hydrograph.compile.accumulators import Accumulator, accumulator, count
from hydrograph.compile.context import Compilation
from hydrograph.compile.distinct import identity_columns
from hydrograph.compile.relation import Always, Demand, Form, Part, Parts, Ranks, Relation, null_part
from hydrograph.compile.sql import Sql
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.terms import Variable

DOMAIN = "domain"
"""The table of the evaluated ranks `[lo, hi)`, one row for each value of the hidden keys."""
_PRESENT = "present"
_SUMMED: Parts = frozenset({Part.ID, Part.KIND, Part.NUMBER, Part.DECIMAL})


@dataclass(frozen=True, slots=True)
class Grouping:
    """A GROUP BY to be compiled."""

    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    implicit: bool


def group_demand(grouping: Grouping, demand: Demand) -> dict[Variable, Parts]:
    """Return what a group reads of its input."""
    wanted = {key: frozenset({Part.ID}) | demand.get(key, frozenset()) for key in grouping.keys}
    for _, aggregate in grouping.aggregates:
        argument = _argument(aggregate)
        if argument is not None:
            wanted[argument] = wanted.get(argument, frozenset()) | _reads(aggregate)
    return wanted


def _reads(aggregate: Aggregate) -> Parts:
    match aggregate.name:
        case "COUNT" | "SAMPLE" | "GROUP_CONCAT":
            return frozenset({Part.ID})
        case "SUM" | "AVG":
            return _SUMMED
        case "MIN" | "MAX":
            return frozenset(Part)


def _argument(aggregate: Aggregate) -> Variable | None:
    match aggregate.argument:
        case None:
            return None
        case Reference(variable):
            return variable
        case _:
            raise UnsupportedError(f"{aggregate.name} of an expression is not supported yet")


@dataclass(frozen=True, slots=True)
class _Group:
    """A group while it is compiled: its columns and its accumulators."""

    hidden: list[str]
    keys: list[str]
    accumulators: list[Accumulator]
    implicit: bool

    @property
    def columns(self) -> list[str]:
        return [*self.hidden, *self.keys]

    @property
    def inputs(self) -> list[tuple[str, Sql]]:
        return [pair for each in self.accumulators for pair in each.inputs]

    @property
    def totals(self) -> list[tuple[str, Sql]]:
        rows: tuple[str, Sql] = (_PRESENT, exp.Sum(this=sql.col(_PRESENT)))
        return [rows, *(pair for each in self.accumulators for pair in each.totals)]


def group(compilation: Compilation, inner: Relation, grouping: Grouping) -> Relation:
    """Return the groups and their aggregates at every instant; a group of nothing only where none was written."""
    exact = compilation.inputs.exact_numbers
    accumulators = {
        output: _accumulate(compilation, inner, output, aggregate, exact=exact)
        for output, aggregate in grouping.aggregates
    }
    keys = [key for key in grouping.keys if key in inner.forms]
    forms: dict[Variable, Form] = {key: inner.forms[key] for key in keys}
    forms |= {output: each.form for output, each in accumulators.items()}
    work = _Group(
        list(inner.keys),
        [name for key in keys for name in inner.columns(key)],
        list(accumulators.values()),
        implicit=grouping.implicit,
    )
    distinct = {
        argument
        for _, aggregate in grouping.aggregates
        if aggregate.distinct and (argument := _argument(aggregate)) is not None
    }
    query = _totals(compilation, inner, work, distinct)
    totals = compilation.let(query, "group")
    outputs = [column for each in accumulators.values() for column in each.outputs]
    columns = [sql.col(name) for name in work.columns]
    stamps = [sql.col(name) for name in inner.validity.columns]
    final = sql.from_(sql.select(*columns, *outputs, *stamps), totals)
    counts = {output for output, aggregate in grouping.aggregates if aggregate.name == "COUNT"}
    certain = frozenset(key for key in keys if key in inner.certain) | counts
    names = {variable: compilation.stem(variable) for variable in forms}
    relation = Relation(totals, forms, certain, inner.keys, inner.validity, names)
    return compilation.step(relation, final, "aggregate")


def _accumulate(
    compilation: Compilation, inner: Relation, output: Variable, aggregate: Aggregate, *, exact: bool
) -> Accumulator:
    argument = _argument(aggregate)
    stem = compilation.stem(output)
    if argument is None:
        if aggregate.distinct:
            raise UnsupportedError("COUNT(DISTINCT *) is not supported yet")
        return count(stem, sql.col(_PRESENT))

    def part(wanted: Part) -> Sql:
        if argument not in inner.forms:
            return null_part(wanted)
        value = inner.part(argument, wanted)
        # Of equal terms at one rank only the first counts; the others look unbound.
        return sql.when((sql.col(_first(inner, argument)), value)) if aggregate.distinct else value

    return accumulator(aggregate, stem, part, exact=exact)


def _first(inner: Relation, argument: Variable) -> str:
    return f"{inner.names[argument]}_first"


def _totals(compilation: Compilation, inner: Relation, work: _Group, distinct: set[Variable]) -> exp.Select:
    rows = _rows(compilation, inner, work)
    if isinstance(inner.validity, Always):
        return _plain(_marked(rows, inner, work, distinct, []), work)
    if not distinct and all(each.additive for each in work.accumulators):
        return _sweep(rows, inner, work)
    return _by_rank(rows, inner, work, distinct)


def _rows(compilation: Compilation, inner: Relation, work: _Group) -> exp.Query:
    """Return the input rows, each marked present; a group of nothing gets its ranks from the domain."""
    names = inner.all_columns()
    rows = sql.from_(sql.select(*[sql.col(name) for name in names], sql.alias(sql.num(1), _PRESENT)), inner.name)
    if not work.implicit or isinstance(inner.validity, Always):
        return rows
    compilation.reads_domain = True
    given = {*inner.keys, *inner.validity.columns}
    nothing = [sql.col(name) if name in given else sql.alias(_null_of(inner, name), name) for name in names]
    empty = sql.from_(sql.select(*nothing, sql.alias(sql.num(0), _PRESENT)), DOMAIN)
    return exp.union(rows, empty, distinct=False)


def _null_of(inner: Relation, column: str) -> Sql:
    for variable in inner.forms:
        for part in Part:
            if column in inner.columns(variable) and column == inner.column(variable, part):
                return null_part(part)
    return sql.cast(sql.NULL.copy(), "BIGINT")


def _marked(rows: exp.Query, inner: Relation, work: _Group, distinct: set[Variable], instant: list[str]) -> exp.Select:
    """Return the rows with the accumulators' inputs; repeated terms of DISTINCT are marked first."""
    source = rows
    if distinct:
        flags = []
        for variable in sorted(distinct):
            within = [sql.col(name) for name in (*work.columns, *instant, *identity_columns(inner, variable))]
            number = sql.window(exp.RowNumber(), within, [sql.col(_PRESENT)])
            flags.append(sql.alias(sql.equal(number, exp.Literal.number(1)), _first(inner, variable)))
        source = exp.Select(expressions=[exp.Star(), *flags]).from_(rows.subquery("r", copy=False), copy=False)
    kept = [sql.col(name) for name in (*work.columns, *instant, _PRESENT)]
    inputs = [sql.alias(value, name) for name, value in work.inputs if name != _PRESENT]
    return sql.select(*kept, *inputs).from_(source.subquery("i", copy=False), copy=False)


def _plain(rows: exp.Select, work: _Group) -> exp.Select:
    """Return the totals of static rows, which hold at every instant."""
    columns = [sql.col(name) for name in work.columns]
    totals = [sql.alias(_zero(name, total), name) for name, total in work.totals]
    query = sql.select(*columns, *totals).from_(rows.subquery("s", copy=False), copy=False)
    return query.group_by(*columns, copy=False) if columns else query


def _zero(name: str, total: Sql) -> Sql:
    """Return a sum that is 0 over nothing, as SPARQL's is."""
    del name
    return sql.coalesce(total, sql.num(0)) if isinstance(total, exp.Sum | sql.SafeSum) else total


def _by_rank(rows: exp.Query, inner: Relation, work: _Group, distinct: set[Variable]) -> exp.Select:
    """Return the totals rank by rank: every row once for each rank at which it is valid."""
    validity = inner.validity
    assert isinstance(validity, Ranks)
    ranks = sql.RankRange(this=sql.col(validity.lo), expression=sql.col(validity.hi))
    kept = [name for name in inner.all_columns() if name not in validity.columns]
    spread = sql.select(*[sql.col(name) for name in kept], sql.col(_PRESENT), sql.alias(ranks, "k"))
    marked = _marked(spread.from_(rows.subquery("x", copy=False), copy=False), inner, work, distinct, ["k"])
    columns = [sql.col(name) for name in (*work.columns, "k")]
    totals = [sql.alias(_zero(name, total), name) for name, total in work.totals]
    grouped = (
        sql.select(*columns, *totals).from_(marked.subquery("g", copy=False), copy=False).group_by(*columns, copy=False)
    )
    names = [*work.columns, *(name for name, _ in work.totals)]
    stamps = [
        sql.alias(sql.col("k"), validity.lo),
        sql.alias(sql.add(sql.col("k"), sql.num(1)), validity.hi),
    ]
    return sql.select(*[sql.col(name) for name in names], *stamps).from_(grouped.subquery("t", copy=False), copy=False)


def _sweep(rows: exp.Query, inner: Relation, work: _Group) -> exp.Select:
    """Return the totals on every segment between two endpoints of the group."""
    validity = inner.validity
    assert isinstance(validity, Ranks)
    totals = [name for name, _ in work.totals]
    decimals = {name for name, total in work.totals if isinstance(total, sql.SafeSum)}
    marked = _marked(rows, inner, work, set(), list(validity.columns))

    def added(query: exp.Query, by: list[str], name: str) -> exp.Select:
        columns = [sql.col(column) for column in by]
        sums = [sql.alias(_added(total, decimals), total) for total in totals]
        return sql.select(*columns, *sums).from_(query.subquery(name)).group_by(*columns, copy=False)

    # Rows of one group with the same interval first become one: most of the work of dense groups ends here.
    merged = added(marked, [*work.columns, *validity.columns], "m")
    signs = exp.Explode(this=exp.Array(expressions=[sql.num(1), sql.num(-1)]))
    signed = sql.select(exp.Star(), sql.alias(signs, "sign")).from_(merged.subquery("e", copy=False), copy=False)
    first = sql.equal(sql.col("sign"), sql.num(1))
    point = sql.when((first, sql.col(validity.lo)), otherwise=sql.col(validity.hi))
    deltas = sql.select(
        *[sql.col(name) for name in work.columns],
        sql.alias(point, "p"),
        *[sql.alias(sql.when((first.copy(), sql.col(n)), otherwise=exp.Neg(this=sql.col(n))), n) for n in totals],
    ).from_(signed.subquery("d", copy=False), copy=False)
    points = added(deltas, [*work.columns, "p"], "p")
    partition = [sql.col(name) for name in work.columns] or [sql.num(0)]
    running = [
        sql.alias(sql.window(_added(name, decimals), partition, [sql.col("p")], running=True), name) for name in totals
    ]
    following = sql.window(exp.Lead(this=sql.col("p")), partition, [sql.col("p")])
    segments = sql.select(
        *[sql.col(name) for name in work.columns],
        sql.alias(sql.col("p"), validity.lo),
        sql.alias(following, validity.hi),
        *running,
    ).from_(points.subquery("s", copy=False), copy=False)
    names = [*work.columns, *totals, *validity.columns]
    query = sql.select(*[sql.col(name) for name in names]).from_(segments.subquery("t", copy=False), copy=False)
    query = query.where(sql.not_null(sql.col(validity.hi)), copy=False)
    return query if work.implicit else query.where(sql.more(sql.col(_PRESENT), sql.num(0)), copy=False)


def _added(name: str, decimals: set[str]) -> Sql:
    return sql.SafeSum(this=sql.col(name)) if name in decimals else exp.Sum(this=sql.col(name))
