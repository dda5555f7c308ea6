"""Drop assignments and aggregates whose variable is not used above them.

(project (?x) (extend ?y E A))  =>  (project (?x) A)

Columns of terms need no rule: the compiler asks each operator only for the parts of terms that are read.
"""

from __future__ import annotations

from hydrograph.algebra.expressions import Aggregate
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
    """Return the pattern without assignments and aggregates that cannot reach the answer."""
    return _prune(pattern, variables(pattern))


def _prune(pattern: Pattern, read: frozenset[Variable]) -> Pattern:
    match pattern:
        case Extend(inner, variable, expression):
            if variable not in read:
                return _prune(inner, read)
            return Extend(_prune(inner, read | mentioned(expression)), variable, expression)
        case Group(inner, keys, aggregates, implicit):
            kept = tuple((output, aggregate) for output, aggregate in aggregates if output in read)
            used = frozenset(keys).union(*(_read_by(aggregate, inner) for _, aggregate in kept))
            return Group(_prune(inner, used), keys, kept, implicit)
        case Project(inner, kept_variables):
            return Project(_prune(inner, frozenset(kept_variables)), kept_variables)
        case Filter(condition, inner):
            return Filter(condition, _prune(inner, read | mentioned(condition)))
        case Join(left, right):
            shared = read | (variables(left) & variables(right))
            return Join(_prune(left, shared), _prune(right, shared))
        case LeftJoin(left, right, condition):
            tested = mentioned(condition) if condition is not None else frozenset[Variable]()
            shared = read | tested | (variables(left) & variables(right))
            return LeftJoin(_prune(left, shared), _prune(right, shared), condition)
        case Minus(left, right):
            return Minus(_prune(left, read | variables(right)), _prune(right, variables(left)))
        case Union(left, right):
            return Union(_prune(left, read), _prune(right, read))
        case Window(name, inner):
            return Window(name, _prune(inner, read | ({name} if isinstance(name, Variable) else set())))
        case Graph(name, inner):
            return Graph(name, _prune(inner, read | ({name} if isinstance(name, Variable) else set())))
        case Slice(inner, offset, limit):
            return Slice(_prune(inner, read), offset, limit)
        case OrderBy(inner, conditions):
            used = read.union(*(mentioned(condition.expression) for condition in conditions))
            return OrderBy(_prune(inner, used), conditions)
        case Distinct(inner):
            # What it compares are whole solutions: every variable in scope counts.
            return Distinct(_prune(inner, variables(inner)))
        case Reduced(inner):
            return Reduced(_prune(inner, variables(inner)))
        case Bgp() | PathPattern() | Values():
            return pattern


def _read_by(aggregate: Aggregate, inner: Pattern) -> frozenset[Variable]:
    if aggregate.argument is not None:
        return mentioned(aggregate.argument)
    return variables(inner) if aggregate.distinct else frozenset()
