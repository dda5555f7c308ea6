"""S25: groups at every instant, by sweep where every total can be undone exactly, else rank by rank.

Sweep: each row adds its values at `lo` and takes them back at `hi`; running sums give the totals on every segment. Its
cost does not depend on how much windows overlap. Counts and sums of integers and decimals are exact and so can be
undone; sums of doubles are not exact, and MIN and MAX can't be undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate, Reference
from hydrograph.compile import extremes, sql
from hydrograph.compile.accumulators import Accumulator, Argument, accumulator, concatenation, count
from hydrograph.compile.context import Compilation
from hydrograph.compile.distinct import covered_before, identity_columns
from hydrograph.compile.extremes import is_extreme, overlap, with_extremes, without_extremes
from hydrograph.compile.program import Keep, read
from hydrograph.compile.relation import Always, Demand, Form, Part, Parts, Ranks, Relation, form_types, null_part
from hydrograph.compile.scope import Scope, base, over_domain
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable

_PRESENT = "present"
_ROW_FIRST = "row_first"
_SUMMED: Parts = frozenset({Part.ID, Part.KIND, Part.NUMBER, Part.DECIMAL})


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


def group_demand(grouping: Grouping, demand: Demand) -> dict[Variable, Parts]:
    """Return what a group reads of its input."""
    wanted = {key: frozenset({Part.ID}) | demand.get(key, frozenset()) for key in grouping.keys}
    for _, aggregate in grouping.aggregates:
        argument = _argument(aggregate)
        if argument is not None:
            wanted[argument] = wanted.get(argument, frozenset()) | _reads(aggregate)
        elif aggregate.distinct:
            wanted |= {each: wanted.get(each, frozenset()) | {Part.ID} for each in grouping.everything}
    for lexical in grouping.lexical.values():
        wanted[lexical] = frozenset({Part.TEXT})
    return wanted


def _reads(aggregate: Aggregate) -> Parts:
    match aggregate.name:
        case "COUNT":
            return frozenset({Part.ID})
        case "SUM" | "AVG":
            return _SUMMED
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


@dataclass(frozen=True, slots=True)
class _Group:
    """A group while it is compiled: its columns and its accumulators."""

    hidden: list[str]
    keys: list[str]
    accumulators: list[Accumulator]
    repeats: dict[str, list[str]]
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


def group(compilation: Compilation, inner: Relation, grouping: Grouping, scope: Scope) -> Relation:
    """Return the groups and their aggregates at every instant; a group of nothing only where none was written."""
    accumulators = {
        output: _accumulate(compilation, inner, output, aggregate, grouping)
        for output, aggregate in grouping.aggregates
    }
    keys = [key for key in grouping.keys if key in inner.forms]
    forms: dict[Variable, Form] = {key: inner.forms[key] for key in keys}
    forms |= {output: each.form for output, each in accumulators.items()}
    work = _Group(
        list(inner.keys),
        [name for key in keys for name in inner.columns(key)],
        list(accumulators.values()),
        _repeats(inner, grouping),
        implicit=grouping.implicit,
    )
    rows, is_global = _rows(compilation, inner, work, scope)
    query = _totals(compilation, rows, inner, work, is_global=is_global)
    totals = compilation.let(query, "group")
    outputs = [column for each in accumulators.values() for column in each.outputs]
    columns = [sql.col(name) for name in work.columns]
    stamps = [sql.col(name) for name in inner.validity.columns]
    final = sql.from_(sql.select(*[*columns, *outputs, *stamps] or [sql.alias(sql.num(1), "one")]), totals)
    counts = {output for output, aggregate in grouping.aggregates if aggregate.name == "COUNT"}
    certain = frozenset(key for key in keys if key in inner.certain) | counts
    names = {variable: compilation.stem(variable) for variable in forms} | {key: inner.names[key] for key in keys}
    relation = Relation(totals, forms, certain, inner.keys, inner.validity, names)
    return compilation.step(relation, final, "aggregate")


def _repeats(inner: Relation, grouping: Grouping) -> dict[str, list[str]]:
    """Return, for each DISTINCT, the flag of a first occurrence and the columns that tell occurrences apart."""
    found: dict[str, list[str]] = {}
    for _, aggregate in grouping.aggregates:
        argument = _argument(aggregate)
        if aggregate.distinct and argument is None:
            known = [variable for variable in grouping.everything if variable in inner.forms]
            found[_ROW_FIRST] = [name for variable in known for name in identity_columns(inner, variable)]
        elif aggregate.distinct and argument in inner.forms:
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
            return count(stem, sql.col(_PRESENT))
        once = sql.when((sql.col(_ROW_FIRST), sql.col(_PRESENT)), otherwise=sql.num(0))
        return replace(count(stem, once), first=_ROW_FIRST)
    is_known = argument in inner.forms

    def part(wanted: Part) -> Sql:
        if not is_known:
            return null_part(wanted)
        value = inner.part(argument, wanted)
        # Of equal terms at one rank only the first counts; the others look unbound.
        return sql.when((sql.col(_first(inner, argument)), value)) if aggregate.distinct else value

    bound = sql.not_null(inner.part(argument, Part.ID)) if is_known else sql.FALSE.copy()
    missing = sql.all_of([sql.equal(sql.col(_PRESENT), sql.num(1)), sql.negate(bound)])
    term = Argument(part, missing, certain=argument in inner.certain)
    first = _first(inner, argument) if aggregate.distinct and is_known else None
    if aggregate.name == "GROUP_CONCAT":
        lexical = grouping.lexical[output]
        text = inner.part(lexical, Part.TEXT) if lexical in inner.forms else null_part(Part.TEXT)
        separator = compilation.constant(" " if aggregate.separator is None else aggregate.separator)
        return replace(concatenation(stem, term, text, separator), first=first)
    return replace(accumulator(aggregate, stem, term, exact=compilation.inputs.exact_numbers), first=first)


def _first(inner: Relation, argument: Variable) -> str:
    return f"{inner.names[argument]}_first"


def _totals(compilation: Compilation, rows: exp.Query, inner: Relation, work: _Group, *, is_global: bool) -> exp.Select:
    if isinstance(inner.validity, Always):
        return _plain(_marked(rows, inner, work, []), work, is_global=is_global)
    if any(map(is_extreme, work.accumulators)) and overlap(compilation) > extremes.SMALL_OVERLAP:
        return _by_cover(compilation, rows, inner, work)
    return _swept(rows, inner, work)


def _by_cover(compilation: Compilation, rows: exp.Query, inner: Relation, work: _Group) -> exp.Select:
    """Return the totals of every segment, MIN and MAX looked up in a dyadic cover of the rows."""
    assert isinstance(inner.validity, Ranks)
    kept = compilation.name("rows")
    compilation.steps.append(Keep(kept, rows))
    plain = replace(work, accumulators=[without_extremes(one) if is_extreme(one) else one for one in work.accumulators])
    segments = compilation.let(_swept(read(kept), inner, plain), "segments")
    carried = [name for name, _ in plain.totals]
    chosen = [one for one in work.accumulators if is_extreme(one)]
    return with_extremes(compilation, kept, segments, work.columns, chosen, carried, inner.validity)


def _swept(rows: exp.Query, inner: Relation, work: _Group) -> exp.Select:
    if not work.repeats and all(each.additive for each in work.accumulators):
        return _sweep(rows, inner, work)
    return _spread(rows, inner, work)


def _rows(compilation: Compilation, inner: Relation, work: _Group, scope: Scope) -> tuple[exp.Query, bool]:
    """Return the input rows, each marked present, and whether SQL itself must give a row for a group of nothing.

    Else such a group gets a row that is not present for all it could be asked for: the evaluated ranks, the solutions
    of an EXISTS around it, the graphs of a GRAPH around it.
    """
    names = inner.all_columns()
    rows = sql.from_(sql.select(*[sql.col(name) for name in names], sql.alias(sql.num(1), _PRESENT)), inner.name)
    if not work.implicit:
        return rows, False
    given = base(compilation, scope)
    if isinstance(inner.validity, Ranks):
        given = (
            compilation.domain()
            if given is None
            else over_domain(compilation, given)
            if isinstance(given.validity, Always)
            else given
        )
    elif given is None:
        return rows, True
    own = {*inner.keys, *inner.validity.columns}
    nothing = [sql.col(name) if name in own else sql.alias(_null_of(inner, name), name) for name in names]
    empty = sql.from_(sql.select(*nothing, sql.alias(sql.num(0), _PRESENT)), given.name)
    return exp.union(rows, empty, distinct=False), False


def _null_of(inner: Relation, column: str) -> Sql:
    for variable, form in inner.forms.items():
        types = dict(zip(inner.columns(variable), form_types(form).values(), strict=True))
        if column in types:
            return sql.cast(sql.NULL.copy(), types[column])
    raise AssertionError(column)


def _marked(rows: exp.Query, inner: Relation, work: _Group, instant: list[str]) -> exp.Select:
    """Return the rows with the accumulators' inputs; repeated terms of DISTINCT are marked first."""
    source = rows
    if work.repeats:
        flags = []
        for flag, names in work.repeats.items():
            within = [sql.col(name) for name in (*work.columns, *instant, _PRESENT, *names)]
            number = sql.window(exp.RowNumber(), within, [sql.col(_PRESENT)])
            flags.append(sql.alias(sql.equal(number, exp.Literal.number(1)), flag))
        source = exp.Select(expressions=[exp.Star(), *flags]).from_(rows.subquery("r", copy=False), copy=False)
    del inner
    kept = [sql.col(name) for name in (*work.columns, *instant, _PRESENT)]
    inputs = [sql.alias(value, name) for name, value in work.inputs if name != _PRESENT]
    return sql.select(*kept, *inputs).from_(source.subquery("i", copy=False), copy=False)


