"""GROUP BY at every instant (S25).

Totals are computed for segments of ranks, in one of three ways:

- Sweep: each row adds its values at `lo` and subtracts them at `hi`; running sums give the total of every segment. The
  cost does not depend on how much windows overlap. Counts and sums of integers and decimals are exact, so that they can
  be subtracted.
- Rank by rank: sums of doubles are not exact, and a MIN or MAX cannot be subtracted. Rows with such terms are totalled
  at each rank of their interval.
- Dyadic cover: MIN and MAX where windows overlap much. The ranks form a binary tree: node i of level j covers the ranks
  from i * 2^j to (i + 1) * 2^j. An interval is the union of at most two nodes of each level, and a segment finds
  the rows that are valid in it at the nodes above its first rank. So a row costs the logarithm of its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate, Reference
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.aggregates import Accumulator, Argument, accumulator, concat_accumulator, count_accumulator
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.program import Materialize, select_all
from hydrograph.compile.rank_expansion import at_evaluated_ranks
from hydrograph.compile.relation import (
    Always,
    Demand,
    Part,
    Parts,
    RankInterval,
    Relation,
    TermLayout,
    layout_types,
    null_part,
)
from hydrograph.compile.scope import Scope, scope_keys
from hydrograph.compile.set_operators import covered_before, identity_columns
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable

SMALL_OVERLAP = 16
"""Up to here looking at every rank costs less."""
UNKNOWN_OVERLAP = 1_000
"""With reports at every change of content an element is seen at as many as there are others in its window."""
_LEVEL, _NODE, _SIZE = "level", "node", "size"


def windows_per_event(compilation: Compilation) -> int:
    """Return in how many windows an event lies at most, or a guess where the reports form no grid."""
    grids = [window.grid for window in compilation.inputs.windows.values()]
    return max((UNKNOWN_OVERLAP if grid is None else -(-grid.width // grid.step) for grid in grids), default=1)


def is_extreme(accumulator: Accumulator) -> bool:
    """Tell whether an aggregate is a MIN or MAX, as SAMPLE is."""
    return any(isinstance(total, exp.Min | exp.Max) for _, total in accumulator.totals)


def without_extremes(accumulator: Accumulator) -> Accumulator:
    """Return what of an aggregate can be swept: the number of its errors."""
    summed = {name for name, total in accumulator.totals if isinstance(total, exp.Sum | nodes.SafeSum)}
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
    validity: RankInterval,
) -> exp.Select:
    """Return the segments of groups with their least and greatest terms; `carried` are the totals they have already."""
    inputs = [pair for each in accumulators for pair in each.inputs if pair[0] not in carried]
    totals = [pair for each in accumulators for pair in each.totals if pair[0] not in carried]
    cover = compilation.let(_nodes(rows, columns, inputs, totals, validity), "nodes")
    lo, hi = validity.columns
    known = [*columns, lo, hi, *carried]
    levels = nodes.RankRange(this=sql.cast(sql.num(0), "BIGINT"), expression=_levels(_span(compilation)))
    above = sql.from_(sql.select(*map(sql.col, known), sql.alias(levels, _LEVEL)), segments)
    sized = sql.select(*map(sql.col, known), sql.col(_LEVEL), sql.alias(_size(), _SIZE))
    sized = sized.from_(above.subquery("a", copy=False), copy=False)
    node = nodes.FloorDivide(this=sql.col(lo), expression=sql.col(_SIZE))
    found = sql.select(*map(sql.col, known), sql.col(_LEVEL), sql.alias(node, _NODE))
    found = found.from_(sized.subquery("z", copy=False), copy=False)
    same: list[Sql] = [sql.equal(sql.col(name, "l"), sql.col(name, "r")) for name in (_LEVEL, _NODE)]
    same += [exp.NullSafeEQ(this=sql.col(name, "l"), expression=sql.col(name, "r")) for name in columns]
    by = [sql.col(name, "l") for name in known]
    best = [sql.alias(type(total)(this=sql.col(name, "r")), name) for name, total in totals]
    query = sql.select(*[sql.alias(column.copy(), name) for column, name in zip(by, known, strict=True)], *best)
    query = query.from_(found.subquery("l", copy=False), copy=False).join(
        sql.table(cover, "r"), on=sql.all_of(same), join_type="left", copy=False
    )
    return query.group_by(*by, copy=False)


def _nodes(
    rows: str,
    columns: list[str],
    inputs: list[tuple[str, Sql]],
    totals: list[tuple[str, Sql]],
    validity: RankInterval,
) -> exp.Select:
    """Return the least and greatest terms at every node of the rows' covers."""
    lo, hi = validity.columns
    names = [name for name, _ in inputs]
    valued = [sql.alias(value.copy(), name) for name, value in inputs]
    length = sql.subtract(sql.col(hi), sql.col(lo))
    levels = nodes.RankRange(this=sql.cast(sql.num(0), "BIGINT"), expression=_levels(length))
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
    first = nodes.FloorDivide(this=up, expression=sql.col(_SIZE))
    last = nodes.FloorDivide(this=sql.col(hi), expression=sql.col(_SIZE))
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


