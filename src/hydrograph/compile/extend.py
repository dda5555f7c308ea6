"""Extend: one more variable in every row, computed from the others; unbound after an error."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from hydrograph.algebra.expressions import Expression, Reference
from hydrograph.algebra.walk import is_volatile
from hydrograph.compile import sql
from hydrograph.compile.context import Compilation
from hydrograph.compile.expressions.evaluate import evaluate
from hydrograph.compile.relation import Form, Relation, form_columns
from hydrograph.compile.sql import Sql
from hydrograph.compile.subtract import row_identity
from hydrograph.rdf.terms import Variable


def extended(compilation: Compilation, rows: Relation, variable: Variable, expression: Expression) -> Relation:
    """Return the rows with a variable that holds the value of an expression."""
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
        certain = source in rows.certain
    else:
        row = None
        if is_volatile(expression):  # two calls in equal rows differ (A6)
            row = sql.window(exp.RowNumber(), [sql.col(name) for name in row_identity(rows)], [sql.num(0)])
        computed = evaluate(expression, rows, compilation.constant, site=stem, row=row)
        form = computed.form
        added = [sql.alias(value, stem + suffix) for suffix, value in computed.columns.items()]
        certain = False
    columns = [*(sql.col(name) for name in rows.all_columns()), *added]
    query = sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), rows.name)
    result = replace(
        rows,
        forms={**rows.forms, variable: form},
        certain=rows.certain | ({variable} if certain else frozenset()),
        names={**rows.names, variable: stem},
    )
    return compilation.step(result, query, "extend")
