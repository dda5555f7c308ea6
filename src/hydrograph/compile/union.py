"""UNION: the rows of both sides, brought to the same columns."""

from __future__ import annotations

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile.context import Compilation
from hydrograph.compile.relation import Demand, Encoded, Form, Part, Parts, Relation, form_types, null_part
from hydrograph.compile.scope import levelled
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable


def union(compilation: Compilation, left: Relation, right: Relation, demand: Demand) -> Relation:
    """Return the rows of both; where one side does not bind a variable it is unbound.

    Static rows beside rows of a window are given the evaluated ranks, cut into chunks like all others.
    """
    left, right = levelled(compilation, left, right), levelled(compilation, right, left)
    assert frozenset(left.keys) == frozenset(right.keys), "both sides carry the hidden keys of their scope"
    forms = {
        variable: _common(left, right, variable, demand.get(variable, frozenset()))
        for variable in dict.fromkeys((*left.forms, *right.forms))
    }
    names = {variable: compilation.stem(variable) for variable in forms}
    result = Relation(left.name, forms, left.certain & right.certain, left.keys, left.validity, names)
    query = exp.union(_side(left, result), _side(right, result), distinct=False, copy=False)
    return compilation.step(result, query, "union")


def _common(left: Relation, right: Relation, variable: Variable, wanted: Parts) -> Form:
    """Return the form in which both sides can give the variable."""
    forms = {side.forms[variable] for side in (left, right) if variable in side.forms}
    form = next(iter(forms))
    return form if wanted and len(forms) == 1 and not isinstance(form, Encoded) else Encoded(wanted)


def _side(side: Relation, result: Relation) -> exp.Select:
    columns: list[Sql] = [sql.col(key) for key in result.keys]
    for variable, form in result.forms.items():
        values = _values(side, variable, form)
        columns += [sql.alias(value, name) for name, value in zip(result.columns(variable), values, strict=True)]
    columns += [sql.col(name) for name in result.validity.columns]
    return sql.from_(sql.select(*columns or [sql.alias(sql.num(1), "one")]), side.name)


def _values(side: Relation, variable: Variable, form: Form) -> list[Sql]:
    if variable not in side.forms:
        return [sql.cast(sql.NULL.copy(), kind) for kind in form_types(form).values()]
    if side.forms[variable] == form:
        return [sql.col(name) for name in side.columns(variable)]
    assert isinstance(form, Encoded)
    mine = side.forms[variable]
    parts = [part for part in Part if part in form.parts]
    missing = form.parts - mine.parts if isinstance(mine, Encoded) else frozenset[Part]()
    return [null_part(part) if part in missing else side.part(variable, part) for part in parts]
