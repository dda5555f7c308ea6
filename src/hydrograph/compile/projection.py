"""Relations with fewer variables in scope, or without the columns nobody reads any more."""

from __future__ import annotations

from dataclasses import replace

from hydrograph.compile import sql
from hydrograph.compile.relation import Demand, Encoded, Form, Relation
from hydrograph.compile.sql import Sql
from hydrograph.rdf.terms import Variable


def narrowed(relation: Relation, demand: Demand) -> Relation:
    """Return the relation without the columns nobody reads any more."""
    forms: dict[Variable, Form] = {}
    for variable, form in relation.forms.items():
        parts = demand.get(variable, frozenset())
        if isinstance(form, Encoded):
            forms[variable] = Encoded(form.parts & parts)
        else:
            forms[variable] = form if parts else Encoded(parts)
    return replace(relation, forms=forms)


def only(relation: Relation, kept: tuple[Variable, ...]) -> Relation:
    """Return the relation with these variables in scope and no others."""
    forms = {variable: relation.forms[variable] for variable in kept if variable in relation.forms}
    return replace(relation, forms=forms, certain=relation.certain & frozenset(kept))


def columns(relation: Relation) -> list[Sql]:
    """Return all columns of a relation for a SELECT, which can't be without any."""
    return [sql.col(name) for name in relation.all_columns()] or [sql.alias(sql.num(1), "one")]
