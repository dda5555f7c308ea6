"""Leave out what nobody reads: assignments and aggregates whose variable is not used above them.

Columns of terms need no rule: the compiler asks each operator only for the parts of terms that are read.
"""

from __future__ import annotations

from hydrograph.algebra.nodes import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Slice,
    Union,
    Values,
    Window,
)
from hydrograph.algebra.walk import mentioned, variables
from hydrograph.rdf.terms import Variable


def prune_columns(pattern: Pattern) -> Pattern:
    """Return the pattern without assignments and aggregates that can't reach the answer."""
    return _prune(pattern, variables(pattern))


def _prune(pattern: Pattern, read: frozenset[Variable]) -> Pattern:
    match pattern:
        case Extend(inner, variable, expression):
            if variable not in read:
                return _prune(inner, read)
            return Extend(_prune(inner, read | mentioned(expression)), variable, expression)
        case Group(inner, keys, aggregates, implicit):
            kept = tuple((output, aggregate) for output, aggregate in aggregates if output in read)
            used = frozenset(keys).union(
                *(mentioned(aggregate.argument) for _, aggregate in kept if aggregate.argument is not None)
            )
            return Group(_prune(inner, used), keys, kept, implicit)
        case Project(inner, kept_variables):
            return Project(_prune(inner, frozenset(kept_variables)), kept_variables)
        case Filter(condition, inner):
            return Filter(condition, _prune(inner, read | mentioned(condition)))
        case Join(left, right):
            shared = read | (variables(left) & variables(right))
            return Join(_prune(left, shared), _prune(right, shared))
        case Window(name, inner):
            return Window(name, _prune(inner, read))
        case Slice(inner, offset, limit):
            return Slice(_prune(inner, read), offset, limit)
        case OrderBy(inner, conditions):
            used = read.union(*(mentioned(condition.expression) for condition in conditions))
            return OrderBy(_prune(inner, used), conditions)
        case Distinct() | Reduced() | LeftJoin() | Minus() | Union() | Graph():
            # What these compare are whole solutions: every variable in scope counts.
            return pattern
        case Bgp() | PathPattern() | Values():
            return pattern
