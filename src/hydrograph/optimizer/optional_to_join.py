"""Make OPTIONAL a join where a FILTER above drops the rows that it left unbound.

(filter (> ?y 5) (leftjoin A B))  =>  (filter (> ?y 5) (join A B)), where only B binds ?y, and always
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import assert_never

from hydrograph.algebra.expressions import (
    And,
    Calculate,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Reference,
)
from hydrograph.algebra.nodes import Filter, Join, LeftJoin, Pattern
from hydrograph.algebra.walk import certain, has_exists, operands, rewrite, variables
from hydrograph.rdf.terms import Variable

Names = frozenset[Variable]
_NONE: Names = frozenset()
_LENIENT = frozenset({"BOUND", "COALESCE", "IF"})
"""Functions that give a value although an argument has none."""


def optional_to_join(pattern: Pattern) -> Pattern:
    """Return the pattern with a join in place of each OPTIONAL whose rows without a match are dropped."""
    return rewrite(pattern, _from_filter)


def _from_filter(pattern: Pattern) -> Pattern:
    if not isinstance(pattern, Filter):
        return pattern
    inner = _bound(pattern.inner, needed(pattern.condition))
    return pattern if inner is pattern.inner else replace(pattern, inner=inner)


def _bound(pattern: Pattern, wanted: Names) -> Pattern:
    """Return a pattern that has at least the solutions in which all of `wanted` are bound, and no new ones."""
    if not wanted:
        return pattern
    match pattern:
        case LeftJoin(left, right, condition):
            own = variables(left)
            if wanted & certain(right) - own and not (condition is not None and has_exists(condition)):
                joined = Join(_bound(left, wanted - variables(right)), _bound(right, wanted - own))
                return joined if condition is None else Filter(condition, joined)
            inner = _bound(left, wanted - variables(right))
            return pattern if inner is left else replace(pattern, left=inner)
        case Join(left, right):
            sides = _bound(left, wanted - variables(right)), _bound(right, wanted - variables(left))
            return pattern if sides == (left, right) else Join(*sides)
        case Filter(condition, inner):
            found = _bound(inner, wanted)
            return pattern if found is inner else Filter(condition, found)
        case _:
            return pattern


def needed(condition: Expression) -> Names:
    """Return variables without which a condition is false or an error, so that a FILTER drops the row."""
    match condition:
        case And(chain):
            return frozenset[Variable]().union(*map(needed, chain))
        case Or(chain):
            return reduce(frozenset.intersection, map(needed, chain))
        case Call("BOUND", (Reference(variable),)):
            return frozenset({variable})
        case _:
            return _strict(condition)


def _strict(expression: Expression) -> Names:
    """Return variables without which an expression is an error."""
    match expression:
        case Reference(variable):
            return frozenset({variable})
        case Compare() | Calculate() | Negate() | Not():
            return frozenset[Variable]().union(*map(_strict, operands(expression)))
        case And(chain) | Or(chain):
            # One operand that is no error may decide alone.
            return reduce(frozenset.intersection, map(_strict, chain))
        case In(operand, choices):
            return _strict(operand) if choices else _NONE
        case Call(function, arguments):
            return _NONE if function in _LENIENT else frozenset[Variable]().union(*map(_strict, arguments))
        case Constant() | Exists():
            return _NONE
        case _:
            assert_never(expression)
