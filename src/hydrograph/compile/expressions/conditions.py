"""Expressions as SQL: conditions of FILTER, values of everything else."""

from __future__ import annotations

from typing import assert_never

from hydrograph.algebra.expressions import (
    And,
    Calculate,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    In,
    Negate,
    Not,
    Or,
    Reference,
)
from hydrograph.compile import sql
from hydrograph.compile.expressions.casts import non_zero
from hydrograph.compile.expressions.column_values import variable_value
from hydrograph.compile.expressions.compare import compare
from hydrograph.compile.expressions.computed import ChoiceValue, TruthValue
from hydrograph.compile.expressions.context import Place
from hydrograph.compile.expressions.functions import call
from hydrograph.compile.expressions.needs import merge_demands, needs, reads_clock
from hydrograph.compile.expressions.numbers import calculate, negated
from hydrograph.compile.expressions.terms import datatype
from hydrograph.compile.expressions.values import NUMBERS, STRINGS, Parameters, TermValue, Value, constant_value
from hydrograph.compile.relation import Encoded, Part, Relation
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Variable
from hydrograph.rdf.xsd import RULES

__all__ = ["condition", "merge_demands", "needs", "reads_clock", "value_of"]

_TRUTHS = sorted(name for name, rule in RULES.items() if rule.kind in NUMBERS | {Kind.BOOLEAN})


def condition(
    expression: Expression, relation: Relation, parameters: Parameters, *, site: str = "", row: Sql | None = None
) -> Sql:
    """Return the effective boolean value; NULL is an error. See `evaluate` for `site` and `row`."""
    return _condition(expression, Place(relation, parameters, site, row))


def _condition(expression: Expression, place: Place) -> Sql:
    match expression:
        case And(operands):
            return sql.paren(sql.all_of([sql.paren(_condition(operand, place)) for operand in operands]))
        case Or(operands):
            return sql.paren(sql.any_of([sql.paren(_condition(operand, place)) for operand in operands]))
        case Not(operand):
            return sql.negate(_condition(operand, place))
        case Compare(operator, left, right):
            return compare(operator, value_of(left, place), value_of(right, place))
        case In(operand, choices, negated=inverse):
            value = value_of(operand, place)
            found = sql.any_of([sql.paren(compare("=", value, value_of(choice, place))) for choice in choices])
            return sql.negate(found) if inverse else sql.paren(found)
        case Call("BOUND", (Reference(variable),)):
            if variable not in place.relation.forms:
                return sql.FALSE.copy()
            return _is_bound(place.relation, variable_value(Reference(variable), place.relation), variable)
        case _:
            return _effective_boolean(value_of(expression, place))


def _is_bound(relation: Relation, value: Value, variable: Variable) -> Sql:
    form = relation.forms[variable]
    if isinstance(form, Encoded) and Part.ID in form.parts:
        return sql.not_null(relation.part(variable, Part.ID))
    return value.bound()


def value_of(expression: Expression, place: Place) -> Value:
    """Return the value of an expression in the rows of a place."""
    match expression:
        case Constant():
            return constant_value(expression, place.parameters)
        case Reference():
            return variable_value(expression, place.relation)
        case Calculate(operator, left, right):
            return calculate(operator, value_of(left, place), value_of(right, place))
        case Negate(operand):
            return negated(value_of(operand, place))
        case Call("COALESCE", arguments):
            values = [value_of(argument, place) for argument in arguments]
            return ChoiceValue(tuple((value.bound(), value) for value in values))
        case Call("IF", (test, yes, no)):
            truth = sql.paren(_condition(test, place))
            chosen = ((sql.TRUE, value_of(yes, place)), (sql.FALSE, value_of(no, place)))
            return ChoiceValue(chosen, truth)
        case And() | Or() | Not() | Compare() | In() | Call("BOUND", _):
            return TruthValue(_condition(expression, place))
        case Call(function, arguments):
            return call(function, [value_of(argument, place) for argument in arguments], place)
        case Exists():
            raise AssertionError("the compiler gives EXISTS a variable before it comes here")
        case _:
            assert_never(expression)


def _effective_boolean(value: Value) -> Sql:
    """Return the [effective boolean value](https://www.w3.org/TR/sparql11-query/#ebv) of a term."""
    branches: list[tuple[Sql | bool, Sql]] = []
    if Kind.BOOLEAN in value.kinds:
        branches.append((value.is_kind(frozenset({Kind.BOOLEAN})), value.truth()))
    if value.kinds & NUMBERS:
        branches.append((value.is_kind(NUMBERS), non_zero(value)))
    if value.kinds & STRINGS:
        branches.append((value.is_kind(STRINGS), _not_empty(value)))
    if Kind.OTHER in value.kinds:
        # Of a boolean or a number that is none by its lexical form, the value is false.
        ill_typed = sql.one_of_texts(datatype(value).lexical(), _TRUTHS)
        branches.append((value.is_kind(frozenset({Kind.OTHER})), sql.when((ill_typed, sql.FALSE.copy()))))
    written = []
    for test, truth in branches:
        if test is True:
            return truth
        if not isinstance(test, bool):
            written.append((test, truth))
    return sql.when(*written) if written else sql.cast(sql.NULL.copy(), "BOOLEAN")


def _not_empty(value: Value) -> Sql:
    if isinstance(value, TermValue):
        start = sql.call("left", value.part(Part.TEXT), sql.num(2))
        return sql.negate(sql.equal(start, sql.text('""')))
    return sql.negate(sql.equal(value.lexical(), sql.text("")))
