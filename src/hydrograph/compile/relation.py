"""The compiler's value: rows that are solution mappings, each valid at some report instants.

Operators ask the validity for conditions and columns; none of them names `lo` or `hi` itself. So the same operators
serve rows stamped with ranks today and rows stamped with spans for many queries at once (S43).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from hydrograph.compile import sql
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Variable
from hydrograph.rdf.vocab import XSD


class Part(Enum):
    """What a plan may know of a term; each is a column of its own, there only if something reads it."""

    ID = "id"
    TEXT = "text"
    KIND = "kind"
    NUMBER = "num"
    DECIMAL = "dec"


Parts: TypeAlias = frozenset[Part]
Demand: TypeAlias = Mapping[Variable, Parts]
"""What the reader of a relation needs of each variable; variables that are not named are not needed at all."""

_TYPES = {Part.ID: "BIGINT", Part.TEXT: "TEXT", Part.KIND: "TINYINT", Part.NUMBER: "DOUBLE", Part.DECIMAL: sql.DECIMAL}


def null_part(part: Part) -> Sql:
    """Return the NULL of a part's type."""
    return sql.cast(sql.NULL.copy(), _TYPES[part])


@dataclass(frozen=True, slots=True)
class Encoded:
    """A term of the data: the parts that were asked for."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class Whole:
    """A computed xsd:integer that fits BIGINT, such as a count."""


@dataclass(frozen=True, slots=True)
class Number:
    """A computed number whose type the data decides: its kind, a double for floats and doubles, else a decimal."""

    exact: bool = False
    """Whether it is known to be an integer or a decimal."""


Form: TypeAlias = Encoded | Whole | Number


@dataclass(frozen=True, slots=True)
class Always:
    """Validity of static rows: at every instant (S27)."""

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranks:
    """Validity of a row: the report ranks `[lo, hi)` (S15, S18)."""

    lo: str = "lo"
    hi: str = "hi"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that carry it."""
        return (self.lo, self.hi)


Validity: TypeAlias = Always | Ranks


def overlap(left: Validity, right: Validity, left_name: str, right_name: str) -> list[Sql]:
    """Return the conditions under which a row of each side are valid together (S20)."""
    match left, right:
        case Ranks(), Ranks():
            return [
                sql.less(sql.col(left.lo, left_name), sql.col(right.hi, right_name)),
                sql.less(sql.col(right.lo, right_name), sql.col(left.hi, left_name)),
            ]
        case _:
            return []


def intersect(left: Validity, right: Validity, left_name: str, right_name: str) -> tuple[Validity, list[Sql]]:
    """Return the validity of two rows together, and the columns that carry it (S20)."""
    match left, right:
        case Ranks(), Ranks():
            lo = sql.greatest(sql.col(left.lo, left_name), sql.col(right.lo, right_name))
            hi = sql.least(sql.col(left.hi, left_name), sql.col(right.hi, right_name))
            return Ranks(), [sql.alias(lo, "lo"), sql.alias(hi, "hi")]
        case Ranks(), Always():
            return left, [sql.col(column, left_name) for column in left.columns]
        case Always(), _:
            return right, [sql.col(column, right_name) for column in right.columns]


@dataclass(frozen=True, slots=True)
class Relation:
    """A named step of the program and what its rows are."""

    name: str
    forms: Mapping[Variable, Form]
    certain: frozenset[Variable]
    """The variables that are bound in every row; only the others pay for NULL in joins."""
    keys: tuple[str, ...]
    """Hidden key columns (chunk, stream number): equal in every join, part of every group, never SPARQL variables."""
    validity: Validity
    names: Mapping[Variable, str]
    """The column stem of each variable: generated, because SQL names ignore case."""

    def column(self, variable: Variable, part: Part) -> str:
        """Return the name of the column that holds `part`."""
        return column_name(self.names[variable], self.forms[variable], part)

    def columns(self, variable: Variable) -> list[str]:
        """Return all columns of a variable."""
        return form_columns(self.names[variable], self.forms[variable])

    def all_columns(self) -> list[str]:
        """Return every column: hidden keys, variables, validity."""
        variables = [column for variable in self.forms for column in self.columns(variable)]
        return [*self.keys, *variables, *self.validity.columns]

    def part(self, variable: Variable, part: Part, table: str | None = None) -> Sql:
        """Return the expression for a part of a variable's term."""
        return part_of(self.forms[variable], self.names[variable], part, table)

    def renamed(self, name: str) -> Relation:
        """Return the same rows under another name."""
        return replace(self, name=name)


