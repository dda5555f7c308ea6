"""Selectivity of the patterns of a query: Stream WatDiv's result cardinality and its three selectivities.

They are defined for a basic graph pattern with filters (Aluc et al. 2014) over one graph: the content of a window and
the static data together. Mappings are counted as sets, the cardinality of the result as a bag.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from hydrograph.algebra.expressions import Aggregate, Expression, Reference
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
    Pattern,
    PatternTerm,
    Project,
    Slice,
    TriplePattern,
    Union,
    Values,
    Window,
)
from hydrograph.algebra.queries import ContinuousQuery, Select
from hydrograph.algebra.walk import conjuncts, has_exists, mentioned
from hydrograph.errors import UnsupportedError
from hydrograph.language.printer import print_sparql
from hydrograph.rdf.terms import Literal, Variable
from hydrograph.windows.stream import Graph as Triples
from hydrograph_gauge.features.structure import find_join_vertices, list_patterns
from hydrograph_gauge.oracle.dataset import Answer, Dataset, Row
from hydrograph_gauge.oracle.window_store import load_dataset

Ask: TypeAlias = Callable[[str], Answer]
"""Function that evaluates plain SPARQL over a loaded graph."""


class StaticUnit(StrEnum):
    """Unit of averages over static patterns: each pattern, or each connected component of them."""

    PATTERN = "pattern"
    COMPONENT = "component"


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Patterns and filters of a query; `static` marks the patterns that read static data."""

    patterns: tuple[TriplePattern, ...]
    static: tuple[bool, ...]
    filters: tuple[Expression, ...]

    @classmethod
    def of(cls, query: ContinuousQuery) -> Conjunction:
        """Return them, or raise UnsupportedError if the query is more than a conjunction with filters."""
        placed = list(list_patterns(query))
        found = [each.pattern for each in placed if isinstance(each.pattern, TriplePattern)]
        if len(found) != len(placed) or not found:
            reason = "the query uses property paths" if placed else "the query has no triple patterns"
            raise UnsupportedError(f"selectivities not computed: {reason}")
        conditions = tuple(_filters(query.pattern))
        return cls(tuple(found), tuple(each.stream is None for each in placed), conditions)

    def units(self, unit: StaticUnit) -> list[list[int]]:
        """Return the groups of patterns, by number, that count once in averages."""
        if unit is StaticUnit.PATTERN:
            return [[number] for number in range(len(self.patterns))]
        units: list[list[int]] = []
        for number, pattern in enumerate(self.patterns):
            ends = {pattern.subject, pattern.object}
            near = [
                other
                for other in units
                if self.static[number] and self.static[other[0]] and any(ends & self._ends(each) for each in other)
            ]
            units = [other for other in units if other not in near]
            units.append(sorted([number, *(each for other in near for each in other)]))
        return sorted(units)

    def _ends(self, number: int) -> set[PatternTerm]:
        return {self.patterns[number].subject, self.patterns[number].object}


def explain_undefined(query: ContinuousQuery) -> str | None:
    """Return the reason why selectivities of a query are undefined, or None if they are defined."""
    try:
        Conjunction.of(query)
    except UnsupportedError as error:
        return str(error)
    return None


def _filters(pattern: Pattern) -> list[Expression]:
    match pattern:
        case Filter(condition, inner):
            # The patterns of EXISTS are not joined into a solution.
            if has_exists(condition):
                raise UnsupportedError("selectivities not computed: the query uses EXISTS")
            return [*conjuncts(condition), *_filters(inner)]
        case Project(inner) | Distinct(inner) | Window(_, inner) | Graph(_, inner):
            return _filters(inner)
        case Join(left, right):
            return [*_filters(left), *_filters(right)]
        case Bgp():
            return []
        case _:
            raise UnsupportedError(f"selectivities not computed: the query uses {_keyword(pattern)}")


def _keyword(pattern: Pattern) -> str:
    """Return the SPARQL keyword of an operator.

    >>> _keyword(OrderBy(Bgp(()), ()))
    'ORDER BY'
    """
    keywords: dict[type[Pattern], str] = {
        Extend: "BIND or SELECT expressions",
        Group: "aggregates",
        LeftJoin: "OPTIONAL",
        Minus: "MINUS",
        OrderBy: "ORDER BY",
        Slice: "LIMIT or OFFSET",
        Union: "UNION",
        Values: "VALUES",
    }
    return keywords.get(type(pattern), type(pattern).__name__.upper())


