"""SUM and AVG over xsd:float, added up in doubles and rounded once.

An evaluator that adds floats up in single precision is off by more than A12 allows after some dozen of them, and by
another amount for another order of the rows. What is right is the sum itself, as a float.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from hydrograph.algebra.expressions import Aggregate, And, Calculate, Call, Compare, Constant, Expression, Reference
from hydrograph.algebra.nodes import Group, Pattern
from hydrograph.algebra.walk import everywhere, rewrite_expression, subpatterns, with_expressions
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER

_ZERO, _ONE = (Constant(Literal(text, XSD_INTEGER)) for text in "01")
_ERROR = Calculate("/", _ONE, _ZERO)


@dataclass(frozen=True, slots=True)
class _Total:
    """A SUM or AVG, and the variables of what must be known to round it once."""

    aggregate: Aggregate
    argument: Expression
    counted: Variable
    single: Variable
    below_double: Variable
    in_doubles: Variable

    @property
    def aggregates(self) -> Iterator[tuple[Variable, Aggregate]]:
        datatype = Call("DATATYPE", (self.argument,))
        is_single = Compare("=", datatype, Constant(Iri(XSD_FLOAT)))
        is_below = And((Call("ISNUMERIC", (self.argument,)), Compare("!=", datatype, Constant(Iri(XSD_DOUBLE)))))
        yield self.counted, Aggregate("COUNT", self.argument)
        yield self.single, Aggregate("SUM", Call("IF", (is_single, _ONE, _ZERO)))
        yield self.below_double, Aggregate("SUM", Call("IF", (is_below, _ONE, _ZERO)))
        yield self.in_doubles, replace(self.aggregate, argument=Call(Iri(XSD_DOUBLE), (self.argument,)))

    def value(self, plain: Expression) -> Expression:
        """Return the total rounded once where it is a float, and the plain one where it is something else."""
        known = Compare("=", Reference(self.below_double), Reference(self.counted))
        is_single = And((Compare(">", Reference(self.single), _ZERO), known))
        rounded = Call(Iri(XSD_FLOAT), (Reference(self.in_doubles),))
        return Call("COALESCE", (Call("IF", (is_single, rounded, _ERROR)), plain))


def rounded_once(pattern: Pattern) -> Pattern:
    """Return the pattern with each SUM and AVG of floats made in doubles; those of distinct values stay as they are."""
    totals = _totals(pattern)
    if not totals:
        return pattern

    def valued(expression: Expression) -> Expression:
        if isinstance(expression, Reference) and expression.variable in totals:
            return totals[expression.variable].value(expression)
        return expression

    def widened(node: Pattern) -> Pattern:
        node = with_expressions(node, lambda expression: rewrite_expression(expression, valued))
        if not isinstance(node, Group):
            return node
        more = [each for variable, _ in node.aggregates if variable in totals for each in totals[variable].aggregates]
        return replace(node, aggregates=(*node.aggregates, *more))

    return everywhere(pattern, widened)


def _totals(pattern: Pattern) -> dict[Variable, _Total]:
    groups = [node for node in subpatterns(pattern) if isinstance(node, Group)]
    names = (Variable(f".a{number}") for number in count(sum(len(node.aggregates) for node in groups)))
    return {
        variable: _Total(aggregate, aggregate.argument, next(names), next(names), next(names), next(names))
        for node in groups
        for variable, aggregate in node.aggregates
        if aggregate.name in ("SUM", "AVG") and not aggregate.distinct and aggregate.argument is not None
    }