def form_columns(stem: str, form: Form) -> list[str]:
    """Return the columns in which a term of this form stands."""
    match form:
        case Encoded(parts):
            return [column_name(stem, form, part) for part in Part if part in parts]
        case Whole():
            return [f"{stem}_int"]
        case Number():
            return [f"{stem}_kind", f"{stem}_num", f"{stem}_dec"]


def column_name(stem: str, form: Form, part: Part) -> str:
    """Return the column of one part."""
    if isinstance(form, Whole):
        return f"{stem}_int"
    return stem if part is Part.ID else f"{stem}_{part.value}"


def part_of(form: Form, stem: str, part: Part, table: str | None = None) -> Sql:
    """Return a part of a term, computed where it does not stand in a column."""
    match form:
        case Encoded(parts):
            assert part in parts, f"{part} of {stem} was not asked for"
            return sql.col(column_name(stem, form, part), table)
        case Whole():
            return _part_of_whole(sql.col(f"{stem}_int", table), part)
        case Number(exact):
            return _part_of_number(stem, part, table, exact=exact)


def _part_of_whole(value: Sql, part: Part) -> Sql:
    match part:
        case Part.ID:
            return sql.TermId(this=_part_of_whole(value, Part.TEXT))
        case Part.TEXT:
            return _literal(sql.cast(value, "TEXT"), "integer")
        case Part.KIND:
            return sql.cast(sql.when((sql.is_null(value), sql.NULL.copy()), otherwise=sql.num(Kind.INTEGER)), "TINYINT")
        case Part.NUMBER:
            return sql.cast(value, "DOUBLE")
        case Part.DECIMAL:
            return sql.cast(value.copy(), sql.DECIMAL)


def _part_of_number(stem: str, part: Part, table: str | None, *, exact: bool) -> Sql:
    kind = sql.col(f"{stem}_kind", table)
    match part:
        case Part.KIND:
            return kind
        case Part.NUMBER:
            rounded = sql.cast(sql.col(f"{stem}_dec", table), "DOUBLE")
            return sql.when((sql.not_null(kind), sql.coalesce(sql.col(f"{stem}_num", table), rounded)))
        case Part.DECIMAL:
            exact_kind = sql.one_of(kind, (Kind.INTEGER, Kind.DECIMAL))
            return sql.when((exact_kind, sql.col(f"{stem}_dec", table)))
        case Part.ID:
            return sql.TermId(this=_part_of_number(stem, Part.TEXT, table, exact=exact))
        case Part.TEXT:
            double = None if exact else sql.col(f"{stem}_num", table)
            return number_text(kind, double, sql.col(f"{stem}_dec", table))


def number_text(kind: Sql, double: Sql | None, decimal: Sql) -> Sql:
    """Return the canonical text of a computed number; `double` is None where it can't be one."""
    plain = sql.DecimalText(this=decimal)
    texts = [
        (_is(kind, Kind.INTEGER), _literal(plain, "integer")),
        (_is(kind, Kind.DECIMAL), _literal(plain.copy(), "decimal")),
    ]
    if double is not None:
        inexact = sql.DoubleText(this=double)
        texts.append((_is(kind, Kind.FLOAT), _literal(inexact, "float")))
        texts.append((_is(kind, Kind.DOUBLE), _literal(inexact.copy(), "double")))
    return sql.when(*texts)


def _is(kind: Sql, wanted: Kind) -> Sql:
    return sql.equal(kind.copy(), sql.num(wanted))


def _literal(lexical: Sql, datatype: str) -> Sql:
    return sql.concat(sql.text('"'), lexical, sql.text(f'"^^<{XSD}{datatype}>'))
