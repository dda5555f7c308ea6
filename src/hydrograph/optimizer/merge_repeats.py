"""Match a triple pattern once where a join has it twice: the content of a window is a set (S8), and so is a graph.

(join (window w (bgp A B)) (window w (bgp A C)))  =>  (join (window w (bgp A B)) (window w (bgp C)))
"""

from __future__ import annotations

from functools import reduce

from hydrograph.algebra.nodes import Bgp, Join, Pattern, TriplePattern, Window
from hydrograph.algebra.walk import children, with_children
from hydrograph.rdf.terms import Iri

Seen = set[tuple[Iri | None, TriplePattern]]


def merge_repeats(pattern: Pattern) -> Pattern:
    """Return the pattern with each triple pattern once in a join, for each window."""
    match pattern:
        case Join() | Bgp() | Window(Iri(), Bgp()):
            seen: Seen = set()
            kept = [left for atom in _atoms(pattern) if (left := _new(atom, seen)) is not None]
            # What is left out leaves something behind that is equal to it, so that the first atom always stays.
            return reduce(Join, kept)
        case _:
            return with_children(pattern, tuple(merge_repeats(child) for child in children(pattern)))


def _atoms(pattern: Pattern) -> list[Pattern]:
    match pattern:
        case Join(left, right):
            return [*_atoms(left), *_atoms(right)]
        case Bgp() | Window(Iri(), Bgp()):
            return [pattern]
        case _:
            return [merge_repeats(pattern)]


def _new(atom: Pattern, seen: Seen) -> Pattern | None:
    """Return what of an atom was not seen before; None if nothing is left."""
    match atom:
        case Bgp(patterns) if patterns:
            left = _unseen(patterns, None, seen)
            return Bgp(left) if left else None
        case Window(Iri() as name, Bgp(patterns)) if patterns:
            left = _unseen(patterns, name, seen)
            return Window(name, Bgp(left)) if left else None
        case _:
            return atom


def _unseen(patterns: tuple[TriplePattern, ...], window: Iri | None, seen: Seen) -> tuple[TriplePattern, ...]:
    left = []
    for single in patterns:
        if (window, single) not in seen:
            seen.add((window, single))
            left.append(single)
    return tuple(left)
