"""Values of expressions, asked for their parts only where an operator reads them.

A value knows which kinds of terms it can be, so that branches which can't be taken are never written. NULL is an error
or unbound, in every part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hydrograph.algebra.expressions import Constant
from hydrograph.compile import sql
from hydrograph.compile.expressions.lexical import lexical_of, suffix_of
from hydrograph.compile.relation import (
    Part,
    null_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Encoded as EncodedTerm
from hydrograph.rdf.encoding import Kind, encode
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.rdf.xsd import DATATYPES

Parameters = Callable[[str], Sql]
"""Gives the parameter that carries a text of the query into the plan."""
Kinds = frozenset[Kind]

ANY: Kinds = frozenset(Kind)
EXACT: Kinds = frozenset({Kind.INTEGER, Kind.DECIMAL})
INEXACT: Kinds = frozenset({Kind.FLOAT, Kind.DOUBLE})
NUMBERS: Kinds = EXACT | INEXACT
STRINGS: Kinds = frozenset({Kind.STRING, Kind.LANG})
RESOURCES: Kinds = frozenset({Kind.IRI, Kind.BLANK})
LITERALS: Kinds = ANY - RESOURCES


class Value:
    """What an expression gives in each row."""

    kinds: Kinds

    @property
    def kind(self) -> Kind | None:
        """The kind, where only one is possible."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else None

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        raise NotImplementedError

    def is_kind(self, kinds: Kinds) -> Sql | bool:
        """Return the test for one of these kinds; True (unless it is an error) or False where it is known."""
        if self.kinds <= kinds:
            return True
        if not self.kinds & kinds:
            return False
        return sql.one_of(self.part(Part.KIND), sorted(int(kind) for kind in self.kinds & kinds))

    def bound(self) -> Sql:
        """Return whether there is a term."""
        return sql.not_null(self.part(Part.KIND))

    def lexical(self) -> Sql:
        """Return the lexical form of a literal, or an IRI itself."""
        return lexical_of(self.part(Part.TEXT), self.kinds)

    def language(self) -> Sql | None:
        """Return the language tag, NULL where there is none; None if there can't be one."""
        if Kind.LANG not in self.kinds:
            return None
        suffix = suffix_of(self.part(Part.TEXT))
        tagged = sql.equal(sql.call("left", suffix, sql.num(1)), sql.text("@"))
        return sql.when((tagged, sql.call("substring", suffix.copy(), sql.num(2))))

    def truth(self) -> Sql:
        """Return the value of a boolean: its lexical forms are true, false, 1 and 0."""
        start = sql.call("left", self.part(Part.TEXT), sql.num(2))
        truth = sql.when(
            (sql.one_of_texts(start, ['"t', '"1']), sql.TRUE.copy()),
            (sql.one_of_texts(start.copy(), ['"f', '"0']), sql.FALSE.copy()),
        )
        known = self.is_kind(frozenset({Kind.BOOLEAN}))
        return truth if isinstance(known, bool) else sql.when((known, truth))

    def number_kind(self) -> Sql:
        """Return the kind of a number; of other terms anything or NULL."""
        return self.part(Part.KIND)

    def exact(self) -> Sql | None:
        """Return the value of an integer or decimal, NULL for others; None if it can't be one."""
        return self.part(Part.DECIMAL) if self.kinds & EXACT else None

    def inexact(self) -> Sql | None:
        """Return the value of a float or double, NULL for others; None if it can't be one."""
        if not self.kinds & INEXACT:
            return None
        number = self.part(Part.NUMBER)
        if not self.kinds & EXACT:
            return number
        return sql.when((sql.one_of(self.part(Part.KIND), sorted(int(kind) for kind in INEXACT)), number))

    def double(self) -> Sql:
        """Return the value of any number as a double."""
        return self.part(Part.NUMBER)


@dataclass(frozen=True, slots=True, eq=False)
class TermValue(Value):
    """A term of the data, or a computed one of which the parts are known."""

    parts: Callable[[Part], Sql]
    kinds: Kinds = ANY
    stored: bool = False
    """Whether the id stands in a column, so that it is the cheapest way to tell two terms apart."""

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        if part in (Part.NUMBER, Part.DECIMAL) and not self.kinds & NUMBERS:
            return null_part(part)
        return self.parts(part)


@dataclass(frozen=True, slots=True, eq=False)
class ConstantValue(Value):
    """A term of the query: everything about it is known."""

    term: Term
    parameters: Parameters
    encoded: EncodedTerm = field(init=False)
    kinds: Kinds = field(init=False)

    def __post_init__(self) -> None:
        """Encode the term."""
        object.__setattr__(self, "encoded", encode(self.term))
        object.__setattr__(self, "kinds", frozenset({self.encoded.kind}))

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        encoded = self.encoded
        match part:
            case Part.ID:
                return sql.num(encoded.id)
            case Part.TEXT:
                return self.parameters(encoded.text)
            case Part.KIND:
                return sql.cast(sql.num(encoded.kind), "TINYINT")
            case Part.NUMBER:
                return null_part(part) if encoded.num is None else double(encoded.num)
            case Part.DECIMAL:
                decimal = encoded.dec
                return null_part(part) if decimal is None else sql.cast(sql.text(format(decimal, "f")), sql.DECIMAL)

    def bound(self) -> Sql:
        """Return TRUE."""
        return sql.TRUE.copy()

    def lexical(self) -> Sql:
        """Return the lexical form or IRI as a parameter."""
        match self.term:
            case Iri(value) | Literal(value):
                return self.parameters(value)
            case BlankNode():
                return null_part(Part.TEXT)

    def language(self) -> Sql | None:
        """Return the tag as a parameter."""
        tag = self.term.language if isinstance(self.term, Literal) else None
        return None if tag is None else self.parameters(tag)

    def truth(self) -> Sql:
        """Return the value of a boolean."""
        if self.kind is not Kind.BOOLEAN or not isinstance(self.term, Literal):
            return sql.cast(sql.NULL.copy(), "BOOLEAN")
        return (sql.TRUE if self.term.lexical in ("true", "1") else sql.FALSE).copy()


def typed_text(lexical: Sql, kind: Kind) -> Sql:
    """Return the canonical text of a literal of an XSD type whose lexical form needs no escape."""
    return sql.concat(sql.text('"'), lexical, sql.text(f'"^^<{DATATYPES[kind]}>'))


def constant_value(constant: Constant, parameters: Parameters) -> Value:
    """Return a term of the query."""
    return ConstantValue(constant.term, parameters)


def double(value: float) -> Sql:
    """Return a double; through its text, because literals of both targets may be read as decimals."""
    special = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    return sql.cast(sql.text("NaN" if value != value else special.get(value, repr(value))), "DOUBLE")
