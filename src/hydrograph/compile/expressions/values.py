"""Operands: a variable of a row or a constant of the query, asked for its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hydrograph.algebra.expressions import Constant, Reference
from hydrograph.compile import sql
from hydrograph.compile.relation import Part, Relation, null_part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Encoded, Kind, encode

Parameters = Callable[[str], Sql]
"""Gives the parameter that carries a text of the query into the plan."""


@dataclass(frozen=True, slots=True)
class Value:
    """A term, lazily: each part is made only where an operator reads it."""

    part: Callable[[Part], Sql]
    kind: Kind | None = None
    """The kind where the query itself tells it, so that branches which can't be taken are never written."""

    def is_kind(self, *kinds: Kind) -> Sql | bool:
        """Return the test for one of these kinds; True or False where it is known."""
        if self.kind is not None:
            return self.kind in kinds
        return sql.one_of(self.part(Part.KIND), [int(kind) for kind in kinds])


def variable_value(reference: Reference, relation: Relation) -> Value:
    """Return the term of a variable; unbound everywhere if the row has no such variable."""
    if reference.variable not in relation.forms:
        return Value(null_part)
    return Value(lambda part: relation.part(reference.variable, part))


def constant_value(constant: Constant, parameters: Parameters) -> Value:
    """Return a term of the query."""
    encoded = encode(constant.term)
    return Value(lambda part: _constant_part(encoded, part, parameters), encoded.kind)


def _constant_part(encoded: Encoded, part: Part, parameters: Parameters) -> Sql:
    match part:
        case Part.ID:
            return sql.num(encoded.id)
        case Part.TEXT:
            return parameters(encoded.text)
        case Part.KIND:
            return sql.cast(sql.num(encoded.kind), "TINYINT")
        case Part.NUMBER:
            return null_part(part) if encoded.num is None else double(encoded.num)
        case Part.DECIMAL:
            return null_part(part) if encoded.dec is None else sql.cast(sql.text(format(encoded.dec, "f")), sql.DECIMAL)


def double(value: float) -> Sql:
    """Return a double; through its text, because literals of both targets may be read as decimals."""
    special = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    return sql.cast(sql.text("NaN" if value != value else special.get(value, repr(value))), "DOUBLE")  # noqa: PLR0124
