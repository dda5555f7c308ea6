"""Detection of queries that produce floats or doubles although the data has none."""

from __future__ import annotations

from hydrograph.algebra.expressions import Call, Constant, Expression
from hydrograph.algebra.nodes import PathPattern, Pattern, Values
from hydrograph.algebra.walk import expressions, operands, subpatterns
from hydrograph.rdf.terms import Iri, Literal
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_FLOAT

_TYPES = frozenset({XSD_FLOAT, XSD_DOUBLE})
_MAKERS = frozenset({"RAND", "STRDT", *map(Iri, _TYPES)})
"""Functions whose value may be a float or a double although no argument is: STRDT makes terms of any type."""


def makes_inexact(pattern: Pattern) -> bool:
    """Tell whether a solution may bind a float or a double that is not in the data."""
    return any(_in_values(node) or any(map(_in_expression, expressions(node))) for node in subpatterns(pattern))


def _in_values(node: Pattern) -> bool:
    match node:
        case Values(_, rows):
            return any(_is_inexact(term) for row in rows for term in row)
        case PathPattern(subject, _, target):
            return _is_inexact(subject) or _is_inexact(target)  # a path of no steps binds its own end
        case _:
            return False


def _in_expression(expression: Expression) -> bool:
    match expression:
        case Constant(term):
            return _is_inexact(term)
        case Call(function, _) if function in _MAKERS:
            return True
        case _:
            return any(map(_in_expression, operands(expression)))


def _is_inexact(term: object) -> bool:
    return isinstance(term, Literal) and term.datatype in _TYPES
