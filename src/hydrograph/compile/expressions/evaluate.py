"""Evaluation of expressions: conditions of FILTER, values, and the columns that keep a value.

`condition` gives an effective boolean value, `value_of` a value of which operators read parts, and `evaluate` the
columns for BIND, SELECT expressions, group keys, arguments of aggregates and sort keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from hydrograph.compile.expressions.compare import compare
from hydrograph.compile.expressions.context import EvaluationContext
from hydrograph.compile.expressions.demand import expression_demand, merge_demands, reads_clock
from hydrograph.compile.expressions.functions import call
from hydrograph.compile.expressions.numbers import calculate, negated
from hydrograph.compile.expressions.terms import datatype
from hydrograph.compile.expressions.values import (
    INEXACT,
    NUMBERS,
    STRINGS,
    BooleanValue,
    ChoiceValue,
    ConstantValue,
    IntegerValue,
    Parameters,
    StringValue,
    TermValue,
    Value,
    constant_value,
    variable_value,
)
from hydrograph.compile.relation import (
    BooleanLayout,
    EncodedLayout,
    GeneralLayout,
    IntegerLayout,
    NumberLayout,
    Part,
    Relation,
    StringLayout,
    TermLayout,
    layout_types,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Variable
from hydrograph.rdf.xsd import RULES

__all__ = ["condition", "expression_demand", "merge_demands", "reads_clock", "value_of"]

_TRUTHS = sorted(name for name, rule in RULES.items() if rule.kind in NUMBERS | {Kind.BOOLEAN})


def condition(
    expression: Expression, relation: Relation, parameters: Parameters, *, site: str = "", row: Sql | None = None
) -> Sql:
    """Return the effective boolean value; NULL is an error. See `evaluate` for `site` and `row`."""
    return _condition(expression, EvaluationContext(relation, parameters, site, row))


def _condition(expression: Expression, context: EvaluationContext) -> Sql:
    match expression:
        case And(operands):
            return sql.paren(sql.all_of([sql.paren(_condition(operand, context)) for operand in operands]))
        case Or(operands):
            return sql.paren(sql.any_of([sql.paren(_condition(operand, context)) for operand in operands]))
        case Not(operand):
            return sql.negate(_condition(operand, context))
        case Compare(operator, left, right):
            return compare(operator, value_of(left, context), value_of(right, context))
        case In(operand, choices, negated=inverse):
            value = value_of(operand, context)
            found = sql.any_of([sql.paren(compare("=", value, value_of(choice, context))) for choice in choices])
            return sql.negate(found) if inverse else sql.paren(found)
        case Call("BOUND", (Reference(variable),)):
            if variable not in context.relation.layouts:
                return sql.FALSE.copy()
            return _is_bound(context.relation, variable_value(Reference(variable), context.relation), variable)
        case _:
            return effective_boolean(value_of(expression, context))


def _is_bound(relation: Relation, value: Value, variable: Variable) -> Sql:
    layout = relation.layouts[variable]
    if isinstance(layout, EncodedLayout) and Part.ID in layout.parts:
        return sql.not_null(relation.part(variable, Part.ID))
    return value.bound()


def value_of(expression: Expression, context: EvaluationContext) -> Value:
    """Return the value of an expression in the rows of a context."""
    match expression:
        case Constant():
            return constant_value(expression, context.parameters)
        case Reference():
            return variable_value(expression, context.relation)
        case Calculate(operator, left, right):
            return calculate(operator, value_of(left, context), value_of(right, context))
        case Negate(operand):
            return negated(value_of(operand, context))
        case Call("COALESCE", arguments):
            values = [value_of(argument, context) for argument in arguments]
            return ChoiceValue(tuple((value.bound(), value) for value in values))
        case Call("IF", (test, yes, no)):
            truth = sql.paren(_condition(test, context))
            chosen = ((sql.TRUE, value_of(yes, context)), (sql.FALSE, value_of(no, context)))
            return ChoiceValue(chosen, truth)
        case And() | Or() | Not() | Compare() | In() | Call("BOUND", _):
            return BooleanValue(_condition(expression, context))
        case Call(function, arguments):
            return call(function, [value_of(argument, context) for argument in arguments], context)
        case Exists():
            raise AssertionError("the compiler gives EXISTS a variable before it comes here")
        case _:
            assert_never(expression)


def effective_boolean(value: Value) -> Sql:
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


@dataclass(frozen=True, slots=True)
class ComputedColumns:
    """The value of an expression in every row, as columns to be selected.

    `columns` is keyed by the suffix that follows the stem of the new variable, in the order of
    `layout_columns(stem, layout)`: `[alias(value, stem + suffix) for suffix, value in computed.columns.items()]`.
    """

    layout: TermLayout
    columns: Mapping[str, Sql]


def evaluate(
    expression: Expression, relation: Relation, parameters: Parameters, *, site: str = "", row: Sql | None = None
) -> ComputedColumns:
    """Return the value of an expression over the rows of `relation`; all columns are NULL after an error.

    The relation must carry the parts in `expression_demand(expression)`. If `reads_clock(expression)` is true, every
    row must be valid at a single rank; the parameters `report_first` and `report_step` (in ms) then give the instant of
    rank 0 and the distance of two reports. `site` distinguishes equal expressions at different places of a query, and
    `row` equal rows at one instant. Both matter only to RAND, UUID, STRUUID and BNODE, whose seed is the ids of a row.
    """
    if isinstance(expression, Reference) and expression.variable in relation.layouts:
        layout, stem = relation.layouts[expression.variable], relation.names[expression.variable]
        return ComputedColumns(layout, {suffix: sql.col(stem + suffix) for suffix in layout_types(layout)})
    return value_columns(value_of(expression, EvaluationContext(relation, parameters, site, row)))


def value_columns(value: Value) -> ComputedColumns:
    """Return the columns that keep a value."""
    match value:
        case IntegerValue(whole):
            return _columns(IntegerLayout(), whole)
        case BooleanValue(truth):
            return _columns(BooleanLayout(), truth)
        case StringValue(text, None):
            return _columns(StringLayout(), text)
        case StringValue(text, tag) if tag is not None:
            # Without a string there is no tag: equal terms have equal columns.
            return _columns(StringLayout(tagged=True), text, sql.when((value.bound(), tag)))
    if value.kinds <= {Kind.BOOLEAN}:
        return _columns(BooleanLayout(), value.truth())
    if value.kinds <= NUMBERS:
        inexact, exact = value.inexact(), value.exact()
        return _columns(
            NumberLayout(exact=not value.kinds & INEXACT),
            value.part(Part.KIND),
            null_part(Part.NUMBER) if inexact is None else inexact,
            null_part(Part.DECIMAL) if exact is None else exact,
        )
    if value.kinds <= STRINGS and not isinstance(value, ConstantValue):
        tag = value.language()
        text = value.lexical()
        return _columns(StringLayout(), text) if tag is None else _columns(StringLayout(tagged=True), text, tag)
    return _columns(GeneralLayout(), *(value.part(part) for part in Part if part is not Part.ID))


def _columns(layout: TermLayout, *values: Sql) -> ComputedColumns:
    types = layout_types(layout)
    return ComputedColumns(layout, {s: sql.cast(v, t) for (s, t), v in zip(types.items(), values, strict=True)})
