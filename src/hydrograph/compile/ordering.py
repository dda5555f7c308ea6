"""ORDER BY, LIMIT and OFFSET at every instant (S26), and the total order of terms.

Terms are ordered: unbound, blank nodes, IRIs, then literals: numbers by value, strings by code point, tagged strings,
booleans, dateTimes, dates and times by their position on the time line (without a zone: as if in UTC), and last all
others by their text. Ties between rows are broken by all columns in this order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from hydrograph.algebra.nodes import Distinct, Order, OrderBy, Pattern, Project, Reduced, Slice
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.expressions.compare import lexical
from hydrograph.compile.expressions.dates import TEMPORAL, as_date_time, timeline, with_fields
from hydrograph.compile.expressions.values import TermValue
from hydrograph.compile.program import SortKey
from hydrograph.compile.rank_expansion import one_row_per_rank
from hydrograph.compile.relation import Part, Relation, select_columns
from hydrograph.compile.set_operators import identity_columns
from hydrograph.compile.sql import Sql, flag
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Variable

_CLASSES = (
    (1, (Kind.BLANK,)),
    (2, (Kind.IRI,)),
    (4, (Kind.STRING,)),
    (5, (Kind.LANG,)),
    (6, (Kind.BOOLEAN,)),
    (7, (Kind.DATETIME,)),
    (8, (Kind.DATE,)),
    (9, (Kind.TIME,)),
    (10, (Kind.DURATION,)),
)
_NUMBERS, _OTHERS = 3, 11


def term_order(part: Callable[[Part], Sql]) -> list[tuple[str, Sql]]:
    """Return the sort keys of a bound term, by name; none is NULL, so that both targets order them alike."""
    kind = part(Part.KIND)
    classes = [(sql.one_of(kind.copy(), kinds), sql.num(rank)) for rank, kinds in _CLASSES]
    is_number = (sql.not_null(part(Part.NUMBER)), sql.num(_NUMBERS))
    string = sql.equal(kind.copy(), sql.num(Kind.STRING))
    text = part(Part.TEXT)
    truth = TermValue(part, frozenset({Kind.BOOLEAN})).truth()
    is_true = sql.all_of([sql.equal(kind.copy(), sql.num(Kind.BOOLEAN)), sql.paren(truth)])
    return [
        ("class", sql.when(is_number, *classes, otherwise=sql.num(_OTHERS))),
        ("number", sql.coalesce(part(Part.NUMBER), _bit(is_true))),
        ("exact", sql.coalesce(part(Part.DECIMAL), _timeline_position(part))),
        ("lexical", sql.when((string, lexical(text)), otherwise=text.copy())),
        ("written", text.copy()),
    ]


def _bit(condition: Sql) -> Sql:
    return sql.cast(sql.when((condition, sql.num(1)), otherwise=sql.num(0)), "DOUBLE")


def _timeline_position(part: Callable[[Part], Sql]) -> Sql:
    """Return the place of a date or time on the time line, 0 of everything else."""
    is_time = sql.one_of(part(Part.KIND), sorted(int(kind) for kind in TEMPORAL))
    place = with_fields(as_date_time(TermValue(part, TEMPORAL)), timeline)
    zero = sql.cast(sql.num(0), sql.DECIMAL)
    return sql.coalesce(sql.when((is_time, place)), zero)


_ORDINAL = "ord"
_FIRST = "first"


@dataclass(frozen=True, slots=True)
class SolutionModifiers:
    """Solution modifiers around a pattern: `Slice(Distinct(Project(OrderBy(inner))))`, each of them optional."""

    inner: Pattern
    order: tuple[Order, ...] = ()
    kept: tuple[Variable, ...] | None = None
    distinct: bool = False
    offset: int = 0
    limit: int | None = None
    sliced: bool = False


def solution_modifiers(pattern: Pattern) -> SolutionModifiers:
    """Return the solution modifiers around a pattern, and the pattern inside."""
    found = SolutionModifiers(pattern)
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


def sort_keys(rows: Relation, order: list[tuple[Variable, bool]]) -> list[tuple[Sql, bool]]:
    """Return the sort keys of variables, each with whether it descends; unbound comes first (S26)."""
    keys: list[tuple[Sql, bool]] = []
    for variable, descending in order:
        if variable in rows.layouts:
            keys.append((flag(sql.not_null(rows.part(variable, Part.ID))), descending))
            keys += [(key, descending) for _, key in term_order(lambda part, v=variable: rows.part(v, part))]  # type: ignore[misc]
    return keys


def add_sort_columns(
    compilation: Compilation, rows: Relation, order: list[tuple[Variable, bool]]
) -> tuple[Relation, tuple[SortKey, ...]]:
    """Return the rows with their sort keys as columns behind all others, and the names of these."""
    keys = sort_keys(rows, order)
    names = [f"o{number}" for number in range(len(keys))]
    sorts = [sql.alias(key, name) for name, (key, _) in zip(names, keys, strict=True)]
    query = sql.from_(sql.select(*select_columns(rows), *sorts), rows.name)
    sorting = tuple(SortKey(name, descending) for name, (_, descending) in zip(names, keys, strict=True))
    return compilation.step(rows, query, "sorted"), sorting


def slice_solutions(
    compilation: Compilation, rows: Relation, order: list[tuple[Variable, bool]], cut: SolutionModifiers
) -> tuple[Relation, tuple[SortKey, ...]]:
    """Return the first rows at every instant, and the column that numbers them.

    `rows` have all parts of the variables to order by. The chunk is no obstacle: a rank lies in one chunk.
    """
    rows = one_row_per_rank(compilation, rows)
    kept = list(rows.layouts) if cut.kept is None else [variable for variable in cut.kept if variable in rows.layouts]
    ties = [(variable, False) for variable in kept]
    keys = sort_keys(rows, [*order, *ties])
    instant = [*rows.keys, *rows.validity.columns[:1]]
    visible = replace(rows, layouts={variable: rows.layouts[variable] for variable in kept})
    known = [sql.col(name) for name in visible.all_columns()]
    named = [sql.alias(key, f"o{number}") for number, (key, _) in enumerate(keys)]
    query = sql.from_(sql.select(*select_columns(visible), *named), rows.name)
    names = [(f"o{number}", descending) for number, (_, descending) in enumerate(keys)]
    if cut.distinct:
        same = [*instant, *(name for variable in kept for name in identity_columns(visible, variable))]
        numbered = sql.select(exp.Star(), sql.alias(row_number(same, names), _FIRST))
        query = numbered.from_(query.subquery("f", copy=False), copy=False)
        query = exp.Select(expressions=[exp.Star()]).from_(query.subquery("g", copy=False), copy=False)
        query = query.where(sql.equal(sql.col(_FIRST), sql.num(1)), copy=False)
    ordered = sql.select(*[column.copy() for column in known], sql.alias(row_number(instant, names), _ORDINAL))
    ordered = ordered.from_(query.subquery("n", copy=False), copy=False)
    tests = [sql.more(sql.col(_ORDINAL), sql.num(cut.offset))] if cut.offset else []
    if cut.limit is not None:
        tests.append(exp.LTE(this=sql.col(_ORDINAL), expression=sql.num(cut.offset + cut.limit)))
    result = sql.select(*[column.copy() for column in known], sql.col(_ORDINAL))
    result = result.from_(ordered.subquery("h", copy=False), copy=False).where(*tests, copy=False)
    certain = visible.certain & frozenset(kept)
    return compilation.step(replace(visible, certain=certain), result, "slice"), (SortKey(_ORDINAL),)


def row_number(partition: list[str], keys: list[tuple[str, bool]]) -> Sql:
    """Return the position of a row among the rows of its instant, from 1 (S26).

    `partition` names the instant: LIMIT and OFFSET start over at each. `keys` pair a column with whether it descends.
    """
    ordered = [exp.Ordered(this=sql.col(name), desc=descending, nulls_first=True) for name, descending in keys]
    return exp.Window(
        this=exp.RowNumber(),
        partition_by=[sql.col(name) for name in partition] or [sql.num(0)],
        order=exp.Order(expressions=ordered or [exp.Ordered(this=sql.num(0), nulls_first=True)]),
    )
