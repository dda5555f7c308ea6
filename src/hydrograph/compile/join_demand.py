"""What a join asks of its sides: each part of a term comes from one of them, and from the cheaper one."""

from __future__ import annotations

from hydrograph.algebra.nodes import Pattern, Window
from hydrograph.algebra.walk import certain, children, variables
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
    return not isinstance(pattern, Window) and all(map(_is_static, children(pattern)))