PRESENT = "present"
"""The column that is 1 in a row of the group, 0 in one that is there for a group of nothing."""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """A group while it is compiled: its columns and its accumulators."""

    hidden: list[str]
    keys: list[str]
    accumulators: list[Accumulator]
    repeats: dict[str, list[str]]
    implicit: bool

    @property
    def columns(self) -> list[str]:
        """Columns that identify a group."""
        return [*self.hidden, *self.keys]

    @property
    def inputs(self) -> list[tuple[str, Sql]]:
        """Values that the accumulators take from each row."""
        return [pair for each in self.accumulators for pair in each.inputs]

    @property
    def totals(self) -> list[tuple[str, Sql]]:
        """Totals of the accumulators, after the number of rows."""
        rows: tuple[str, Sql] = (PRESENT, exp.Sum(this=sql.col(PRESENT)))
        return [rows, *(pair for each in self.accumulators for pair in each.totals)]


def interval_totals(rows: exp.Query, inner: Relation, work: GroupPlan) -> exp.Select:
    """Return the totals on every segment."""
    if not work.repeats and all(each.additive for each in work.accumulators):
        return _sweep(rows, inner, work)
    return _spread(rows, inner, work)


def marked_rows(rows: exp.Query, inner: Relation, work: GroupPlan, instant: list[str]) -> exp.Select:
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


def static_totals(rows: exp.Select, work: GroupPlan, *, is_global: bool) -> exp.Select:
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
    return sql.coalesce(total, sql.num(0)) if isinstance(total, exp.Sum | nodes.SafeSum) else total


def _spread(rows: exp.Query, inner: Relation, work: GroupPlan) -> exp.Select:
    """Return the totals on every segment where some cannot be subtracted, or are over distinct terms.

    Every row is repeated at the points where it begins and ends, and sums are swept between the points. Of equal
    terms each begins where those before it end, so that a term counts once. A row with a term that cannot be
    subtracted, such as a double in a sum, is repeated at every rank in between as well: its segments are single ranks.
    """
    validity = inner.validity
    assert isinstance(validity, RankInterval)
    lo, hi = validity.columns
    marked = _begun(rows, work, validity)
    starts = [sql.col(f"{flag}_lo") for flag in work.repeats]
    inputs = [name for name, _ in work.inputs if name != PRESENT]
    every = sql.any_of([each.spread.copy() for each in work.accumulators if each.spread is not None])
    at = nodes.SegmentPoints(
        this=sql.col(lo), to=sql.col(hi), every=every, expressions=[sql.col(lo), *starts, sql.col(hi)]
    )
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
    return isinstance(total, exp.Sum | nodes.SafeSum)


def _at_point(name: str, total: Sql, first: str | None, validity: RankInterval) -> Sql:
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


def _begun(rows: exp.Query, work: GroupPlan, validity: RankInterval) -> exp.Select:
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


def _sweep(rows: exp.Query, inner: Relation, work: GroupPlan) -> exp.Select:
    """Return the totals on every segment between two endpoints of the group."""
    validity = inner.validity
    assert isinstance(validity, RankInterval)
    totals = [name for name, _ in work.totals]
    decimals = {name for name, total in work.totals if isinstance(total, nodes.SafeSum)}
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


def _segments(points: exp.Select, work: GroupPlan, validity: RankInterval, summed: list[str]) -> exp.Select:
    """Return the segments between points: sums run on from point to point, other totals belong to their point."""
    totals = dict(work.totals)
    decimals = {name for name, total in totals.items() if isinstance(total, nodes.SafeSum)}
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
    return nodes.SafeSum(this=sql.col(name)) if name in decimals else exp.Sum(this=sql.col(name))


