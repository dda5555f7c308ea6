"""[Functions on RDF terms](https://www.w3.org/TR/sparql11-query/#func-rdfTerms)."""

from __future__ import annotations

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.lexical import suffix_of
from hydrograph.compile.expressions.numbers import NOTHING
from hydrograph.compile.expressions.strings import SIMPLE, of_kinds, string
from hydrograph.compile.expressions.values import (
    LITERALS,
    BooleanValue,
    ChoiceValue,
    ConstantValue,
    Kinds,
    LexicalValue,
    StringValue,
    TermValue,
    Value,
)
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import RDF_LANG_STRING, XSD_STRING
from hydrograph.rdf.xsd import DATATYPES, RULES

_IRI: Kinds = frozenset({Kind.IRI})
_TAG = "^[a-zA-Z]+(-[a-zA-Z0-9]+)*$"


def is_of(value: Value, kinds: Kinds) -> Value:
    """Return whether the term is of one of these kinds; an error where there is none."""
    known = value.is_kind(kinds)
    if isinstance(known, bool):
        return BooleanValue(sql.when((value.bound(), (sql.TRUE if known else sql.FALSE).copy())))
    return BooleanValue(known)


def is_numeric(value: Value) -> Value:
    """Return isNumeric, from the number itself where the data brings it along."""
    if isinstance(value, TermValue) and value.stored:
        return BooleanValue(sql.when((sql.not_null(value.part(Part.ID)), sql.not_null(value.part(Part.NUMBER)))))
    return is_of(value, frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE}))


def str_(value: Value) -> Value:
    """Return STR: the lexical form of a literal, or an IRI as a string."""
    return NOTHING if value.kinds == {Kind.BLANK} else StringValue(value.lexical())


def lang(value: Value) -> Value:
    """Return LANG: the tag of a literal, or an empty string."""
    tag = value.language()
    found = sql.text("") if tag is None else sql.coalesce(tag, sql.text(""))
    text = of_kinds(value, LITERALS, lambda: sql.when((value.bound(), found)))
    return NOTHING if text is None else StringValue(text)


def datatype(value: Value) -> Value:
    """Return DATATYPE of a literal."""
    if isinstance(value, TermValue | ChoiceValue | ConstantValue):
        text = of_kinds(value, LITERALS, lambda: sql.let(value.part(Part.TEXT), _written_datatype))
        return NOTHING if text is None else LexicalValue(_IRI, text)
    names = [(kind, sql.text(DATATYPES[kind])) for kind in sorted(value.kinds) if kind in DATATYPES]
    if not names:
        return NOTHING
    kind = value.part(Part.KIND)
    return LexicalValue(_IRI, sql.when(*[(sql.equal(kind.copy(), sql.num(known)), name) for known, name in names]))


def _written_datatype(text: Sql) -> Sql:
    suffix = suffix_of(text.copy())
    length = sql.subtract(sql.call("length", suffix.copy()), sql.num(4))
    return sql.when(
        (sql.equal(suffix.copy(), sql.text("")), sql.text(XSD_STRING)),
        (sql.equal(sql.call("left", suffix.copy(), sql.num(1)), sql.text("@")), sql.text(RDF_LANG_STRING)),
        otherwise=sql.call("substring", suffix, sql.num(4), length),
    )


def iri(value: Value, base: Value | None) -> Value:
    """Return IRI: a string resolved against the base, an IRI as it is."""
    branches: list[tuple[Sql, Sql]] = []
    text = string(value, SIMPLE)
    if text is not None:
        start = sql.text("") if base is None else base.lexical()
        text = sql.kernel("hydrograph_iri", text, start)
    if Kind.IRI in value.kinds:
        already = of_kinds(value, _IRI, value.lexical)
        assert already is not None
        branches.append((sql.equal(value.part(Part.KIND), sql.num(Kind.IRI)), already))
    if text is None and not branches:
        return NOTHING
    if text is not None and not branches:
        return LexicalValue(_IRI, text)
    return LexicalValue(_IRI, sql.when(*branches, otherwise=text))


def str_lang(value: Value, tag: Value) -> Value:
    """Return STRLANG: a simple string with a language tag."""
    text, language = string(value, SIMPLE), string(tag, SIMPLE)
    if text is None or language is None:
        return NOTHING
    good = nodes.Matches(this=language, expression=sql.text(_TAG))
    return StringValue(sql.when((good, text)), sql.call("LOWER", language.copy()))


def str_dt(value: Value, type_: Value) -> Value:
    """Return STRDT: a simple string with a datatype; what kind of literal it is, its lexical form decides."""
    text, name = string(value, SIMPLE), of_kinds(type_, _IRI, type_.lexical)
    if text is None or name is None:
        return NOTHING
    constant = type_.term if isinstance(type_, ConstantValue) else None
    if constant == Iri(XSD_STRING):
        return StringValue(text)
    written = sql.kernel("hydrograph_typed", text, name)
    if isinstance(constant, Iri) and constant.value not in RULES and constant.value != RDF_LANG_STRING:
        return read_text(written, frozenset({Kind.OTHER}))
    return read_text(written, LITERALS - {Kind.LANG})


def read_text(text: Sql, kinds: Kinds) -> Value:
    """Return a literal of which only the canonical text is known; kernels read the rest from it."""

    def part(part: Part) -> Sql:
        match part:
            case Part.TEXT:
                return text.copy()
            case Part.ID:
                return nodes.TermId(this=text.copy())
            case Part.KIND:
                return sql.kernel("hydrograph_kind", text.copy())
            case Part.NUMBER:
                return sql.kernel("hydrograph_number", text.copy())
            case Part.DECIMAL:
                return sql.kernel("hydrograph_decimal", text.copy())

    return TermValue(part, kinds)
