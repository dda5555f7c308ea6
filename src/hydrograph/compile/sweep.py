"""S25: the totals of groups on every segment, by sweep where they can be undone exactly, else rank by rank.

Sweep: each row adds its values at `lo` and takes them back at `hi`; running sums give the totals on every segment. Its
cost does not depend on how much windows overlap. Counts and sums of integers and decimals are exact and so can be
undone; sums of doubles are not exact, and MIN and MAX can't be undone.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.accumulators import Accumulator
from hydrograph.compile.distinct import covered_before
from hydrograph.compile.relation import Ranks, Relation
from hydrograph.compile.sql import Sql

PRESENT = "present"
"""The column that is 1 in a row of the group, 0 in one that is there for a group of nothing."""


@dataclass(frozen=True, slots=True)
class Work:
    """A group while it is compiled: its columns and its accumulators."""

    hidden: list[str]
    keys: list[str]
    accumulators: list[Accumulator]
    repeats: dict[str, list[str]]
    implicit: bool

    @property
    def columns(self) -> list[str]:
        """What tells groups apart."""
        return [*self.hidden, *self.keys]

    @property
    def inputs(self) -> list[tuple[str, Sql]]:
        """What the accumulators take from each row."""
        return [pair for each in self.accumulators for pair in each.inputs]

    @property
    def totals(self) -> list[tuple[str, Sql]]:
        """What is added up, the number of rows first."""
        rows: tuple[str, Sql] = (PRESENT, exp.Sum(this=sql.col(PRESENT)))
        return [rows, *(pair for each in self.accumulators for pair in each.totals)]


def swept(rows: exp.Query, inner: Relation, work: Work) -> exp.Select:
    """Return the totals on every segment."""
    if not work.repeats and all(each.additive for each in work.accumulators):
        return _sweep(rows, inner, work)
    return _spread(rows, inner, work)


def marked_rows(rows: exp.Query, inner: Relation, work: Work, instant: list[str]) -> exp.Select:
    """Return the rows with the accumulators' inputs; repeated terms of DISTINCT are marked first."""
    source = rows
    if work.repeats:
        flags = []
        for flag, names in work.repeats.items():
            within = [sql.col(name) for name in (*work.columns, *instant, PRESENT, *names)]
            number = sql.window(exp.RowNumber(), within, [sql.col(PRESENT)])
            flags.append(sql.alias(sql.equal(number, exp.Literal.number(1)), flag))
        source = exp.Select(expressions=[exp.Star(), *flags]).from_(rows.subquery("r", copy=False), copy=False)
    del inner
    kept = [sql.col(name) for name in (*work.columns, *instant, PRESENT)]
    inputs = [sql.alias(value, name) for name, value in work.inputs if name != PRESENT]
    return sql.select(*kept, *inputs).from_(source.subquery("i", copy=False), copy=False)


def plain(rows: exp.Select, work: Work, *, is_global: bool) -> exp.Select:
    """Return the totals of static rows, which hold at every instant."""
    columns = [sql.col(name) for name in work.columns]
    totals = [sql.alias(_zero(name, total), name) for name, total in work.totals]
    query = sql.select(*columns, *totals).from_(rows.subquery("s", copy=False), copy=False)
    if is_global:
        return query
    # Without a column to group by SQL would give a row for nothing.
    query = query.group_by(*columns or [sql.col(PRESENT)], copy=False)
    return query if columns else query.where(sql.TRUE.copy(), copy=False)


def _zero(name: str, total: Sql) -> Sql:
    """Return a sum that is 0 over nothing, as SPARQL's is."""
    del name
    return sql.coalesce(total, sql.num(0)) if isinstance(total, exp.Sum | sql.SafeSum) else total


def _spread(rows: exp.Query, inner: Relation, work: Work) -> exp.Select:
    """Return the totals on every segment where some can't be undone, or are over distinct terms.

    Every row stands at the points where it begins and ends. Sums are swept as ever; of equal terms each begins where
    those before it end, so that it counts once. Rows with a term that can't be taken back, such as a double in a sum,
    stand at every rank in between as well, so that their segments are single ranks and are totalled there alone.
    """
    validity = inner.validity
    assert isinstance(validity, Ranks)
    lo, hi = validity.columns
    marked = _begun(rows, work, validity)
    starts = [sql.col(f"{flag}_lo") for flag in work.repeats]
    inputs = [name for name, _ in work.inputs if name != PRESENT]
    every = sql.any_of([each.spread.copy() for each in work.accumulators if each.spread is not None])
    at = sql.Points(this=sql.col(lo), to=sql.col(hi), every=every, expressions=[sql.col(lo), *starts, sql.col(hi)])
    carried = [*work.columns, lo, hi, PRESENT, *inputs, *(f"{flag}_lo" for flag in work.repeats), *work.repeats]
    pointed = sql.select(*[sql.col(name) for name in carried], sql.alias(at, "p"))
    pointed = pointed.from_(marked.subquery("m", copy=False), copy=False)
    firsts = {name: each.first for each in work.accumulators for name, _ in each.totals}
    totals = dict(work.totals)
    values = [sql.alias(_at_point(name, total, firsts.get(name), validity), name) for name, total in totals.items()]
    deltas = sql.select(*[sql.col(name) for name in (*work.columns, "p")], *values)
    deltas = deltas.from_(pointed.subquery("d", copy=False), copy=False)
    by = [sql.col(name) for name in (*work.columns, "p")]
    sums = [sql.alias(total.copy(), name) for name, total in totals.items()]
    points = sql.select(*by, *sums).from_(deltas.subquery("q", copy=False), copy=False)
    points = points.group_by(*[column.copy() for column in by], copy=False)
    return _segments(points, work, validity, [name for name, total in totals.items() if _is_sum(total)])


