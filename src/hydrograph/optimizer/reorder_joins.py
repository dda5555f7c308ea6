"""Order the triple patterns of a join: selective ones first, each connected to those before it.

(bgp (triple ?a p ?b) (triple ?b q <c>))  =>  (join (bgp (triple ?b q <c>)) (bgp (triple ?a p ?b)))

Basic graph patterns are split into single triple patterns, so that filters reach each of them.
"""

from __future__ import annotations

from functools import reduce

from hydrograph.algebra.nodes import Bgp, Filter, Graph, Join, Pattern, TriplePattern, Window
from hydrograph.algebra.walk import children, variables, with_children
from hydrograph.rdf.terms import Iri, Variable

_PREDICATE_ONLY = 1_000
"""The cost of a pattern with nothing but a constant predicate; each further constant divides it."""
_SUBJECT, _OBJECT = 100, 50
_ANY_PREDICATE = 20
_WINDOW = 2
"""A window's rows come with intervals, are many and move between tasks; static ones stand still."""


def reorder_joins(pattern: Pattern) -> Pattern:
    """Return the pattern with its joins left-deep and in the order of their estimated cost."""
    return reduce(Join, _ordered(_atoms(pattern)))


def _atoms(pattern: Pattern) -> list[Pattern]:
    """Return what is joined: single triple patterns, and other patterns as a whole."""
    match pattern:
        case Join(left, right):
            return [*_atoms(left), *_atoms(right)]
        case Bgp(patterns) if len(patterns) > 1:
            return [Bgp((single,)) for single in patterns]
        case Window(name, Bgp(patterns)) if len(patterns) > 1:
            return [Window(name, Bgp((single,))) for single in patterns]
        case Graph(Iri() as name, Bgp(patterns)) if len(patterns) > 1:
            # Static patterns that only streams connect would be a cross product on their own.
            return [Graph(name, Bgp((single,))) for single in patterns]
        case _:
            inner = tuple(reorder_joins(child) for child in children(pattern))
            return [with_children(pattern, inner)]


def _ordered(atoms: list[Pattern]) -> list[Pattern]:
    """Return the atoms, cheapest first, then always the cheapest that shares a variable with those before."""
    rest = list(atoms)
    ordered: list[Pattern] = []
    known: frozenset[Variable] = frozenset()
    while rest:
        connected = [atom for atom in rest if variables(atom) & known] or rest
        chosen = min(connected, key=cost)
        rest.remove(chosen)
        ordered.append(chosen)
        known |= variables(chosen)
    return ordered


def cost(pattern: Pattern) -> float:
    """Return a rough number of rows: only the order of these numbers matters."""
    match pattern:
        case Bgp((single,)):
            return _triple_cost(single)
        case Window(_, inner):
            return _WINDOW * cost(inner)
        case Filter(_, inner):
            return cost(inner) / 2
        case _:
            return sum(cost(child) for child in children(pattern)) or _PREDICATE_ONLY


def _triple_cost(pattern: TriplePattern) -> float:
    rows = float(_PREDICATE_ONLY)
    if not isinstance(pattern.subject, Variable):
        rows /= _SUBJECT
    if not isinstance(pattern.object, Variable):
        rows /= _OBJECT
    if isinstance(pattern.predicate, Variable):
        rows *= _ANY_PREDICATE
    return rows