_ROW_FIRST = "row_first"
_SUMMED: Parts = frozenset({Part.ID, Part.KIND, Part.DECIMAL})


@dataclass(frozen=True, slots=True)
class Grouping:
    """A GROUP BY to be compiled."""

    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    everything: tuple[Variable, ...]
    """The variables that COUNT(DISTINCT *) compares."""
    lexical: Mapping[Variable, Variable]
    """The variables that hold the lexical forms of what GROUP_CONCAT joins."""
    implicit: bool


def group_demand(grouping: Grouping, demand: Demand, *, exact: bool) -> dict[Variable, Parts]:
    """Return what a group reads of its input; `exact` if there are no floats and doubles."""
    wanted = {key: frozenset({Part.ID}) | demand.get(key, frozenset()) for key in grouping.keys}
    for _, aggregate in grouping.aggregates:
        argument = _argument(aggregate)
        if argument is not None:
            wanted[argument] = wanted.get(argument, frozenset()) | _reads(aggregate, exact=exact)
        elif aggregate.distinct:
            wanted |= {each: wanted.get(each, frozenset()) | {Part.ID} for each in grouping.everything}
    for lexical in grouping.lexical.values():
        wanted[lexical] = frozenset({Part.TEXT})
    return wanted


def _reads(aggregate: Aggregate, *, exact: bool) -> Parts:
    match aggregate.name:
        case "COUNT":
            return frozenset({Part.ID})
        case "SUM" | "AVG":
            return _SUMMED if exact else _SUMMED | {Part.NUMBER}
        case "MIN" | "MAX" | "SAMPLE" | "GROUP_CONCAT":
            return frozenset(Part)


def _argument(aggregate: Aggregate) -> Variable | None:
    match aggregate.argument:
        case None:
            return None
        case Reference(variable):
            return variable
        case _:
            raise AssertionError("arguments of aggregates are bound to variables first")


def aggregate_groups(compilation: Compilation, inner: Relation, grouping: Grouping, scope: Scope) -> Relation:
    """Return the groups and their aggregates at every instant; a group of nothing only where none was written."""
    accumulators = {
        output: _accumulate(compilation, inner, output, aggregate, grouping)
        for output, aggregate in grouping.aggregates
    }
    keys = [key for key in grouping.keys if key in inner.layouts]
    layouts: dict[Variable, TermLayout] = {key: inner.layouts[key] for key in keys}
    layouts |= {output: each.layout for output, each in accumulators.items()}
    work = GroupPlan(
        list(inner.keys),
        [name for key in keys for name in inner.columns(key)],
        list(accumulators.values()),
        _repeats(inner, grouping),
        implicit=grouping.implicit,
    )
    rows, is_global = group_input(compilation, inner, work, scope)
    query = _totals(compilation, rows, inner, work, is_global=is_global)
    totals = compilation.let(query, "group")
    outputs = [column for each in accumulators.values() for column in each.outputs]
    columns = [sql.col(name) for name in work.columns]
    stamps = [sql.col(name) for name in inner.validity.columns]
    final = sql.from_(sql.select(*[*columns, *outputs, *stamps] or [sql.alias(sql.num(1), "one")]), totals)
    counts = {output for output, aggregate in grouping.aggregates if aggregate.name == "COUNT"}
    certain = frozenset(key for key in keys if key in inner.certain) | counts
    names = {variable: compilation.stem(variable) for variable in layouts} | {key: inner.names[key] for key in keys}
    relation = Relation(totals, layouts, certain, inner.keys, inner.validity, names)
    return compilation.step(relation, final, "aggregate")


def _repeats(inner: Relation, grouping: Grouping) -> dict[str, list[str]]:
    """Return, for each DISTINCT, the flag of a first occurrence and the columns that tell occurrences apart."""
    found: dict[str, list[str]] = {}
    for _, aggregate in grouping.aggregates:
        argument = _argument(aggregate)
        if aggregate.distinct and argument is None:
            known = [variable for variable in grouping.everything if variable in inner.layouts]
            found[_ROW_FIRST] = [name for variable in known for name in identity_columns(inner, variable)]
        elif aggregate.distinct and argument in inner.layouts:
            assert argument is not None
            found[_first(inner, argument)] = identity_columns(inner, argument)
    return found