def _is_sum(total: Sql) -> bool:
    return isinstance(total, exp.Sum | sql.SafeSum)


def _at_point(name: str, total: Sql, first: str | None, validity: Ranks) -> Sql:
    """Return what a row adds to a total at point `p`: its value where it begins, less where it ends; or at ranks."""
    point, value = sql.col("p"), sql.col(name)
    start = sql.col(validity.lo) if first is None else sql.col(f"{first}_lo")
    cases: list[tuple[Sql, Sql]] = []
    if _is_sum(total):
        if first is not None:
            cases.append((sql.negate(sql.col(first)), sql.num(0)))
        cases.append((sql.equal(point, start), value))
        cases.append((sql.equal(point.copy(), sql.col(validity.hi)), exp.Neg(this=value.copy())))
        return sql.when(*cases, otherwise=sql.num(0))
    inside = [sql.at_least(point, start), sql.less(point.copy(), sql.col(validity.hi))]
    return sql.when((sql.all_of([*inside, *([sql.col(first)] if first is not None else [])]), value))


def _begun(rows: exp.Query, work: Work, validity: Ranks) -> exp.Select:
    """Return the rows with the accumulators' inputs, and for each DISTINCT where a term begins that was not there."""
    lo, hi = validity.columns
    source = rows
    if work.repeats:
        cuts = []
        for flag, names in work.repeats.items():
            within = [sql.col(name) for name in (*work.columns, PRESENT, *names)]
            covered = sql.coalesce(covered_before(within, lo, hi), sql.col(lo))
            cuts.append(sql.alias(sql.greatest(sql.col(lo), covered), f"{flag}_cut"))
        cut = exp.Select(expressions=[exp.Star(), *cuts]).from_(rows.subquery("r", copy=False), copy=False)
        flags: list[Sql] = []
        for flag in work.repeats:
            begins = sql.less(sql.col(f"{flag}_cut"), sql.col(hi))
            flags.append(sql.alias(begins, flag))
            flags.append(
                sql.alias(sql.when((begins.copy(), sql.col(f"{flag}_cut")), otherwise=sql.col(lo)), f"{flag}_lo")
            )
        source = exp.Select(expressions=[exp.Star(), *flags]).from_(cut.subquery("k", copy=False), copy=False)
    names = [*work.columns, lo, hi, PRESENT]
    names += [name for flag in work.repeats for name in (flag, f"{flag}_lo")]
    inputs = [sql.alias(value, name) for name, value in work.inputs if name != PRESENT]
    return sql.select(*[sql.col(name) for name in names], *inputs).from_(source.subquery("i", copy=False), copy=False)


def _sweep(rows: exp.Query, inner: Relation, work: Work) -> exp.Select:
    """Return the totals on every segment between two endpoints of the group."""
    validity = inner.validity
    assert isinstance(validity, Ranks)
    totals = [name for name, _ in work.totals]
    decimals = {name for name, total in work.totals if isinstance(total, sql.SafeSum)}
    marked = marked_rows(rows, inner, work, list(validity.columns))

    def added(query: exp.Query, by: list[str], name: str) -> exp.Select:
        columns = [sql.col(column) for column in by]
        sums = [sql.alias(_added(total, decimals), total) for total in totals]
        return (
            sql.select(*columns, *sums)
            .from_(query.subquery(name, copy=False), copy=False)
            .group_by(*columns, copy=False)
        )

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
    return _segments(points, work, validity, totals)


def _segments(points: exp.Select, work: Work, validity: Ranks, summed: list[str]) -> exp.Select:
    """Return the segments between points: sums run on from point to point, other totals belong to their point."""
    totals = dict(work.totals)
    decimals = {name for name, total in totals.items() if isinstance(total, sql.SafeSum)}
    partition = [sql.col(name) for name in work.columns] or [sql.num(0)]
    running = []
    for name in totals:
        value = sql.col(name)
        if name in summed:
            value = sql.window(_added(name, decimals), partition, [sql.col("p")], running=True)
        running.append(sql.alias(value, name))
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
    return query if work.implicit else query.where(sql.more(sql.col(PRESENT), sql.num(0)), copy=False)


def _added(name: str, decimals: set[str]) -> Sql:
    return sql.SafeSum(this=sql.col(name)) if name in decimals else exp.Sum(this=sql.col(name))
