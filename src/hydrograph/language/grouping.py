"""What HAVING and ORDER BY may say about groups ([section 18.2.4.1](https://www.w3.org/TR/sparql11-query/#sparqlAggregates)).

A variable that is no key has many values in a group; the specification takes SAMPLE of it.
"""

from __future__ import annotations

from collections.abc import Callable

from hydrograph.algebra.expressions import Aggregate, Expression, Reference
from hydrograph.algebra.nodes import Order
from hydrograph.algebra.walk import operands, rewrite_expression
from hydrograph.language.syntax import Condition, Level
from hydrograph.rdf.terms import Variable


def sample_conditions(level: Level, fresh: Callable[[], Variable]) -> None:
    """Replace variables that are no keys by SAMPLE of them, in the conditions of a level that groups."""
    if level.keys is None and not level.aggregates:
        return
    selected = level.projection or ()
    known = {key.variable for key in level.keys or ()}
    known |= {item.variable for item in selected if item.expression is not None}
    known |= {variable for variable, _ in level.aggregates}
    early = {variable for item in selected if item.expression for variable in references(item.expression)}
    samples: dict[Variable, Variable] = {}

    def sample(expression: Expression) -> Expression:
        if not isinstance(expression, Reference) or expression.variable in known:
            return expression
        if expression.variable not in samples:
            samples[expression.variable] = _variable_of(Aggregate("SAMPLE", expression), level, fresh)
        return Reference(samples[expression.variable])

    before = len(level.aggregates)
    level.having = tuple(_rewritten(condition, sample) for condition in level.having)
    level.order = tuple(_rewritten(condition, sample) for condition in level.order)
    if len(level.aggregates) > before:
        _renumber(level, early)


def references(expression: Expression) -> list[Variable]:
    """Return the variables of an expression outside of EXISTS, in the order of the text."""
    found: list[Variable] = []
    waiting = [expression]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Reference):
            found.append(current.variable)
        waiting += reversed(operands(current))
    return found


def _rewritten(condition: Condition, rule: Callable[[Expression], Expression]) -> Condition:
    """Return a condition with `rule` applied everywhere in it."""
    order = condition.order
    return Condition(Order(rewrite_expression(order.expression, rule), order.descending), condition.offset)


def _variable_of(aggregate: Aggregate, level: Level, fresh: Callable[[], Variable]) -> Variable:
    """Return the variable of an aggregate, a new one if it is new."""
    for variable, known in level.aggregates:
        if known == aggregate:
            return variable
    variable = fresh()
    level.aggregates.append((variable, aggregate))
    return variable


def _renumber(level: Level, early: set[Variable]) -> None:
    """Name the aggregates of the conditions in the order of the text, as if SAMPLE had been written there."""
    late = [variable for variable, _ in level.aggregates if variable not in early]
    conditions = [condition.order.expression for condition in (*level.having, *level.order)]
    seen = dict.fromkeys(variable for condition in conditions for variable in references(condition) if variable in late)
    renamed = dict(zip(seen, late, strict=True))
    by_name = {renamed.get(variable, variable): aggregate for variable, aggregate in level.aggregates}
    level.aggregates = [(variable, by_name[variable]) for variable, _ in level.aggregates]

    def rename(expression: Expression) -> Expression:
        if isinstance(expression, Reference):
            return Reference(renamed.get(expression.variable, expression.variable))
        return expression

    level.having = tuple(_rewritten(condition, rename) for condition in level.having)
    level.order = tuple(_rewritten(condition, rename) for condition in level.order)