def _accumulate(
    compilation: Compilation, inner: Relation, output: Variable, aggregate: Aggregate, grouping: Grouping
) -> Accumulator:
    argument = _argument(aggregate)
    stem = compilation.stem(output)
    if argument is None:
        if not aggregate.distinct:
            return count_accumulator(stem, sql.col(PRESENT))
        once = sql.when((sql.col(_ROW_FIRST), sql.col(PRESENT)), otherwise=sql.num(0))
        return replace(count_accumulator(stem, once), first=_ROW_FIRST)
    is_known = argument in inner.layouts

    def part(wanted: Part) -> Sql:
        if not is_known:
            return null_part(wanted)
        value = inner.part(argument, wanted)
        # Of equal terms at one rank only the first counts; the others look unbound.
        return sql.when((sql.col(_first(inner, argument)), value)) if aggregate.distinct else value

    bound = sql.not_null(inner.part(argument, Part.ID)) if is_known else sql.FALSE.copy()
    missing = sql.all_of([sql.equal(sql.col(PRESENT), sql.num(1)), sql.negate(bound)])
    term = Argument(part, missing, certain=argument in inner.certain)
    first = _first(inner, argument) if aggregate.distinct and is_known else None
    if aggregate.name == "GROUP_CONCAT":
        lexical = grouping.lexical[output]
        text = inner.part(lexical, Part.TEXT) if lexical in inner.layouts else null_part(Part.TEXT)
        separator = compilation.constant(" " if aggregate.separator is None else aggregate.separator)
        return replace(concat_accumulator(stem, term, text, separator), first=first)
    return replace(accumulator(aggregate, stem, term, exact=compilation.inputs.exact_numbers), first=first)


def _first(inner: Relation, argument: Variable) -> str:
    return f"{inner.names[argument]}_first"


def _totals(
    compilation: Compilation, rows: exp.Query, inner: Relation, work: GroupPlan, *, is_global: bool
) -> exp.Select:
    if isinstance(inner.validity, Always):
        return static_totals(marked_rows(rows, inner, work, []), work, is_global=is_global)
    if any(map(is_extreme, work.accumulators)) and windows_per_event(compilation) > SMALL_OVERLAP:
        return _by_cover(compilation, rows, inner, work)
    return interval_totals(rows, inner, work)


def _by_cover(compilation: Compilation, rows: exp.Query, inner: Relation, work: GroupPlan) -> exp.Select:
    """Return the totals of every segment, MIN and MAX looked up in a dyadic cover of the rows."""
    assert isinstance(inner.validity, RankInterval)
    kept = compilation.name("rows")
    compilation.steps.append(Materialize(kept, rows))
    plain = replace(work, accumulators=[without_extremes(one) if is_extreme(one) else one for one in work.accumulators])
    segments = compilation.let(interval_totals(select_all(kept), inner, plain), "segments")
    carried = [name for name, _ in plain.totals]
    chosen = [one for one in work.accumulators if is_extreme(one)]
    return with_extremes(compilation, kept, segments, work.columns, chosen, carried, inner.validity)


def group_input(compilation: Compilation, inner: Relation, work: GroupPlan, scope: Scope) -> tuple[exp.Query, bool]:
    """Return the input rows, and whether SQL itself must give the row of an empty implicit group (S25).

    Each row is marked as present. Without GROUP BY there is one group even over no rows: a row that is not present is
    added for every key that could be asked for (evaluated ranks, solutions of an enclosing EXISTS, graphs of an
    enclosing GRAPH).
    """
    names = inner.all_columns()
    rows = sql.from_(sql.select(*[sql.col(name) for name in names], sql.alias(sql.num(1), PRESENT)), inner.name)
    if not work.implicit:
        return rows, False
    given = scope_keys(compilation, scope)
    if isinstance(inner.validity, RankInterval):
        given = (
            compilation.domain()
            if given is None
            else at_evaluated_ranks(compilation, given)
            if isinstance(given.validity, Always)
            else given
        )
    elif given is None:
        return rows, True
    own = {*inner.keys, *inner.validity.columns}
    nothing = [sql.col(name) if name in own else sql.alias(_null_of(inner, name), name) for name in names]
    empty = sql.from_(sql.select(*nothing, sql.alias(sql.num(0), PRESENT)), given.name)
    return exp.union(rows, empty, distinct=False), False


def _null_of(inner: Relation, column: str) -> Sql:
    for variable, layout in inner.layouts.items():
        types = dict(zip(inner.columns(variable), layout_types(layout).values(), strict=True))
        if column in types:
            return sql.cast(sql.NULL.copy(), types[column])
    raise AssertionError(column)
