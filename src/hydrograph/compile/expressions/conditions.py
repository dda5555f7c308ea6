"""Conditions of FILTER as SQL, and what they read of each variable."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from hydrograph.algebra.expressions import (
    And,
    Call,
    Compare,
    Constant,
    Expression,
    Not,
    Or,
    Reference,
)
from hydrograph.compile import sql
from hydrograph.compile.expressions.compare import compare, truth
from hydrograph.compile.expressions.values import Parameters, Value, constant_value, variable_value
from hydrograph.compile.relation import Demand, Part, Parts, Relation
from hydrograph.compile.sql import Sql
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.encoding import NUMERIC, Kind, encode
from hydrograph.rdf.terms import Variable

_ALL: Parts = frozenset(Part)


def condition(expression: Expression, relation: Relation, parameters: Parameters) -> Sql:
    """Return the effective boolean value; NULL is an error."""
    match expression:
        case And(operands):
            return sql.all_of([condition(operand, relation, parameters) for operand in operands])
        case Or(operands):
            return sql.any_of([condition(operand, relation, parameters) for operand in operands])
        case Not(operand):
            return sql.negate(condition(operand, relation, parameters))
        case Compare(operator, left, right):
            return compare(
                operator, operand_value(left, relation, parameters), operand_value(right, relation, parameters)
            )
        case Call("BOUND", (Reference(variable),)):
            return sql.not_null(relation.part(variable, Part.ID)) if variable in relation.forms else sql.FALSE.copy()
        case Call("ISNUMERIC", (operand,)):
            value = operand_value(operand, relation, parameters)
            return sql.when((sql.not_null(value.part(Part.ID)), sql.not_null(value.part(Part.NUMBER))))
        case Reference() | Constant():
            return _effective_boolean(operand_value(expression, relation, parameters))
        case _:
            raise UnsupportedError(f"{_spoken(expression)} is not supported in FILTER yet")


def operand_value(expression: Expression, relation: Relation, parameters: Parameters) -> Value:
    """Return the term an operand stands for."""
    match expression:
        case Constant():
            return constant_value(expression, parameters)
        case Reference():
            return variable_value(expression, relation)
        case _:
            raise UnsupportedError(f"{_spoken(expression)} is not supported as an operand yet")


def _spoken(expression: Expression) -> str:
    match expression:
        case Call(function, _):
            return function if isinstance(function, str) else f"<{function.value}>"
        case _:
            return type(expression).__name__.upper()


def _effective_boolean(value: Value) -> Sql:
    """Return the [effective boolean value](https://www.w3.org/TR/sparql11-query/#ebv) of a term."""
    kind = value.part(Part.KIND)
    number = value.part(Part.NUMBER)
    non_zero = sql.negate(
        sql.any_of([sql.equal(number, sql.cast(sql.num(0), "DOUBLE")), sql.IsNan(this=number.copy())])
    )
    start = sql.call("left", value.part(Part.TEXT), sql.num(2))
    return sql.when(
        (sql.equal(kind, sql.num(Kind.BOOLEAN)), truth(value)),
        (sql.not_null(number.copy()), non_zero),
        (sql.one_of(kind.copy(), [Kind.STRING, Kind.LANG]), sql.negate(sql.equal(start, sql.text('""')))),
    )


def needs(expression: Expression) -> dict[Variable, Parts]:
    """Return what a condition reads of each variable."""
    match expression:
        case And(operands) | Or(operands):
            return merge_demands(*[needs(operand) for operand in operands])
        case Not(operand):
            return needs(operand)
        case Call("BOUND", (Reference(variable),)):
            return {variable: frozenset({Part.ID})}
        case Call("ISNUMERIC", (Reference(variable),)):
            return {variable: frozenset({Part.ID, Part.NUMBER})}
        case Compare(operator, left, right):
            return merge_demands(*_comparison_needs(operator, left, right))
        case Reference(variable):
            return {variable: _ALL}
        case Constant():
            return {}
        case _:
            raise UnsupportedError(f"{_spoken(expression)} is not supported in FILTER yet")


def _comparison_needs(operator: str, left: Expression, right: Expression) -> Iterable[dict[Variable, Parts]]:
    ordered = operator not in ("=", "!=")
    for mine, other in ((left, right), (right, left)):
        if isinstance(mine, Reference):
            yield {mine.variable: _operand_needs(other, ordered=ordered)}


def _operand_needs(other: Expression, *, ordered: bool) -> Parts:
    """Return what is read of a variable compared with `other`: little if that is a constant."""
    kind = encode(other.term).kind if isinstance(other, Constant) else None
    if kind in (Kind.IRI, Kind.LANG):
        return frozenset({Part.ID})
    if kind in NUMERIC:
        numeric = {Part.NUMBER, Part.DECIMAL}
        return frozenset(numeric if ordered else {*numeric, Part.ID, Part.KIND})
    return _ALL if ordered else _ALL - {Part.TEXT}


def merge_demands(*demands: Demand) -> dict[Variable, Parts]:
    """Return everything that any of the demands asks for."""

    def merge(known: dict[Variable, Parts], more: Demand) -> dict[Variable, Parts]:
        return known | {variable: known.get(variable, frozenset()) | parts for variable, parts in more.items()}

    return reduce(merge, demands, {})
