"""Demand of an expression: the parts of each variable that it reads, and whether it reads the clock."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from hydrograph.algebra.expressions import (
    Calculate,
    Call,
    Compare,
    Constant,
    Expression,
    In,
    Negate,
    Reference,
)
from hydrograph.algebra.walk import VOLATILE, operands
from hydrograph.compile.relation import Demand, Part, Parts
from hydrograph.rdf.encoding import NUMERIC, Kind, encode
from hydrograph.rdf.terms import Variable
from hydrograph.rdf.xsd import is_single

_ALL: Parts = frozenset(Part)
_WRITTEN: Parts = frozenset({Part.TEXT, Part.KIND})
_NUMBER: Parts = frozenset({Part.KIND, Part.NUMBER, Part.DECIMAL})
_OF_TEXT = frozenset(
    (
        "STR", "LANG", "DATATYPE", "IRI", "STRDT", "STRLANG", "STRLEN", "UCASE", "LCASE", "STRSTARTS", "STRENDS",
        "CONTAINS", "STRBEFORE", "STRAFTER", "ENCODE_FOR_URI", "CONCAT", "LANGMATCHES", "REGEX", "REPLACE", "MD5",
        "SHA1", "SHA256", "SHA384", "SHA512", "YEAR", "MONTH", "DAY", "HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ",
        "BNODE",
    )
)  # fmt: skip
_OF_NUMBER = frozenset({"ABS", "CEIL", "FLOOR", "ROUND"})
_OF_KIND = frozenset({"ISIRI", "ISBLANK", "ISLITERAL"})


def reads_clock(expression: Expression) -> bool:
    """Tell whether the value changes from one instant to the next: NOW, and what is seeded by the instant (S28, A6).

    Then the rows must be exploded to single ranks before it is evaluated; static rows take their ranks from the domain.
    """
    match expression:
        case Call(function, arguments):
            return function == "NOW" or function in VOLATILE or any(map(reads_clock, arguments))
        case _:
            return any(map(reads_clock, operands(expression)))


def expression_demand(expression: Expression) -> dict[Variable, Parts]:
    """Return what a condition or a value reads of each variable."""
    match expression:
        case Reference(variable):
            return {variable: _ALL}
        case Compare(operator, left, right):
            return merge_demands(*_comparison_needs(operator, left, right))
        case In(operand, choices):
            pairs = [_comparison_needs("=", operand, choice) for choice in choices]
            return merge_demands(expression_demand(operand), *[demand for pair in pairs for demand in pair])
        case Calculate() | Negate():
            return _with(expression, _NUMBER)
        case Call(function, arguments):
            return _call_needs(expression, function if isinstance(function, str) else "", arguments)
        case _:
            return merge_demands(*map(expression_demand, operands(expression)))


def _with(expression: Expression, parts: Parts) -> dict[Variable, Parts]:
    """Return the needs of the operands, of which variables are read in `parts` only."""
    return merge_demands(
        *({o.variable: parts} if isinstance(o, Reference) else expression_demand(o) for o in operands(expression))
    )


def _call_needs(expression: Expression, function: str, arguments: tuple[Expression, ...]) -> dict[Variable, Parts]:
    if function == "BOUND":
        return _with(expression, frozenset({Part.ID}))
    if function == "ISNUMERIC":
        return _with(expression, frozenset({Part.ID, Part.NUMBER}))
    if function in _OF_KIND:
        return _with(expression, frozenset({Part.KIND}))
    if function == "SUBSTR":
        text, *numbers = arguments
        counts = [{n.variable: _NUMBER} if isinstance(n, Reference) else expression_demand(n) for n in numbers]
        return merge_demands(
            {text.variable: _WRITTEN} if isinstance(text, Reference) else expression_demand(text), *counts
        )
    if function in _OF_TEXT:
        return _with(expression, _WRITTEN)
    if function in _OF_NUMBER:
        return _with(expression, _NUMBER)
    return merge_demands(*map(expression_demand, arguments))


def _comparison_needs(operator: str, left: Expression, right: Expression) -> Iterable[dict[Variable, Parts]]:
    for mine, other in ((left, right), (right, left)):
        if isinstance(mine, Reference):
            yield {mine.variable: _operand_needs(other, ordered=operator not in ("=", "!="))}
        else:
            yield expression_demand(mine)


def _operand_needs(other: Expression, *, ordered: bool) -> Parts:
    """Return what is read of a variable compared with `other`: little if that is a constant."""
    if not isinstance(other, Constant):
        return _ALL
    encoded = encode(other.term)
    if encoded.kind in (Kind.IRI, Kind.LANG):
        return frozenset({Part.ID, Part.KIND} if ordered else {Part.ID})
    if encoded.kind in NUMERIC:
        exact = {Part.NUMBER, Part.DECIMAL}
        plain = encoded.kind is Kind.DOUBLE or (encoded.num is not None and is_single(encoded.num))
        numeric = exact if plain and encoded.kind is not Kind.FLOAT else {*exact, Part.KIND}
        return frozenset(numeric if ordered else {*numeric, Part.ID, Part.KIND})
    if encoded.kind in (Kind.STRING, Kind.OTHER) and not ordered:
        return frozenset({Part.ID, Part.KIND})
    return _ALL


def merge_demands(*demands: Demand) -> dict[Variable, Parts]:
    """Return everything that any of the demands asks for."""

    def merge(known: dict[Variable, Parts], more: Demand) -> dict[Variable, Parts]:
        return known | {variable: known.get(variable, frozenset()) | parts for variable, parts in more.items()}

    return reduce(merge, demands, {})