@dataclass(frozen=True, slots=True)
class Selectivities:
    """Selectivities over one graph: for each pattern, and for each pattern and join vertex."""

    cardinality: int
    patterns: tuple[Fraction, ...]
    """f-TP: the share of the graph's triples that a pattern matches."""
    restricted: tuple[Fraction, ...]
    """BGP-restricted: the share of a pattern's mappings that are part of a solution."""
    joined: tuple[dict[PatternTerm, Fraction], ...]
    """Join-restricted: the share of a pattern's mappings that the patterns around a join vertex leave."""


def count_solutions(found: Conjunction, ask: Ask) -> int:
    """Return the number of solutions, as a bag, without holding them in memory."""
    ((number,),) = ask(_counting(found))
    assert isinstance(number, Literal)
    return int(number.lexical)


def load_graph(graph: Triples) -> Ask:
    """Load a graph and return a function that evaluates plain SPARQL over it."""
    return load_dataset(Dataset(graph)).answer


def compute_selectivities(found: Conjunction, graph: Triples, ask: Ask | None = None) -> Selectivities:
    """Return the selectivities of patterns and filters over a graph; `ask` answers over it, if it is loaded already."""
    asked = load_graph(graph) if ask is None else ask

    def mappings(numbers: Sequence[int], wanted: tuple[Variable, ...]) -> tuple[Row, ...]:
        chosen = [found.patterns[number] for number in numbers]
        return asked(_text(chosen, found.filters, wanted))

    everything = range(len(found.patterns))
    whole = count_solutions(found, asked)
    around = {
        vertex.term: [n for n in everything if vertex.term in (found.patterns[n].subject, found.patterns[n].object)]
        for vertex in find_join_vertices(list(found.patterns))
    }
    matched, restricted, joined = [], [], []
    for number in everything:
        columns = _variables([found.patterns[number]])
        own = set(mappings([number], columns))
        matched.append(Fraction(len(own), len(graph)) if graph else Fraction(0))
        restricted.append(_share(own, set(mappings(everything, columns))))
        at = {term: numbers for term, numbers in around.items() if number in numbers}
        joined.append({term: _share(own, set(mappings(numbers, columns))) for term, numbers in at.items()})
    return Selectivities(whole, tuple(matched), tuple(restricted), tuple(joined))


def _share(own: set[Row], left: set[Row]) -> Fraction:
    return Fraction(len(own & left), len(own)) if own else Fraction(0)


def _variables(chosen: Sequence[TriplePattern]) -> tuple[Variable, ...]:
    terms = [term for each in chosen for term in (each.subject, each.predicate, each.object)]
    return tuple(dict.fromkeys(term for term in terms if isinstance(term, Variable)))


def _text(chosen: list[TriplePattern], filters: Sequence[Expression], wanted: tuple[Variable, ...]) -> str:
    """Return the query for the distinct solutions of some patterns, with the filters whose variables they bind."""
    # A query without variables still has a solution, or none.
    columns = wanted or (Variable("none"),)
    pattern = Distinct(Project(_covered(chosen, filters), columns))
    return print_sparql(ContinuousQuery(Select(columns), pattern))


def _counting(found: Conjunction) -> str:
    counted, column = Variable(".a0"), Variable("n")
    group = Group(_covered(list(found.patterns), found.filters), (), ((counted, Aggregate("COUNT", None)),), True)  # noqa: FBT003
    extended = Extend(group, column, Reference(counted))
    return print_sparql(ContinuousQuery(Select((column,)), Project(extended, (column,))))


def _covered(chosen: list[TriplePattern], filters: Sequence[Expression]) -> Pattern:
    known = set(_variables(chosen))
    pattern: Pattern = Bgp(tuple(chosen))
    for condition in (each for each in filters if mentioned(each) <= known):
        pattern = Filter(condition, pattern)
    return pattern
