"""Computed values: booleans, numbers, strings, whatever is written, and choices among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce

from hydrograph.compile import binding, sql
from hydrograph.compile.expressions.values import EXACT, INEXACT, STRINGS, Kinds, Value, typed_text
from hydrograph.compile.relation import Part, null_part, number_text, string_part, truth_part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind


@dataclass(frozen=True, slots=True, eq=False)
class TruthValue(Value):
    """A computed boolean."""

    value: Sql
    kinds: Kinds = frozenset({Kind.BOOLEAN})

    def part(self, part: Part) -> Sql:
        """Return a part of the term."""
        return truth_part(self.value.copy(), part)

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
class WholeValue(Value):
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
                return sql.TermId(this=self.part(Part.TEXT))

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
    """A struct of `kind`, `dec` and `num`, of which the other three are the fields; None where each stands alone."""

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
                    return binding.bind(self.whole.copy(), lambda name: NumberValue.of(self.kinds, name).known_kind())
                return self.known_kind()
            case Part.NUMBER:
                return self.double()
            case Part.DECIMAL:
                return null_part(part) if self.decimal is None else self.decimal.copy()
            case Part.TEXT:
                return self._written(number_text)
            case Part.ID:
                return sql.TermId(this=self.part(Part.TEXT))

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
            texts.append(sql.DecimalText(this=self.decimal.copy()))
        if self.number is not None:
            texts.append(self._double_text(self.number))
        return texts[0] if len(texts) == 1 else sql.coalesce(*texts)

    def _double_text(self, number: Sql) -> Sql:
        double, single = sql.DoubleText(this=number.copy()), sql.SingleText(this=number.copy())
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
        values: list[Sql] = [] if self.decimal is None else [sql.DecimalDouble(this=self.decimal.copy())]
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
class WrittenValue(Value):
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
                return sql.TermId(this=self.part(Part.TEXT))
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
            return sql.TermId(this=self.part(Part.TEXT))
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
