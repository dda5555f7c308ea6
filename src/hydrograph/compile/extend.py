"""Extend: one more variable in every row, computed from the others; unbound after an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from hydrograph.algebra.expressions import Calculate, Call, Constant, Expression, Reference
from hydrograph.algebra.nodes import Extend
from hydrograph.algebra.walk import is_volatile, operands, rewrite_expression, with_operands
from hydrograph.compile import sql
from hydrograph.compile.context import Compilation
from hydrograph.compile.expressions.evaluate import evaluate
from hydrograph.compile.relation import Form, Relation, form_columns
from hydrograph.compile.sql import Sql
from hydrograph.compile.subtract import row_identity
from hydrograph.rdf.terms import Variable


def with_shared_labels(compilation: Compilation, pattern: Extend) -> Extend | None:
    """Return adjacent extensions in which BNODE gives one blank node for a label in all of them; None where they do.

    They belong to one solution, whose name is made before the first: later ones see what earlier ones have added.
    """
    chain = [pattern]
    while isinstance(chain[-1].inner, Extend):
        chain.append(chain[-1].inner)
    if sum(any(map(_is_labelled, parts(extend.expression))) for extend in chain) < 2:
        return None
    name = compilation.fresh()
    result = Extend(chain[-1].inner, name, Call("STRUUID", ()))

    def named(expression: Expression) -> Expression:
        if isinstance(expression, Call) and _is_labelled(expression):
            return replace(expression, arguments=(*expression.arguments, Reference(name)))
        return expression

    for extend in reversed(chain):
        result = Extend(result, extend.variable, rewrite_expression(extend.expression, named))
    return result


def _is_labelled(expression: Expression) -> bool:
    return isinstance(expression, Call) and expression.function == "BNODE" and len(expression.arguments) == 1


def parts(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions in it."""
    yield expression
    for operand in operands(expression):
        yield from parts(operand)


def with_quotients(compilation: Compilation, rows: Relation, expression: Expression) -> tuple[Relation, Expression]:
    """Return the rows with the quotients inside of other arithmetic as variables, and the expression that reads them.

    A quotient may be a kernel, which can't stand where names are bound: an operation around it would be written with
    its operands again and again.
    """

    def taken_out(node: Expression, *, inside: bool) -> Expression:
        nonlocal rows
        inner = inside or isinstance(node, Calculate)
        node = with_operands(node, tuple(taken_out(operand, inside=inner) for operand in operands(node)))
        if not inside or not isinstance(node, Calculate) or node.operator != "/" or isinstance(node.right, Constant):
            return node
        quotient = compilation.fresh()
        rows = extended(compilation, rows, quotient, node)
        return Reference(quotient)

    changed = taken_out(expression, inside=False)
    return rows, changed


def extended(
    compilation: Compilation, rows: Relation, variable: Variable, expression: Expression, *, certain: bool = False
) -> Relation:
    """Return the rows with a variable that holds the value of an expression; `certain` if it surely has one."""
    stem = compilation.stem(variable)
    form: Form
    if isinstance(expression, Reference):
        source = expression.variable
        if source not in rows.forms:
            return rows
        form = rows.forms[source]
        added: list[Sql] = [
            sql.alias(sql.col(old), new)
            for old, new in zip(rows.columns(source), form_columns(stem, form), strict=True)
        ]
        certain = certain or source in rows.certain
    else:
        row = None
        if is_volatile(expression):  # two calls in equal rows differ (A6)
            row = sql.window(exp.RowNumber(), [sql.col(name) for name in row_identity(rows)], [sql.num(0)])
        computed = evaluate(expression, rows, compilation.constant, site=stem, row=row)
        form = computed.form
        added = [sql.alias(value, stem + suffix) for suffix, value in computed.columns.items()]
    columns = [*(sql.col(name) for name in rows.all_columns()), *added]
    query = sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), rows.name)
    result = replace(
        rows,
        forms={**rows.forms, variable: form},
        certain=rows.certain | ({variable} if certain else frozenset()),
        names={**rows.names, variable: stem},
    )
    return compilation.step(result, query, "extend")
