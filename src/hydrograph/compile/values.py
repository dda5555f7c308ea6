"""VALUES: inline data as static rows (S27)."""

from __future__ import annotations

from sqlglot import exp

from hydrograph.algebra.expressions import Constant
from hydrograph.algebra.nodes import Values
from hydrograph.compile import sql
from hydrograph.compile.context import Compilation
from hydrograph.compile.expressions.values import constant_value
from hydrograph.compile.relation import (
    Always,
    Demand,
    Encoded,
    Form,
    Part,
    Relation,
    form_columns,
    form_types,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Iri, Literal, Variable


def values(compilation: Compilation, data: Values, demand: Demand) -> Relation:
    """Return inline data; UNDEF is unbound."""
    forms: dict[Variable, Form] = {variable: Encoded(demand.get(variable, frozenset())) for variable in data.variables}
    stems = {variable: compilation.stem(variable) for variable in forms}
    certain = frozenset(v for n, v in enumerate(data.variables) if all(row[n] is not None for row in data.rows))
    columns = [name for variable, form in forms.items() for name in form_columns(stems[variable], form)]
    types = [kind for form in forms.values() for kind in form_types(form).values()]
    # Every row has a column more than variables: rows that bind nothing count too.
    rows = [exp.Tuple(expressions=[sql.num(1), *_row(compilation, data, row, forms)]) for row in data.rows]
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
    return Relation(compilation.let(query, "values"), forms, certain, (), Always(), stems)


def _row(
    compilation: Compilation, data: Values, row: tuple[Iri | Literal | None, ...], forms: dict[Variable, Form]
) -> list[Sql]:
    cells: list[Sql] = []
    for variable, term in zip(data.variables, row, strict=True):
        form = forms[variable]
        assert isinstance(form, Encoded)
        parts = [part for part in Part if part in form.parts]
        if term is None:
            cells += [null_part(part) for part in parts]
        else:
            value = constant_value(Constant(term), compilation.constant)
            cells += [value.part(part) for part in parts]
    return cells
