"""Move each condition of a FILTER as close to the data as its variables are certainly bound.

(filter (&& (> ?x 1) (> ?y 2)) (join A B))  =>  (join (filter (> ?x 1) A) (filter (> ?y 2) B)), where A binds ?x, B ?y
"""

from __future__ import annotations

from hydrograph.algebra.expressions import And, Expression
from hydrograph.algebra.nodes import (
    Distinct,
    Extend,
    Filter,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Reduced,
    Union,
    Window,
)
from hydrograph.algebra.walk import certain, conjuncts, has_exists, mentioned, rewrite
from hydrograph.rdf.terms import Variable


def push_filters(pattern: Pattern) -> Pattern:
    """Return the pattern with every condition split at && and moved down."""
    return rewrite(pattern, _split)


def _split(pattern: Pattern) -> Pattern:
    if isinstance(pattern, LeftJoin):
        return _of_optional(pattern)
    if not isinstance(pattern, Filter):
        return pattern
    moved = pattern.inner
    for condition in conjuncts(pattern.condition):
        moved = _push(condition, moved)
    return moved


def _of_optional(pattern: LeftJoin) -> Pattern:
    """Move what the condition of an OPTIONAL asks of the optional part alone into that part.

    What it asks of the left part alone stays: a row that fails it is kept without a match.
    """
    if pattern.condition is None:
        return pattern
    inner, rest = pattern.right, []
    for condition in conjuncts(pattern.condition):
        if has_exists(condition) or not _bound(mentioned(condition), inner):
            rest.append(condition)
        else:
            inner = _push(condition, inner)
    if inner is pattern.right:
        return pattern
    return LeftJoin(pattern.left, inner, And(tuple(rest)) if len(rest) > 1 else rest[0] if rest else None)


def _push(condition: Expression, pattern: Pattern) -> Pattern:
    if has_exists(condition):
        return Filter(condition, pattern)  # it reads every variable in scope, so its place is its meaning
    read = mentioned(condition)
    match pattern:
        case Join(left, right) if _bound(read, left):
            return Join(_push(condition, left), right)
        case Join(left, right) if _bound(read, right):
            return Join(left, _push(condition, right))
        case LeftJoin(left, right, test) if _bound(read, left):
            return LeftJoin(_push(condition, left), right, test)
        case Minus(left, right) if _bound(read, left):
            return Minus(_push(condition, left), right)
        case Union(left, right):
            return Union(_push(condition, left), _push(condition, right))
        case Filter(other, inner) if not has_exists(other):
            return Filter(other, _push(condition, inner))
        case Extend(inner, variable, expression) if variable not in read:
            return Extend(_push(condition, inner), variable, expression)
        case Project(inner, kept) if read <= frozenset(kept):
            return Project(_push(condition, inner), kept)
        case Window(name, inner) if name not in read:
            return Window(name, _push(condition, inner))
        case Group(inner, keys, aggregates, implicit) if read <= frozenset(keys) and _bound(read, inner):
            # A group has one value of each key: the condition keeps or drops it whole, with its rows.
            return Group(_push(condition, inner), keys, aggregates, implicit)
        case Distinct(inner):
            return Distinct(_push(condition, inner))
        case Reduced(inner):
            return Reduced(_push(condition, inner))
        case OrderBy(inner, order):
            return OrderBy(_push(condition, inner), order)
        case _:
            return Filter(condition, pattern)


def _bound(read: frozenset[Variable], pattern: Pattern) -> bool:
    return bool(read) and read <= certain(pattern)
