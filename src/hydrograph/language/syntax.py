"""Syntax tree that the parser builds and `syntax_to_algebra` translates.

Terms, paths and expressions are the algebra's own records already; groups and query levels have records of their own.
Offsets point into the text, for errors found in translation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hydrograph.algebra.expressions import Aggregate, Expression
from hydrograph.algebra.nodes import Order, Path, PatternTerm, TriplePattern, Values
from hydrograph.rdf.terms import Iri, Variable


class PathTriple(NamedTuple):
    """Triple whose verb is a property path that is not a single IRI."""

    subject: PatternTerm
    path: Path
    object: PatternTerm


class TriplesBlock(NamedTuple):
    """Triples between two other elements of a group."""

    triples: tuple[TriplePattern | PathTriple, ...]


class FilterElement(NamedTuple):
    """`FILTER condition`."""

    condition: Expression


class OptionalElement(NamedTuple):
    """`OPTIONAL { … }`."""

    group: GroupElement


class MinusElement(NamedTuple):
    """`MINUS { … }`."""

    group: GroupElement


class UnionElement(NamedTuple):
    """`{ … } UNION { … }`, or a nested group alone."""

    groups: tuple[GroupElement, ...]


class NamedElement(NamedTuple):
    """`GRAPH name { … }` or `WINDOW name { … }`."""

    name: Iri | Variable
    group: GroupElement
    window: bool


class BindElement(NamedTuple):
    """`BIND(expression AS variable)`."""

    expression: Expression
    variable: Variable
    offset: int


class ValuesElement(NamedTuple):
    """`VALUES … { … }`."""

    values: Values


class GroupElement(NamedTuple):
    """`{ … }`: its elements, or a single subquery."""

    elements: tuple[Element, ...]
    subquery: Level | None = None


EMPTY = GroupElement(())

Element: TypeAlias = (
    TriplesBlock
    | FilterElement
    | OptionalElement
    | MinusElement
    | UnionElement
    | NamedElement
    | BindElement
    | ValuesElement
)


class Projected(NamedTuple):
    """One item of SELECT or GROUP BY: a variable, an expression, or an expression with a name."""

    variable: Variable
    expression: Expression | None
    offset: int


class Condition(NamedTuple):
    """One condition of HAVING or ORDER BY."""

    order: Order
    offset: int


@dataclass(slots=True)
class Level:
    """One query level: the outermost query or a subquery, with its solution modifiers."""

    projection: tuple[Projected, ...] | None = None
    """None is `*`, or a form without projection."""
    star_offset: int | None = None
    """Offset of the `*` of SELECT, if there is one."""
    distinct: bool = False
    reduced: bool = False
    where: GroupElement = EMPTY
    keys: tuple[Projected, ...] | None = None
    having: tuple[Condition, ...] = ()
    order: tuple[Condition, ...] = ()
    limit: int | None = None
    offset: int | None = None
    values: Values | None = None
    aggregates: list[tuple[Variable, Aggregate]] = field(default_factory=list)
    """The aggregates of SELECT, HAVING and ORDER BY, each with its variable."""
