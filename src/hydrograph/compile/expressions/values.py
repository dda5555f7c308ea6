"""Values of expressions, asked for their parts only where an operator reads them.

A value knows which kinds of terms it can be, so that branches which can't be taken are never written. NULL is an error
or unbound, in every part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import reduce

from hydrograph.algebra.expressions import Constant, Reference
from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.lexical import lexical_of, suffix_of
from hydrograph.compile.relation import (
    BooleanLayout,
    EncodedLayout,
    GeneralLayout,
    IntegerLayout,
    NumberLayout,
    Part,
    Relation,
    StringLayout,
    boolean_part,
    null_part,
    number_text,
    string_part,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Encoded as EncodedTerm
from hydrograph.rdf.encoding import Kind, encode
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term, Variable
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
    """Value of an expression in each row."""

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
    """True if a column holds the id, which is then the cheapest way to compare two terms."""

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


@dataclass(frozen=True, slots=True, eq=False)
class BooleanValue(Value):
    """A computed boolean."""

    value: Sql
    kinds: Kinds = frozenset({Kind.BOOLEAN})

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        return boolean_part(self.value.copy(), part)

    def bound(self) -> Sql:
        """Return whether it is no error."""
        return sql.not_null(sql.paren(self.value.copy()))

    def lexical(self) -> Sql:
        """Return true or false."""
        value = sql.paren(self.value.copy())
        return sql.when((value, sql.text("true")), (sql.negate(value.copy()), sql.text("false")))

    def truth(self) -> Sql:
        """Return the value itself."""
        return self.value.copy()


@dataclass(frozen=True, slots=True, eq=False)
class IntegerValue(Value):
    """A computed integer that fits BIGINT."""

    value: Sql
    kinds: Kinds = frozenset({Kind.INTEGER})

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        match part:
            case Part.KIND:
                return sql.cast(sql.when((self.bound(), sql.num(Kind.INTEGER))), "TINYINT")
            case Part.NUMBER:
                return self.double()
            case Part.DECIMAL:
                return sql.cast(self.value.copy(), sql.DECIMAL)
            case Part.TEXT:
                return typed_text(self.lexical(), Kind.INTEGER)
            case Part.ID:
                return nodes.TermId(this=self.part(Part.TEXT))

    def bound(self) -> Sql:
        """Return whether it is no error."""
        return sql.not_null(self.value.copy())

    def lexical(self) -> Sql:
        """Return the digits."""
        return sql.cast(self.value.copy(), "TEXT")

    def double(self) -> Sql:
        """Return the value as a double."""
        return sql.cast(self.value.copy(), "DOUBLE")


@dataclass(frozen=True, slots=True, eq=False)
class NumberValue(Value):
    """A computed number: a decimal or a double, NULL both after an error."""

    kinds: Kinds
    type: Sql
    """The kind where there is a value."""
    decimal: Sql | None
    number: Sql | None
    whole: Sql | None = None
    """A struct whose fields `kind`, `dec` and `num` are the other three; None if they are separate expressions."""

    @classmethod
    def of(cls, kinds: Kinds, whole: Sql) -> NumberValue:
        """Return the number that a struct of `kind`, `dec` and `num` holds."""
        kind, decimal, number = (sql.member(whole.copy(), name) for name in ("kind", "dec", "num"))
        return cls(kinds, kind, decimal, number, whole)

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        match part:
            case Part.KIND:
                if self.whole is not None:
                    return sql.bind(self.whole.copy(), lambda name: NumberValue.of(self.kinds, name).known_kind())
                return self.known_kind()
            case Part.NUMBER:
                return self.double()
            case Part.DECIMAL:
                return null_part(part) if self.decimal is None else self.decimal.copy()
            case Part.TEXT:
                return self._written(number_text)
            case Part.ID:
                return nodes.TermId(this=self.part(Part.TEXT))

    def known_kind(self) -> Sql:
        """Return the kind, NULL after an error."""
        return sql.cast(sql.when((self.bound(), self.type.copy())), "TINYINT")

    def _written(self, write: Callable[[Sql, Sql | None, Sql], Sql]) -> Sql:
        decimal = null_part(Part.DECIMAL) if self.decimal is None else self.decimal.copy()
        return write(self.type.copy(), None if self.number is None else self.number.copy(), decimal)

    def bound(self) -> Sql:
        """Return whether it is no error."""
        given = [sql.not_null(value.copy()) for value in (self.decimal, self.number) if value is not None]
        return given[0] if len(given) == 1 else sql.paren(sql.any_of(given))

    def lexical(self) -> Sql:
        """Return the canonical lexical form."""
        texts: list[Sql] = []
        if self.decimal is not None:
            texts.append(nodes.DecimalText(this=self.decimal.copy()))
        if self.number is not None:
            texts.append(self._double_text(self.number))
        return texts[0] if len(texts) == 1 else sql.coalesce(*texts)

    def _double_text(self, number: Sql) -> Sql:
        double, single = nodes.DoubleText(this=number.copy()), nodes.SingleText(this=number.copy())
        if Kind.FLOAT not in self.kinds or Kind.DOUBLE not in self.kinds:
            return single if Kind.FLOAT in self.kinds else double
        return sql.when((sql.equal(self.type.copy(), sql.num(Kind.FLOAT)), single), otherwise=double)

    def number_kind(self) -> Sql:
        """Return the kind where there is a value."""
        return self.type.copy()

    def exact(self) -> Sql | None:
        """Return the decimal."""
        return None if self.decimal is None else self.decimal.copy()

    def inexact(self) -> Sql | None:
        """Return the double of a float or double."""
        return None if self.number is None else self.number.copy()

    def double(self) -> Sql:
        """Return the value as a double."""
        values: list[Sql] = [] if self.decimal is None else [nodes.DecimalDouble(this=self.decimal.copy())]
        values += [] if self.number is None else [self.number.copy()]
        return values[0] if len(values) == 1 else sql.coalesce(*values)


@dataclass(frozen=True, slots=True, eq=False)
class StringValue(Value):
    """A computed string; `tag` is None where it has no language, NULL in rows where it has none."""

    text: Sql
    tag: Sql | None = None

    @property
    def kinds(self) -> Kinds:  # type: ignore[override]
        """STRING, and LANG where there may be a tag."""
        return frozenset({Kind.STRING}) if self.tag is None else STRINGS

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        return string_part(self.text.copy(), self.language(), part)

    def bound(self) -> Sql:
        """Return whether it is no error."""
        return sql.not_null(self.text.copy())

    def lexical(self) -> Sql:
        """Return the string."""
        return self.text.copy()

    def language(self) -> Sql | None:
        """Return the tag."""
        return None if self.tag is None else self.tag.copy()


@dataclass(frozen=True, slots=True, eq=False)
class LexicalValue(Value):
    """A computed IRI, or a computed literal of one kind given by its lexical form: no number, string or boolean."""

    kinds: Kinds
    text: Sql
    datatype: str | None = None

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        match part:
            case Part.KIND:
                (kind,) = self.kinds
                return sql.cast(sql.when((self.bound(), sql.num(kind))), "TINYINT")
            case Part.TEXT if self.datatype is None:
                return sql.concat(sql.text("<"), self.text.copy(), sql.text(">"))
            case Part.TEXT:
                return sql.concat(sql.text('"'), self.text.copy(), sql.text(f'"^^<{self.datatype}>'))
            case Part.ID:
                return nodes.TermId(this=self.part(Part.TEXT))
            case Part.NUMBER | Part.DECIMAL:
                return null_part(part)

    def bound(self) -> Sql:
        """Return whether it is no error."""
        return sql.not_null(self.text.copy())

    def lexical(self) -> Sql:
        """Return the lexical form or the IRI."""
        return self.text.copy()


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceValue(Value):
    """The first of several values whose condition holds, or with a `switch` the one for what that is."""

    branches: tuple[tuple[Sql, Value], ...]
    switch: Sql | None = None
    kinds: Kinds = field(init=False)

    def __post_init__(self) -> None:
        """Collect the kinds."""
        kinds: Kinds = reduce(frozenset.union, (value.kinds for _, value in self.branches), frozenset())
        object.__setattr__(self, "kinds", kinds)

    def _choose(self, read: Callable[[Value], Sql | None], missing: Part) -> Sql:
        choices = []
        for condition, value in self.branches:
            found = read(value)
            choices.append((condition.copy(), null_part(missing) if found is None else found))
        return self._cases(choices)

    def _cases(self, choices: list[tuple[Sql, Sql]]) -> Sql:
        cases = sql.when(*choices)
        if self.switch is not None:
            cases.set("this", self.switch.copy())
        return cases

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        if part is Part.ID:
            return nodes.TermId(this=self.part(Part.TEXT))
        return self._choose(lambda value: value.part(part), part)

    def lexical(self) -> Sql:
        """Return the lexical form."""
        return self._choose(lambda value: value.lexical(), Part.TEXT)

    def language(self) -> Sql | None:
        """Return the tag, if one of the values may have one."""
        if Kind.LANG not in self.kinds:
            return None
        return self._choose(_known_language, Part.TEXT)

    def truth(self) -> Sql:
        """Return the value of a boolean."""
        choices = [
            (condition.copy(), value.truth()) for condition, value in self.branches if Kind.BOOLEAN in value.kinds
        ]
        return self._cases(choices) if choices else sql.cast(sql.NULL.copy(), "BOOLEAN")

    def exact(self) -> Sql | None:
        """Return the decimal."""
        return self._choose(lambda value: value.exact(), Part.DECIMAL) if self.kinds & EXACT else None

    def inexact(self) -> Sql | None:
        """Return the double of a float or double."""
        return self._choose(lambda value: value.inexact(), Part.NUMBER) if self.kinds & INEXACT else None


def _known_language(value: Value) -> Sql | None:
    """Return the tag of a value, NULL after an error: without a string there is no tag."""
    tag = value.language()
    return sql.when((value.bound(), tag)) if isinstance(value, StringValue) and tag is not None else tag


_LARGE = 50
"""Below so many nodes Spark compiles a repeated value to code that is faster than a bound name."""


def bind_large(left: Value, right: Value, body: Callable[[Value, Value], Sql]) -> Sql:
    """Return `body(left, right)`; a value that is large to write is computed once for all its parts."""
    return _bind_if_large(left, lambda one: _bind_if_large(right, lambda other: body(one, other)))


def _bind_if_large(value: Value, body: Callable[[Value], Sql]) -> Sql:
    match value:
        case BooleanValue(truth) if sql.size(truth) > _LARGE:
            return sql.bind(truth.copy(), lambda name: body(BooleanValue(name)))
        case NumberValue() if is_large(value):
            whole = _whole(value)
            return sql.bind(whole, lambda name: body(NumberValue.of(value.kinds, name)))
        case ChoiceValue(branches, switch):
            chosen = sql.when(*[(test.copy(), sql.num(index)) for index, (test, _) in enumerate(branches)])
            if switch is not None:
                chosen.set("this", switch.copy())
            if sql.size(chosen) <= _LARGE:
                return body(value)
            numbered = tuple((sql.num(index), branch) for index, (_, branch) in enumerate(branches))
            return sql.bind(chosen, lambda name: body(replace(value, branches=numbered, switch=name)))
        case _:
            return body(value)


def is_large(value: Value) -> bool:
    """Tell whether a number that may be a decimal or a double is large to write."""
    match value:
        case NumberValue(whole=sql.Sql()):
            return True
        case NumberValue(decimal=sql.Sql() as decimal, number=sql.Sql() as number):
            return sql.size(decimal) + sql.size(number) > _LARGE
        case _:
            return False


def _whole(value: NumberValue) -> Sql:
    if value.whole is not None:
        return value.whole.copy()
    assert value.decimal is not None
    assert value.number is not None
    return sql.record(kind=value.type.copy(), dec=value.decimal.copy(), num=value.number.copy())


def variable_value(reference: Reference, relation: Relation) -> Value:
    """Return the term of a variable; unbound everywhere if the row has no such variable."""
    variable = reference.variable
    if variable not in relation.layouts:
        return TermValue(null_part)
    return stored_value(relation, variable)


def stored_value(relation: Relation, variable: Variable, table: str | None = None) -> Value:
    """Return the term that the columns of a variable hold."""
    layout, stem = relation.layouts[variable], relation.names[variable]
    match layout:
        case IntegerLayout():
            return IntegerValue(sql.col(f"{stem}_int", table))
        case BooleanLayout():
            return BooleanValue(sql.col(f"{stem}_bool", table))
        case StringLayout(tagged):
            return StringValue(sql.col(f"{stem}_lex", table), sql.col(f"{stem}_lang", table) if tagged else None)
        case NumberLayout(exact):
            kinds = EXACT if exact else NUMBERS
            return TermValue(lambda part: relation.part(variable, part, table), kinds)
        case EncodedLayout() | GeneralLayout():
            return TermValue(
                lambda part: relation.part(variable, part, table), stored=isinstance(layout, EncodedLayout)
            )
