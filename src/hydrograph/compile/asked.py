"""What a join asks of its sides: each part of a term comes from one of them, and from the cheaper one."""

from __future__ import annotations

from typing import assert_never

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
from hydrograph.algebra.walk import certain, variables
from hydrograph.compile.relation import Demand, Part, Parts
from hydrograph.rdf.terms import Variable

_ID: Parts = frozenset({Part.ID})


def asked_by_join(left: Pattern, right: Pattern, demand: Demand) -> tuple[dict[Variable, Parts], dict[Variable, Parts]]:
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
    match pattern:
        case Window():
            return False
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
            return _is_static(left) and _is_static(right)
        case Filter(_, inner) | Extend(inner) | Graph(_, inner) | Group(inner) | Project(inner):
            return _is_static(inner)
        case Distinct(inner) | Reduced(inner) | OrderBy(inner) | Slice(inner):
            return _is_static(inner)
        case Bgp() | PathPattern() | Values():
            return True
        case _:
            assert_never(pattern)
