"""Graph patterns: the [SPARQL algebra](https://www.w3.org/TR/sparql11-query/#sparqlAlgebra), per instant (S16)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hydrograph.algebra.expressions import Aggregate, Expression
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Variable

PatternTerm: TypeAlias = Iri | Literal | Variable
"""A term of a triple pattern; blank nodes of the query text have become variables named with a leading dot."""


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """[A triple pattern](https://www.w3.org/TR/sparql11-query/#defn_TriplePattern)."""

    subject: PatternTerm
    predicate: Iri | Variable
    object: PatternTerm


# Property paths: https://www.w3.org/TR/sparql11-query/#propertypaths


@dataclass(frozen=True, slots=True)
class Link:
    """A path of one predicate."""

    predicate: Iri


@dataclass(frozen=True, slots=True)
class Inverse:
    """`^path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """`left / right`."""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class Alternative:
    """`left | right`."""

    left: Path
    right: Path


@dataclass(frozen=True, slots=True)
class ZeroOrMore:
    """`path*`."""

    path: Path


@dataclass(frozen=True, slots=True)
class OneOrMore:
    """`path+`."""

    path: Path


@dataclass(frozen=True, slots=True)
class ZeroOrOne:
    """`path?`."""

    path: Path


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """`!(p | ^q)`: any predicate but these, forwards and backwards."""

    forward: tuple[Iri, ...]
    backward: tuple[Iri, ...] = ()
    has_forward: bool = True
    has_backward: bool = False


Path: TypeAlias = Link | Inverse | Sequence | Alternative | ZeroOrMore | OneOrMore | ZeroOrOne | NegatedSet


@dataclass(frozen=True, slots=True)
class Bgp:
    """[Basic graph pattern](https://www.w3.org/TR/sparql11-query/#BasicGraphPatterns)."""

    patterns: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class PathPattern:
    """[Property path pattern](https://www.w3.org/TR/sparql11-query/#sparqlPropertyPaths)."""

    subject: PatternTerm
    path: Path
    object: PatternTerm


@dataclass(frozen=True, slots=True)
class Join:
    """[Join](https://www.w3.org/TR/sparql11-query/#defn_algJoin), S20."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """[LeftJoin](https://www.w3.org/TR/sparql11-query/#defn_algLeftJoin), S22."""

    left: Pattern
    right: Pattern
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """[Filter](https://www.w3.org/TR/sparql11-query/#defn_algFilter)."""

    condition: Expression
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Union:
    """[Union](https://www.w3.org/TR/sparql11-query/#defn_algUnion)."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus:
    """[Minus](https://www.w3.org/TR/sparql11-query/#defn_algMinus), S23."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Extend:
    """[Extend](https://www.w3.org/TR/sparql11-query/#defn_extend)."""

    inner: Pattern
    variable: Variable
    expression: Expression


@dataclass(frozen=True, slots=True)
class Graph:
    """[Graph](https://www.w3.org/TR/sparql11-query/#defn_evalGraph): static named graphs."""

    name: Iri | Variable
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Window:
    """The content of a named window (A9); a variable ranges over the named windows."""

    name: Iri | Variable
    inner: Pattern


@dataclass(frozen=True, slots=True)
class Values:
    """[Inline data](https://www.w3.org/TR/sparql11-query/#inline-data); None is UNDEF."""

    variables: tuple[Variable, ...]
    rows: tuple[tuple[Iri | Literal | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """[Group and AggregateJoin](https://www.w3.org/TR/sparql11-query/#aggregateAlgebra), S25.

    The result binds the keys and one variable for each aggregate. Keys are variables: the translation has
    put expressions of GROUP BY into an `Extend` below. No keys is one group, empty or not.
    """

    inner: Pattern
    keys: tuple[Variable, ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]
    implicit: bool = False
    """True where no GROUP BY was written: then there is one group at every report, even of nothing."""


@dataclass(frozen=True, slots=True)
class Project:
    """[Projection](https://www.w3.org/TR/sparql11-query/#defn_algProjection); inside a pattern it is a subquery."""

    inner: Pattern
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """[Distinct](https://www.w3.org/TR/sparql11-query/#defn_algDistinct), S21."""

    inner: Pattern


@dataclass(frozen=True, slots=True)
class Reduced:
    """[Reduced](https://www.w3.org/TR/sparql11-query/#defn_algReduced)."""

    inner: Pattern


@dataclass(frozen=True, slots=True)
class Order:
    """One condition of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class OrderBy:
    """[OrderBy](https://www.w3.org/TR/sparql11-query/#defn_algOrdered), S26."""

    inner: Pattern
    conditions: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """[Slice](https://www.w3.org/TR/sparql11-query/#defn_algSlice): OFFSET and LIMIT."""

    inner: Pattern
    offset: int = 0
    limit: int | None = None


Pattern: TypeAlias = (
    Bgp
    | PathPattern
    | Join
    | LeftJoin
    | Filter
    | Union
    | Minus
    | Extend
    | Graph
    | Window
    | Values
    | Group
    | Project
    | Distinct
    | Reduced
    | OrderBy
    | Slice
)

TemplateTerm: TypeAlias = Iri | Literal | BlankNode | Variable
