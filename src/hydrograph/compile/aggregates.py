"""S25: groups at every instant: what they read, what their aggregates add up, and the rows of groups of nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.algebra.expressions import Aggregate, Reference
from hydrograph.compile import extremes, sql
from hydrograph.compile.accumulators import Accumulator, Argument, accumulator, concatenation, count
from hydrograph.compile.context import Compilation
from hydrograph.compile.distinct import identity_columns
from hydrograph.compile.extremes import is_extreme, overlap, with_extremes, without_extremes
from hydrograph.compile.program import Keep, read
from hydrograph.compile.relation import Always, Demand, Form, Part, Parts, Ranks, Relation, form_types, null_part
from hydrograph.compile.scope import Scope, base, over_domain
from hydrograph.compile.sql import Sql
from hydrograph.compile.sweep import PRESENT, Work, marked_rows, plain, swept
from hydrograph.rdf.terms import Variable

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


def group(compilation: Compilation, inner: Relation, grouping: Grouping, scope: Scope) -> Relation:
    """Return the groups and their aggregates at every instant; a group of nothing only where none was written."""
    accumulators = {
        output: _accumulate(compilation, inner, output, aggregate, grouping)
        for output, aggregate in grouping.aggregates
    }
    keys = [key for key in grouping.keys if key in inner.forms]
    forms: dict[Variable, Form] = {key: inner.forms[key] for key in keys}
    forms |= {output: each.form for output, each in accumulators.items()}
    work = Work(
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
            return count(stem, sql.col(PRESENT))
        once = sql.when((sql.col(_ROW_FIRST), sql.col(PRESENT)), otherwise=sql.num(0))
        return replace(count(stem, once), first=_ROW_FIRST)
    is_known = argument in inner.forms

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
        text = inner.part(lexical, Part.TEXT) if lexical in inner.forms else null_part(Part.TEXT)
        separator = compilation.constant(" " if aggregate.separator is None else aggregate.separator)
        return replace(concatenation(stem, term, text, separator), first=first)
    return replace(accumulator(aggregate, stem, term, exact=compilation.inputs.exact_numbers), first=first)


def _first(inner: Relation, argument: Variable) -> str:
    return f"{inner.names[argument]}_first"


def _totals(compilation: Compilation, rows: exp.Query, inner: Relation, work: Work, *, is_global: bool) -> exp.Select:
    if isinstance(inner.validity, Always):
        return plain(marked_rows(rows, inner, work, []), work, is_global=is_global)
    if any(map(is_extreme, work.accumulators)) and overlap(compilation) > extremes.SMALL_OVERLAP:
        return _by_cover(compilation, rows, inner, work)
    return swept(rows, inner, work)


def _by_cover(compilation: Compilation, rows: exp.Query, inner: Relation, work: Work) -> exp.Select:
    """Return the totals of every segment, MIN and MAX looked up in a dyadic cover of the rows."""
    assert isinstance(inner.validity, Ranks)
    kept = compilation.name("rows")
    compilation.steps.append(Keep(kept, rows))
    plain = replace(work, accumulators=[without_extremes(one) if is_extreme(one) else one for one in work.accumulators])
    segments = compilation.let(swept(read(kept), inner, plain), "segments")
    carried = [name for name, _ in plain.totals]
    chosen = [one for one in work.accumulators if is_extreme(one)]
    return with_extremes(compilation, kept, segments, work.columns, chosen, carried, inner.validity)


def _rows(compilation: Compilation, inner: Relation, work: Work, scope: Scope) -> tuple[exp.Query, bool]:
    """Return the input rows, each marked present, and whether SQL itself must give a row for a group of nothing.

    Else such a group gets a row that is not present for all it could be asked for: the evaluated ranks, the solutions
    of an EXISTS around it, the graphs of a GRAPH around it.
    """
    names = inner.all_columns()
    rows = sql.from_(sql.select(*[sql.col(name) for name in names], sql.alias(sql.num(1), PRESENT)), inner.name)
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
    empty = sql.from_(sql.select(*nothing, sql.alias(sql.num(0), PRESENT)), given.name)
    return exp.union(rows, empty, distinct=False), False


def _null_of(inner: Relation, column: str) -> Sql:
    for variable, form in inner.forms.items():
        types = dict(zip(inner.columns(variable), form_types(form).values(), strict=True))
        if column in types:
            return sql.cast(sql.NULL.copy(), types[column])
    raise AssertionError(column)