def _plain(rows: exp.Select, work: _Group, *, is_global: bool) -> exp.Select:
    """Return the totals of static rows, which hold at every instant."""
    columns = [sql.col(name) for name in work.columns]
    totals = [sql.alias(_zero(name, total), name) for name, total in work.totals]
    query = sql.select(*columns, *totals).from_(rows.subquery("s", copy=False), copy=False)
    if is_global:
        return query
    # Without a column to group by SQL would give a row for nothing.
    query = query.group_by(*columns or [sql.col(_PRESENT)], copy=False)
    return query if columns else query.where(sql.TRUE.copy(), copy=False)


def _zero(name: str, total: Sql) -> Sql:
    """Return a sum that is 0 over nothing, as SPARQL's is."""
    del name
    return sql.coalesce(total, sql.num(0)) if isinstance(total, exp.Sum | sql.SafeSum) else total


def _spread(rows: exp.Query, inner: Relation, work: _Group) -> exp.Select:
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
    inputs = [name for name, _ in work.inputs if name != _PRESENT]
    every = sql.any_of([each.spread.copy() for each in work.accumulators if each.spread is not None])
    at = sql.Points(this=sql.col(lo), to=sql.col(hi), every=every, expressions=[sql.col(lo), *starts, sql.col(hi)])
    carried = [*work.columns, lo, hi, _PRESENT, *inputs, *(f"{flag}_lo" for flag in work.repeats), *work.repeats]
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


