"""Put an IRI into the triple patterns in place of a variable that a FILTER holds equal to it.

(filter (= ?x <a>) (bgp (triple ?x p ?y)))  =>  (extend (bgp (triple <a> p ?y)) ?x <a>)

An IRI is equal to itself alone. Equal literals may be different terms, so they stay where they are.
"""

from __future__ import annotations

from dataclasses import replace

from hydrograph.algebra.expressions import And, Compare, Constant, Reference
from hydrograph.algebra.nodes import Bgp, Extend, Filter, Join, Pattern, PatternTerm, TriplePattern, Window
from hydrograph.algebra.walk import certain, conjuncts, has_exists, mentioned, rewrite
from hydrograph.rdf.terms import Iri, Variable


def substitute_constants(pattern: Pattern) -> Pattern:
    """Return the pattern with IRIs in place of variables wherever a condition lets them have no other value."""
    return rewrite(pattern, _from_filter)


def _from_filter(pattern: Pattern) -> Pattern:
    if not isinstance(pattern, Filter):
        return pattern
    conditions = conjuncts(pattern.condition)
    for place, condition in enumerate(conditions):
        match condition:
            case Compare("=", Reference(variable), Constant(Iri() as iri)):
                pass
            case Compare("=", Constant(Iri() as iri), Reference(variable)):
                pass
            case _:
                continue
        if variable in certain(pattern.inner) and (inner := _with(pattern.inner, variable, iri)) is not None:
            rest = tuple(conditions[:place] + conditions[place + 1 :])
            found = Extend(inner, variable, Constant(iri))
            return Filter(And(rest) if len(rest) > 1 else rest[0], found) if rest else found
    return pattern


def _with(pattern: Pattern, variable: Variable, iri: Iri) -> Pattern | None:
    """Return the pattern with `iri` for `variable`; None where it holds more than joins of triple patterns."""
    match pattern:
        case Bgp(patterns):
            return Bgp(tuple(_triple(single, variable, iri) for single in patterns))
        case Window(Iri() as name, inner):
            found = _with(inner, variable, iri)
            return None if found is None else Window(name, found)
        case Join(left, right):
            sides = _with(left, variable, iri), _with(right, variable, iri)
            return None if sides[0] is None or sides[1] is None else Join(sides[0], sides[1])
        case Filter(condition, inner) if variable not in mentioned(condition) and not has_exists(condition):
            found = _with(inner, variable, iri)
            return None if found is None else Filter(condition, found)
        case _:
            return None


def _triple(pattern: TriplePattern, variable: Variable, iri: Iri) -> TriplePattern:
    def put(term: PatternTerm) -> PatternTerm:
        return iri if term == variable else term

    predicate = iri if pattern.predicate == variable else pattern.predicate
    return replace(pattern, subject=put(pattern.subject), predicate=predicate, object=put(pattern.object))
