"""Left, semi, anti and mark joins on intervals: OPTIONAL, EXISTS, MINUS and NOT EXISTS (S22-S24).

One left join, one window function, and up to three rows for every pair: the match, the gap before it, and the tail
behind the last one. So each input is named once, however deep OPTIONALs are nested.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.joins import broadcast_side, compatible, has_parts
from hydrograph.compile.relation import (
    Always,
    BooleanLayout,
    Demand,
    EncodedLayout,
    Part,
    RankInterval,
    Relation,
    TermLayout,
    layout_columns,
    null_part,
    overlap_conditions,
)
from hydrograph.compile.set_operators import covered_before
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable

_MATCH, _GAP, _TAIL = 0, 1, 2
_ORDINAL, _HIT, MATCH_LO, MATCH_HI, _COVERED, _LAST, PIECE = "n", "hit", "m_lo", "m_hi", "m_before", "m_last", "piece"


class JoinKind(Enum):
    """Kind of join: the pieces of a left row that it emits, given the instants at which the row is matched."""

    LEFT = (_MATCH, _GAP, _TAIL)
    """The pairs, and the row itself where there is none (S22)."""
    ANTI = (_GAP, _TAIL)
    """The row where it is not matched: MINUS and NOT EXISTS (S23, S24)."""
    SEMI = (_MATCH,)
    """The row where it is matched, once: EXISTS (S24)."""
    MARK = (_TAIL, _GAP, _MATCH)
    """The row everywhere, with a boolean: EXISTS inside a larger condition."""


def compatibility_conditions(left: Relation, right: Relation) -> list[Sql]:
    """Return the conditions that a row of each side are compatible and valid together."""
    conditions = [sql.equal(sql.col(key, "l"), sql.col(key, "r")) for key in left.keys if key in right.keys]
    conditions += [compatible(left, right, variable) for variable in left.layouts if variable in right.layouts]
    return [*conditions, *overlap_conditions(left.validity, right.validity, "l", "r")]


def shared_binding_condition(
    left: Relation, right: Relation, counted: frozenset[Variable], given: list[Sql]
) -> list[Sql]:
    """Return the condition that both rows bind a variable: none if one is certain to be, FALSE if none can be (S23).

    `given` are the tests that a variable is bound around both.
    """
    shared = [variable for variable in left.layouts if variable in right.layouts and variable in counted]
    if any(variable in left.certain and variable in right.certain for variable in shared):
        return []
    both = [*given]
    for variable in shared:
        tests = [
            sql.not_null(side.part(variable, Part.ID, name))
            for side, name in ((left, "l"), (right, "r"))
            if variable not in side.certain
        ]
        both.append(sql.paren(sql.all_of(tests)))
    return [sql.paren(sql.any_of(both))]


@dataclass(frozen=True, slots=True)
class _AddedColumn:
    """A column of the answer that depends on the match: its value in a pair, and where there is none."""

    name: str
    paired: Sql
    alone: Sql


def outer_join(
    compilation: Compilation,
    left: Relation,
    right: Relation,
    on: list[Sql],
    kind: JoinKind,
    demand: Demand | None = None,
    mark: Variable | None = None,
) -> Relation:
    """Return the rows of `left`, split at the borders of what `right` matches; the two are named l and r in `on`.

    If only `right` has intervals, the caller has given `left` some (`levelled`).
    """
    static = isinstance(left.validity, Always)
    assert not static or isinstance(right.validity, Always)
    assert frozenset(right.keys) <= frozenset(left.keys) or kind is not JoinKind.LEFT
    span = RankInterval() if isinstance(left.validity, Always) else left.validity
    layouts, added = _outputs(compilation, left, right, kind, demand or {}, mark)
    pieces = match_intervals(compilation, left, right, on, span, added)
    certain = left.certain | ({mark} if mark is not None else frozenset())
    stems = {
        **left.names,
        **{variable: compilation.stem(variable) for variable in layouts if variable not in left.layouts},
    }
    result = Relation(left.name, layouts, certain, left.keys, left.validity, stems)
    query = emit_pieces(pieces, left, result, span, kind, added, mark)
    purpose = {JoinKind.LEFT: "optional", JoinKind.ANTI: "without", JoinKind.SEMI: "within"}
    return compilation.step(result, query, purpose.get(kind, "marked"))


def _outputs(
    compilation: Compilation,
    left: Relation,
    right: Relation,
    kind: JoinKind,
    demand: Demand,
    mark: Variable | None,
) -> tuple[dict[Variable, TermLayout], list[_AddedColumn]]:
    layouts = dict(left.layouts)
    if mark is not None:
        layouts[mark] = BooleanLayout()
    added: list[_AddedColumn] = []
    if kind is not JoinKind.LEFT:
        return layouts, added
    for variable in (*left.layouts, *(variable for variable in right.layouts if variable not in left.layouts)):
        wanted = demand.get(variable, frozenset())
        if variable not in right.layouts or (variable in left.certain and has_parts(left, variable, wanted)):
            continue
        layout = right.layouts[variable] if variable not in left.layouts and wanted else EncodedLayout(wanted)
        if isinstance(layout, EncodedLayout):
            layout = EncodedLayout(wanted)
            parts = [part for part in Part if part in wanted]
            paired = [right.part(variable, part, "r") for part in parts]
            alone = [null_part(part) for part in parts]
            if variable in left.layouts:
                paired = [
                    sql.coalesce(left.part(variable, part, "l"), value)
                    for part, value in zip(parts, paired, strict=True)
                ]
                alone = [left.part(variable, part) for part in parts]
        else:
            columns = layout_columns(right.names[variable], layout)
            paired = [sql.col(column, "r") for column in columns]
            alone = [sql.NULL.copy() for _ in columns]
        layouts[variable] = layout
        names = layout_columns(compilation.stem(variable), layout)
        added += [_AddedColumn(*each) for each in zip(names, paired, alone, strict=True)]
    return layouts, added


def row_identity(rows: Relation) -> list[str]:
    """Return the columns that tell rows apart; equal rows are interchangeable."""
    names = [*rows.keys, *rows.validity.columns]
    for variable, layout in rows.layouts.items():
        by_id = isinstance(layout, EncodedLayout) and Part.ID in layout.parts
        names += [rows.column(variable, Part.ID)] if by_id else rows.columns(variable)
    return names


def match_intervals(
    compilation: Compilation,
    left: Relation,
    right: Relation,
    on: list[Sql],
    span: RankInterval,
    added: list[_AddedColumn],
) -> exp.Select:
    """Return every pair with its interval and the end of what earlier pairs of the same left row cover (S22).

    Equal left rows are numbered, so that a match of one does not cover the others (bag semantics).
    """
    identity = [sql.col(name) for name in row_identity(left)]
    ordinal = sql.window(exp.RowNumber(), identity or [sql.num(0)], [(identity or [sql.num(0)])[0].copy()])
    own = [sql.col(name) for name in left.all_columns()]
    stamps = [] if span is left.validity else [sql.alias(sql.num(0), span.lo), sql.alias(sql.num(1), span.hi)]
    numbered = sql.from_(sql.select(*own, *stamps, sql.alias(ordinal, _ORDINAL)), left.name)
    theirs = [sql.col(name) for name in right.all_columns()]
    marked = sql.from_(sql.select(*theirs, sql.alias(sql.num(1), _HIT)), right.name)
    names = [*left.all_columns(), *(span.columns if stamps else ()), _ORDINAL]
    start, end = sql.col(span.lo, "l"), sql.col(span.hi, "l")
    if isinstance(right.validity, RankInterval):
        start = sql.greatest(start, sql.col(right.validity.lo, "r"))
        end = sql.least(end, sql.col(right.validity.hi, "r"))
    hit = sql.not_null(sql.col(_HIT, "r"))
    pairs = sql.select(
        *[sql.alias(sql.col(name, "l"), name) for name in names],
        *[sql.alias(each.paired, f"{each.name}_m") for each in added],
        sql.alias(sql.when((hit, start)), MATCH_LO),
        sql.alias(sql.when((hit.copy(), end)), MATCH_HI),
    )
    pairs = pairs.from_(numbered.subquery("l", copy=False), copy=False).join(
        marked.subquery("r", copy=False), on=sql.all_of(on), join_type="left", copy=False
    )
    if broadcast_side(compilation, left, right) == "r":
        pairs = sql.hint(pairs, "BROADCAST", sql.col("r"))
    within = [sql.col(name) for name in (*row_identity(left), _ORDINAL)]
    order = [sql.col(MATCH_LO), sql.col(MATCH_HI)]
    covered = covered_before([column.copy() for column in within], MATCH_LO, MATCH_HI)
    last = sql.is_null(sql.window(exp.Lead(this=sql.col(MATCH_LO)), within, order))
    return sql.select(exp.Star(), sql.alias(covered, _COVERED), sql.alias(last, _LAST)).from_(
        pairs.subquery("p", copy=False), copy=False
    )


def emit_pieces(
    pieces: exp.Select,
    left: Relation,
    result: Relation,
    span: RankInterval,
    kind: JoinKind,
    added: list[_AddedColumn],
    mark: Variable | None,
) -> exp.Select:
    """Return the pieces of left rows that `kind` emits, each with its interval (S22-S24).

    A piece is a match, the gap before a match, or the tail behind the last one.
    """
    emitted = exp.Explode(this=exp.Array(expressions=[sql.num(piece) for piece in sorted(kind.value)]))
    spread = sql.select(exp.Star(), sql.alias(emitted, PIECE)).from_(pieces.subquery("w", copy=False), copy=False)
    starts, ends = sql.col(span.lo), sql.col(span.hi)
    covered = sql.coalesce(sql.col(_COVERED), starts.copy())
    begin = sql.col(MATCH_LO)
    if kind is not JoinKind.LEFT:  # each instant once, however many pairs there are
        begin = sql.greatest(begin, sql.coalesce(sql.col(_COVERED), sql.col(MATCH_LO)))
    behind = sql.greatest(covered.copy(), sql.coalesce(sql.col(MATCH_HI), starts.copy()))
    is_match, is_gap = (sql.equal(sql.col(PIECE), sql.num(piece)) for piece in (_MATCH, _GAP))
    lo = sql.when((is_match, begin), (is_gap, covered), (sql.col(_LAST), behind))
    hi = sql.when((is_match.copy(), sql.col(MATCH_HI)), (is_gap.copy(), sql.col(MATCH_LO)), otherwise=ends)
    values = {each.name: sql.when((is_match.copy(), sql.col(f"{each.name}_m")), otherwise=each.alone) for each in added}
    if mark is not None:
        values[result.columns(mark)[0]] = is_match.copy()
    names = [name for name in result.all_columns() if name not in left.validity.columns]
    cut = sql.select(
        *[sql.alias(values[name], name) if name in values else sql.col(name) for name in names],
        sql.alias(lo, "new_lo"),
        sql.alias(hi, "new_hi"),
    ).from_(spread.subquery("x", copy=False), copy=False)
    columns = [sql.col(name) for name in names]
    if left.validity.columns:
        columns += [sql.alias(sql.col("new_lo"), span.lo), sql.alias(sql.col("new_hi"), span.hi)]
    query = sql.select(*columns or [sql.alias(sql.num(1), "one")]).from_(cut.subquery("y", copy=False), copy=False)
    return query.where(sql.less(sql.col("new_lo"), sql.col("new_hi")), copy=False)