def _begun(rows: exp.Query, work: _Group, validity: Ranks) -> exp.Select:
    """Return the rows with the accumulators' inputs, and for each DISTINCT where a term begins that was not there."""
    lo, hi = validity.columns
    source = rows
    if work.repeats:
        cuts = []
        for flag, names in work.repeats.items():
            within = [sql.col(name) for name in (*work.columns, _PRESENT, *names)]
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
    names = [*work.columns, lo, hi, _PRESENT]
    names += [name for flag in work.repeats for name in (flag, f"{flag}_lo")]
    inputs = [sql.alias(value, name) for name, value in work.inputs if name != _PRESENT]
    return sql.select(*[sql.col(name) for name in names], *inputs).from_(source.subquery("i", copy=False), copy=False)


def _sweep(rows: exp.Query, inner: Relation, work: _Group) -> exp.Select:
    """Return the totals on every segment between two endpoints of the group."""
    validity = inner.validity
    assert isinstance(validity, Ranks)
    totals = [name for name, _ in work.totals]
    decimals = {name for name, total in work.totals if isinstance(total, sql.SafeSum)}
    marked = _marked(rows, inner, work, list(validity.columns))

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


def _segments(points: exp.Select, work: _Group, validity: Ranks, summed: list[str]) -> exp.Select:
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
    return query if work.implicit else query.where(sql.more(sql.col(_PRESENT), sql.num(0)), copy=False)


def _added(name: str, decimals: set[str]) -> Sql:
    return sql.SafeSum(this=sql.col(name)) if name in decimals else exp.Sum(this=sql.col(name))
