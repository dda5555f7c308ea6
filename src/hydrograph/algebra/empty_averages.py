"""AVG over no rows: unbound in engines over SQL, 0 in SPARQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hydrograph.algebra.expressions import Aggregate, Calculate, Call, Compare, Constant, Expression, Reference
from hydrograph.algebra.nodes import Group, Pattern
from hydrograph.algebra.walk import everywhere, rewrite_expression, subpatterns, with_expressions
from hydrograph.rdf.terms import Literal, Variable
from hydrograph.rdf.vocab import XSD_INTEGER

_ZERO, _ONE = (Constant(Literal(text, XSD_INTEGER)) for text in "01")
_ERROR = Calculate("/", _ONE, _ZERO)


def averages_of_nothing(pattern: Pattern) -> Iterator[Variable]:
    """Yield the averages that may be over nothing: only where there is no GROUP BY is there a group without rows."""
    for node in subpatterns(pattern):
        if isinstance(node, Group) and node.implicit:
            yield from (variable for variable, aggregate in node.aggregates if aggregate.name == "AVG")


def with_unbound_averages(pattern: Pattern) -> Pattern:
    """Return the pattern with `IF(COUNT(x) > 0, AVG(x), error)` in place of each `AVG(x)` that may be over no rows."""
    wanted = frozenset(averages_of_nothing(pattern))
    if not wanted:
        return pattern
    taken = sum(len(node.aggregates) for node in subpatterns(pattern) if isinstance(node, Group))
    counts = {variable: Variable(f".a{taken + number}") for number, variable in enumerate(sorted(wanted))}

    def guarded(expression: Expression) -> Expression:
        if isinstance(expression, Reference) and expression.variable in wanted:
            some = Compare(">", Reference(counts[expression.variable]), _ZERO)
            return Call("IF", (some, expression, _ERROR))
        return expression

    def counted(node: Pattern) -> Pattern:
        node = with_expressions(node, lambda expression: rewrite_expression(expression, guarded))
        if not isinstance(node, Group):
            return node
        more = [
            (counts[variable], Aggregate("COUNT", aggregate.argument))
            for variable, aggregate in node.aggregates
            if variable in wanted
        ]
        return replace(node, aggregates=(*node.aggregates, *more))

    return everywhere(pattern, counted)
