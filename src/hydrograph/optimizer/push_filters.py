"""Move each condition of a FILTER as close to the data as its variables are certainly bound."""

from __future__ import annotations

from hydrograph.algebra.expressions import And, Exists, Expression
from hydrograph.algebra.nodes import (
    Distinct,
    Extend,
    Filter,
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
from hydrograph.algebra.walk import certain, mentioned, operands, rewrite
from hydrograph.rdf.terms import Variable


def push_filters(pattern: Pattern) -> Pattern:
    """Return the pattern with every condition split at && and moved down."""
    return rewrite(pattern, _split)


def _split(pattern: Pattern) -> Pattern:
    if not isinstance(pattern, Filter):
        return pattern
    moved = pattern.inner
    for condition in conjuncts(pattern.condition):
        moved = _push(condition, moved)
    return moved


def conjuncts(condition: Expression) -> list[Expression]:
    """Return the conditions that all have to hold: FILTER drops a row whether one is false or an error."""
    if isinstance(condition, And):
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def _push(condition: Expression, pattern: Pattern) -> Pattern:
    if _has_exists(condition):
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
        case Filter(other, inner) if not _has_exists(other):
            return Filter(other, _push(condition, inner))
        case Extend(inner, variable, expression) if variable not in read:
            return Extend(_push(condition, inner), variable, expression)
        case Project(inner, kept) if read <= frozenset(kept):
            return Project(_push(condition, inner), kept)
        case Window(name, inner) if name not in read:
            return Window(name, _push(condition, inner))
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


def _has_exists(condition: Expression) -> bool:
    return isinstance(condition, Exists) or any(_has_exists(operand) for operand in operands(condition))
