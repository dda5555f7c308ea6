"""Values of variables: the terms that the columns of a relation hold."""

from __future__ import annotations

from hydrograph.algebra.expressions import Reference
from hydrograph.compile import sql
from hydrograph.compile.expressions.computed import StringValue, TruthValue, WholeValue
from hydrograph.compile.expressions.values import EXACT, NUMBERS, TermValue, Value
from hydrograph.compile.relation import Encoded, General, Number, Relation, Text, Truth, Whole, null_part
from hydrograph.rdf.terms import Variable


def variable_value(reference: Reference, relation: Relation) -> Value:
    """Return the term of a variable; unbound everywhere if the row has no such variable."""
    variable = reference.variable
    if variable not in relation.forms:
        return TermValue(null_part)
    return stored_value(relation, variable)


def stored_value(relation: Relation, variable: Variable, table: str | None = None) -> Value:
    """Return the term that the columns of a variable hold."""
    form, stem = relation.forms[variable], relation.names[variable]
    match form:
        case Whole():
            return WholeValue(sql.col(f"{stem}_int", table))
        case Truth():
            return TruthValue(sql.col(f"{stem}_bool", table))
        case Text(tagged):
            return StringValue(sql.col(f"{stem}_lex", table), sql.col(f"{stem}_lang", table) if tagged else None)
        case Number(exact):
            kinds = EXACT if exact else NUMBERS
            return TermValue(lambda part: relation.part(variable, part, table), kinds)
        case Encoded() | General():
            return TermValue(lambda part: relation.part(variable, part, table), stored=isinstance(form, Encoded))
