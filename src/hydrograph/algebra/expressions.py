"""[SPARQL expressions](https://www.w3.org/TR/sparql11-query/#expressions) and aggregates as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from typing import Literal as Choice

from hydrograph.rdf.terms import Iri, Literal, Variable

if TYPE_CHECKING:
    from hydrograph.algebra.nodes import Pattern

Comparison: TypeAlias = Choice["=", "!=", "<", ">", "<=", ">="]
Arithmetic: TypeAlias = Choice["+", "-", "*", "/"]
AggregateName: TypeAlias = Choice["COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A term written in the query."""

    term: Iri | Literal


@dataclass(frozen=True, slots=True)
class Reference:
    """The value of a variable; an error where it is unbound."""

    variable: Variable


@dataclass(frozen=True, slots=True)
class Compare:
    """[Value comparison](https://www.w3.org/TR/sparql11-query/#OperatorMapping)."""

    operator: Comparison
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Calculate:
    """Arithmetic with [numeric promotion](https://www.w3.org/TR/sparql11-query/#operandDataTypes)."""

    operator: Arithmetic
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negate:
    """The unary minus."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Not:
    """[Logical not](https://www.w3.org/TR/sparql11-query/#func-logical-not) of the effective boolean value."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class And:
    """[Logical and](https://www.w3.org/TR/sparql11-query/#func-logical-and); an error is the third truth value."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """[Logical or](https://www.w3.org/TR/sparql11-query/#func-logical-or); an error is the third truth value."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class In:
    """[IN and NOT IN](https://www.w3.org/TR/sparql11-query/#func-in)."""

    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A [built-in function](https://www.w3.org/TR/sparql11-query/#SparqlOps) by its upper-case name, or a cast.

    A cast or extension function is named by its IRI: `Call(Iri(...), arguments)`.
    BOUND, COALESCE and IF are calls too, though they do not evaluate all their arguments.
    IRI has a second argument where the query has a BASE: the constant that relative IRIs start from.
    """

    function: str | Iri
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """[EXISTS and NOT EXISTS](https://www.w3.org/TR/sparql11-query/#func-filter-exists)."""

    pattern: Pattern
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One [aggregate](https://www.w3.org/TR/sparql11-query/#aggregateAlgebra) of a group.

    `argument` is None for `COUNT(*)`; `separator` belongs to GROUP_CONCAT alone.
    Aggregates stand only in `Group.aggregates`, never inside another expression: the translation gives each a variable.
    """

    name: AggregateName
    argument: Expression | None
    distinct: bool = False
    separator: str | None = None


Expression: TypeAlias = Constant | Reference | Compare | Calculate | Negate | Not | And | Or | In | Call | Exists
