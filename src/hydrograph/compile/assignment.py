"""Assignment: BIND and other expressions that add a variable to every row, and VALUES as static rows (S27).

A variable whose expression fails is unbound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from hydrograph.algebra.expressions import Calculate, Call, Constant, Expression, Reference
from hydrograph.algebra.nodes import Extend, Values
from hydrograph.algebra.walk import is_volatile, operands, rewrite_expression, with_operands
from hydrograph.compile import sql
from hydrograph.compile.compilation import Compilation
from hydrograph.compile.expressions.evaluate import evaluate
from hydrograph.compile.expressions.values import constant_value
from hydrograph.compile.outer_joins import row_identity
from hydrograph.compile.relation import (
    Always,
    Demand,
    EncodedLayout,
    Part,
    Relation,
    TermLayout,
    layout_columns,
    layout_types,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Iri, Literal, Variable


def share_blank_node_labels(compilation: Compilation, pattern: Extend) -> Extend | None:
    """Return adjacent extensions in which BNODE gives one blank node for a label in all of them; None where they do.

    They belong to one solution, whose name is made before the first: later ones see what earlier ones have added.
    """
    chain = [pattern]
    while isinstance(chain[-1].inner, Extend):
        chain.append(chain[-1].inner)
    if sum(any(map(_is_labelled, subexpressions(extend.expression))) for extend in chain) < 2:
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


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions in it."""
    yield expression
    for operand in operands(expression):
        yield from subexpressions(operand)


def extract_quotients(compilation: Compilation, rows: Relation, expression: Expression) -> tuple[Relation, Expression]:
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
        rows = extend(compilation, rows, quotient, node)
        return Reference(quotient)

    changed = taken_out(expression, inside=False)
    return rows, changed


def extend(
    compilation: Compilation, rows: Relation, variable: Variable, expression: Expression, *, certain: bool = False
) -> Relation:
    """Return the rows with a variable that holds the value of an expression; `certain` if it surely has one."""
    stem = compilation.stem(variable)
    layout: TermLayout
    if isinstance(expression, Reference):
        source = expression.variable
        if source not in rows.layouts:
            return rows
        layout = rows.layouts[source]
        added: list[Sql] = [
            sql.alias(sql.col(old), new)
            for old, new in zip(rows.columns(source), layout_columns(stem, layout), strict=True)
        ]
        certain = certain or source in rows.certain
    else:
        row = None
        if is_volatile(expression):  # two calls in equal rows differ (A6)
            row = sql.window(exp.RowNumber(), [sql.col(name) for name in row_identity(rows)], [sql.num(0)])
        computed = evaluate(expression, rows, compilation.constant, site=stem, row=row)
        layout = computed.layout
        added = [sql.alias(value, stem + suffix) for suffix, value in computed.columns.items()]
    columns = [*(sql.col(name) for name in rows.all_columns()), *added]
    query = sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), rows.name)
    result = replace(
        rows,
        layouts={**rows.layouts, variable: layout},
        certain=rows.certain | ({variable} if certain else frozenset()),
        names={**rows.names, variable: stem},
    )
    return compilation.step(result, query, "extend")


def inline_values(compilation: Compilation, data: Values, demand: Demand) -> Relation:
    """Return inline data; UNDEF is unbound."""
    layouts: dict[Variable, TermLayout] = {
        variable: EncodedLayout(demand.get(variable, frozenset())) for variable in data.variables
    }
    stems = {variable: compilation.stem(variable) for variable in layouts}
    certain = frozenset(v for n, v in enumerate(data.variables) if all(row[n] is not None for row in data.rows))
    columns = [name for variable, layout in layouts.items() for name in layout_columns(stems[variable], layout)]
    types = [kind for layout in layouts.values() for kind in layout_types(layout).values()]
    # Every row has a column more than variables: rows that bind nothing count too.
    rows = [exp.Tuple(expressions=[sql.num(1), *_row(compilation, data, row, layouts)]) for row in data.rows]
    names = ["one", *(f"i{number}" for number in range(len(columns)))]
    typed = [
        sql.alias(sql.cast(sql.col(name), kind), column)
        for name, kind, column in zip(names[1:], types, columns, strict=True)
    ]
    if not rows:
        typed_names = zip(types, columns, strict=True)
        nothing = [sql.alias(sql.cast(sql.NULL.copy(), kind), column) for kind, column in typed_names]
        one = sql.select(sql.alias(sql.num(1), "one")).subquery("d", copy=False)
        query = sql.select(sql.alias(sql.num(1), "one"), *nothing).from_(one, copy=False)
        query = query.where(sql.FALSE.copy(), copy=False)
    else:
        alias = exp.TableAlias(this=exp.to_identifier("d"), columns=[exp.to_identifier(name) for name in names])
        query = sql.select(sql.col("one"), *typed).from_(exp.Values(expressions=rows, alias=alias), copy=False)
    return Relation(compilation.let(query, "values"), layouts, certain, (), Always(), stems)


def _row(
    compilation: Compilation, data: Values, row: tuple[Iri | Literal | None, ...], layouts: dict[Variable, TermLayout]
) -> list[Sql]:
    cells: list[Sql] = []
    for variable, term in zip(data.variables, row, strict=True):
        layout = layouts[variable]
        assert isinstance(layout, EncodedLayout)
        parts = [part for part in Part if part in layout.parts]
        if term is None:
            cells += [null_part(part) for part in parts]
        else:
            value = constant_value(Constant(term), compilation.constant)
            cells += [value.part(part) for part in parts]
    return cells
