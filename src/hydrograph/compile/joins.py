"""S20: joins on shared variables and hidden keys, with the validity test behind the equality (A14)."""

from __future__ import annotations

from collections.abc import Iterable

from hydrograph.algebra.nodes import Pattern, Window
from hydrograph.algebra.walk import certain, children, variables
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.relation import (
    Always,
    Demand,
    EncodedLayout,
    Part,
    Parts,
    Relation,
    TermLayout,
    intersect_validity,
    layout_types,
    overlap_conditions,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable


def join(compilation: Compilation, left: Relation, right: Relation, demand: Demand) -> Relation:
    """Return the compatible pairs that are valid together; bag multiplicities multiply by themselves."""
    shared = [variable for variable in left.layouts if variable in right.layouts]
    conditions = [sql.equal(sql.col(key, "l"), sql.col(key, "r")) for key in left.keys if key in right.keys]
    conditions += [compatible(left, right, variable) for variable in shared]
    conditions += overlap_conditions(left.validity, right.validity, "l", "r")
    keys = (*left.keys, *(key for key in right.keys if key not in left.keys))
    columns = [sql.alias(sql.col(key, "l" if key in left.keys else "r"), key) for key in keys]
    layouts: dict[Variable, TermLayout] = {}
    sides = [(left, "l"), (right, "r")]
    for variable in (*left.layouts, *(variable for variable in right.layouts if variable not in left.layouts)):
        layouts[variable], picked = merge_layouts(sides, variable, demand.get(variable, frozenset()))
        columns += [sql.alias(value, compilation.stem(variable) + suffix) for suffix, value in picked]
    validity, stamps = intersect_validity(left.validity, right.validity, "l", "r")
    query = sql.select(*[*columns, *stamps] or [sql.alias(sql.num(1), "one")])
    query = sql.from_(query, left.name, "l").join(sql.table(right.name, "r"), on=sql.all_of(conditions), copy=False)
    if static := broadcast_side(compilation, left, right):
        query = sql.hint(query, "BROADCAST", sql.col(static))
    elif "chunk" in left.keys and "chunk" in right.keys:
        # A chunk bounds the hash table, so it needs no sort (measured: 1.4 times the speed of a sort-merge join).
        query = sql.hint(query, "SHUFFLE_HASH", sql.col("r"))
    name = compilation.let(query, "join")
    names = {variable: compilation.stem(variable) for variable in layouts}
    return Relation(name, layouts, left.certain | right.certain, keys, validity, names)


def compatible(left: Relation, right: Relation, variable: Variable) -> Sql:
    """Return the test that both sides agree; a side that may be unbound agrees with everything."""
    ids = left.part(variable, Part.ID, "l"), right.part(variable, Part.ID, "r")
    loose = [
        sql.is_null(identity.copy())
        for identity, side in zip(ids, (left, right), strict=True)
        if variable not in side.certain
    ]
    same = sql.equal(*ids)
    return sql.paren(sql.any_of([same, *loose])) if loose else same


def merge_layouts(
    sides: list[tuple[Relation, str]], variable: Variable, wanted: Parts
) -> tuple[TermLayout, list[tuple[str, Sql]]]:
    """Return the layout a variable has where rows of these sides meet, and the value of each of its columns by suffix.

    No more than is wanted; where both sides bind it they hold the same term, so that parts may come from either.
    """
    holders = [(side, name) for side, name in sides if variable in side.layouts]
    if not wanted:
        return EncodedLayout(wanted), []
    bound = [(side, name) for side, name in holders if variable in side.certain and has_parts(side, variable, wanted)]
    holders = bound[:1] or holders
    layouts = {side.layouts[variable] for side, _ in holders}
    first = holders[0][0].layouts[variable]
    if len(layouts) == 1 and not isinstance(first, EncodedLayout):
        return first, [(suffix, _first_of(holders, variable, suffix)) for suffix in layout_types(first)]
    layout = EncodedLayout(
        frozenset(part for part in wanted if any(has_parts(s, variable, {part}) for s, _ in holders))
    )
    columns = []
    for part, suffix in zip([part for part in Part if part in layout.parts], layout_types(layout), strict=True):
        able = [(side, name) for side, name in holders if has_parts(side, variable, {part})]
        columns.append((suffix, _coalesced([side.part(variable, part, name) for side, name in able])))
    return layout, columns


def has_parts(side: Relation, variable: Variable, parts: Iterable[Part]) -> bool:
    """Tell whether a side can give these parts of a variable; of a computed term it can give all."""
    layout = side.layouts[variable]
    return not isinstance(layout, EncodedLayout) or layout.parts >= frozenset(parts)


def _first_of(holders: list[tuple[Relation, str]], variable: Variable, suffix: str) -> Sql:
    return _coalesced([sql.col(side.names[variable] + suffix, name) for side, name in holders])


def _coalesced(values: list[Sql]) -> Sql:
    return sql.coalesce(*values) if len(values) > 1 else values[0]


def broadcast_side(compilation: Compilation, left: Relation, right: Relation) -> str | None:
    """Return the side, `l` or `r`, with static rows that Spark shall send to every task; None where there is none."""
    if compilation.inputs.broadcast:
        if isinstance(right.validity, Always):
            return "r"
        if isinstance(left.validity, Always):
            return "l"
    return None


_ID: Parts = frozenset({Part.ID})


def join_demand(left: Pattern, right: Pattern, demand: Demand) -> tuple[dict[Variable, Parts], dict[Variable, Parts]]:
    """Return what a join asks of its sides."""
    ours, theirs = variables(left), variables(right)
    sure = certain(left), certain(right)
    # What only static rows carry is never moved between tasks, so they give the parts of shared variables.
    from_right = _is_static(right) and not _is_static(left)
    asked: tuple[dict[Variable, Parts], dict[Variable, Parts]] = ({}, {})
    for variable, parts in (*demand.items(), *((shared, _ID) for shared in ours & theirs if shared not in demand)):
        wanted = parts | _ID if variable in ours and variable in theirs else parts
        sides = [side for side, known in enumerate((ours, theirs)) if variable in known]
        giving = [side for side in sides if variable in sure[side]]
        giver = (giving[-1] if from_right else giving[0]) if giving else None
        for side in sides:
            asked[side][variable] = wanted if giver in (None, side) else _ID
    return asked


def _is_static(pattern: Pattern) -> bool:
    """Tell whether a pattern reads no window."""
    return not isinstance(pattern, Window) and all(map(_is_static, children(pattern)))
