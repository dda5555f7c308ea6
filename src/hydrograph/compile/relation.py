"""Relation: a step whose rows are solution mappings, each valid at some report instants.

`Validity` is either `Always` (static rows) or a `RankInterval`. Joins and set operators ask it for conditions and
columns. `scan`, `report_instants`, `output_queries`, `query_forms` and `r2s` write or read the columns `lo` and `hi` by
name, because they create intervals or turn them into reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeAlias

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Variable
from hydrograph.rdf.vocab import XSD


class Part(Enum):
    """Part of a term. Each part is a column of its own, and only the parts that something reads are carried."""

    ID = "id"
    TEXT = "text"
    KIND = "kind"
    NUMBER = "num"
    DECIMAL = "dec"


Parts: TypeAlias = frozenset[Part]
Demand: TypeAlias = Mapping[Variable, Parts]
"""Parts of each variable that the reader of a relation needs; it does not need variables that are not listed."""

_TYPES = {Part.ID: "BIGINT", Part.TEXT: "TEXT", Part.KIND: "TINYINT", Part.NUMBER: "DOUBLE", Part.DECIMAL: sql.DECIMAL}


def null_part(part: Part) -> Sql:
    """Return the NULL of a part's type."""
    return sql.cast(sql.NULL.copy(), _TYPES[part])


@dataclass(frozen=True, slots=True)
class EncodedLayout:
    """A term of the data: the parts that were asked for."""

    parts: Parts


@dataclass(frozen=True, slots=True)
class IntegerLayout:
    """A computed xsd:integer that fits BIGINT, such as a count."""


@dataclass(frozen=True, slots=True)
class NumberLayout:
    """A computed number whose type the data decides: its kind, a double for floats and doubles, else a decimal."""

    exact: bool = False
    """True if it is known to be an integer or a decimal."""


@dataclass(frozen=True, slots=True)
class BooleanLayout:
    """A computed xsd:boolean: one BOOLEAN column."""


@dataclass(frozen=True, slots=True)
class StringLayout:
    """A computed string: its lexical form, and its language tag where it may have one (NULL: a simple string)."""

    tagged: bool = False


@dataclass(frozen=True, slots=True)
class GeneralLayout:
    """A computed term of any kind: canonical text, kind, and its number if it is one; the id is made of the text."""


TermLayout: TypeAlias = EncodedLayout | IntegerLayout | NumberLayout | BooleanLayout | StringLayout | GeneralLayout
"""Columns that hold a term: `layout_columns` names them, `layout_types` types them, `part_of` reads any part.

A term is unbound where its columns are NULL: every part is NULL then.
"""


@dataclass(frozen=True, slots=True)
class Always:
    """Validity of static rows: at every instant (S27)."""

    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RankInterval:
    """Validity of a row: the report ranks `[lo, hi)` (S15, S18)."""

    lo: str = "lo"
    hi: str = "hi"
    instants: str | None = None
    """The step that maps ranks to instants; None where the reports form a grid."""
    has_report_columns: bool = False
    """True if the rows carry the columns `report_t` and `report_name` of that step, see `rank_expansion`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that carry it."""
        return (self.lo, self.hi)


Validity: TypeAlias = Always | RankInterval


REPORT_FIRST, REPORT_STEP = "report_first", "report_step"
"""Parameters of a program whose reports form a grid: the instant of rank 0 and the distance of two, in ms (S28)."""


def report_time(validity: RankInterval) -> Sql:
    """Return the time of the report at which a row is valid, which must be one."""
    if validity.instants is not None:
        return _report_column(validity, "t")
    first, step = (sql.cast(sql.parameter(name), "BIGINT") for name in (REPORT_FIRST, REPORT_STEP))
    return sql.add(first, sql.multiply(sql.col(validity.lo), step))


def report_name(validity: RankInterval) -> Sql:
    """Return a text that names the report at which a row is valid, the same in every replay."""
    if validity.instants is not None:
        return _report_column(validity, "name")
    step = sql.multiply(sql.col(validity.lo), sql.parameter(REPORT_STEP))
    return sql.cast(sql.add(sql.parameter(REPORT_FIRST), step), "TEXT")


def _report_column(validity: RankInterval, column: str) -> Sql:
    assert validity.instants is not None
    if validity.has_report_columns:  # Spark knows no subquery where a name is bound inside an expression
        return sql.col(f"report_{column}")
    found = sql.from_(sql.select(exp.Max(this=sql.col(column, "i"))), validity.instants, "i")
    return exp.Subquery(this=found.where(sql.equal(sql.col("r", "i"), sql.col(validity.lo)), copy=False))


def overlap_conditions(left: Validity, right: Validity, left_name: str, right_name: str) -> list[Sql]:
    """Return the conditions under which a row of each side are valid together (S20)."""
    match left, right:
        case RankInterval(), RankInterval():
            return [
                sql.less(sql.col(left.lo, left_name), sql.col(right.hi, right_name)),
                sql.less(sql.col(right.lo, right_name), sql.col(left.hi, left_name)),
            ]
        case _:
            return []


def intersect_validity(left: Validity, right: Validity, left_name: str, right_name: str) -> tuple[Validity, list[Sql]]:
    """Return the validity of two rows together, and the columns that carry it (S20)."""
    match left, right:
        case RankInterval(), RankInterval():
            lo = sql.greatest(sql.col(left.lo, left_name), sql.col(right.lo, right_name))
            hi = sql.least(sql.col(left.hi, left_name), sql.col(right.hi, right_name))
            return RankInterval(instants=left.instants), [sql.alias(lo, "lo"), sql.alias(hi, "hi")]
        case RankInterval(), Always():
            return left, [sql.col(column, left_name) for column in left.columns]
        case _:
            return right, [sql.col(column, right_name) for column in right.columns]


@dataclass(frozen=True, slots=True)
class Relation:
    """A named step of the program and what its rows are."""

    name: str
    layouts: Mapping[Variable, TermLayout]
    certain: frozenset[Variable]
    """The variables that are bound in every row; only the others pay for NULL in joins."""
    keys: tuple[str, ...]
    """Hidden key columns (chunk, stream number): equal in every join, part of every group, never SPARQL variables."""
    validity: Validity
    names: Mapping[Variable, str]
    """The column stem of each variable: generated, because SQL names ignore case."""

    def column(self, variable: Variable, part: Part) -> str:
        """Return the name of the column that holds `part`."""
        return column_name(self.names[variable], self.layouts[variable], part)

    def columns(self, variable: Variable) -> list[str]:
        """Return all columns of a variable."""
        return layout_columns(self.names[variable], self.layouts[variable])

    def all_columns(self) -> list[str]:
        """Return every column: hidden keys, variables, validity."""
        variables = [column for variable in self.layouts for column in self.columns(variable)]
        return [*self.keys, *variables, *self.validity.columns]

    def part(self, variable: Variable, part: Part, table: str | None = None) -> Sql:
        """Return the expression for a part of a variable's term."""
        return part_of(self.layouts[variable], self.names[variable], part, table)

    def renamed(self, name: str) -> Relation:
        """Return the same rows under another name."""
        return replace(self, name=name)


def layout_columns(stem: str, layout: TermLayout) -> list[str]:
    """Return the columns that hold a term of this layout."""
    return [stem + suffix for suffix in layout_types(layout)]


def layout_types(layout: TermLayout) -> dict[str, str]:
    """Return the SQL type of each column of a layout, by the suffix that follows the stem in its name."""
    match layout:
        case EncodedLayout(parts):
            return {_suffix(part): _TYPES[part] for part in Part if part in parts}
        case IntegerLayout():
            return {"_int": "BIGINT"}
        case NumberLayout():
            return {_suffix(part): _TYPES[part] for part in (Part.KIND, Part.NUMBER, Part.DECIMAL)}
        case BooleanLayout():
            return {"_bool": "BOOLEAN"}
        case StringLayout(tagged):
            return {"_lex": "TEXT", "_lang": "TEXT"} if tagged else {"_lex": "TEXT"}
        case GeneralLayout():
            return {_suffix(part): _TYPES[part] for part in Part if part is not Part.ID}


def column_name(stem: str, layout: TermLayout, part: Part) -> str:
    """Return the column of one part, or for computed terms the column it is made of."""
    match layout:
        case IntegerLayout():
            return f"{stem}_int"
        case BooleanLayout():
            return f"{stem}_bool"
        case StringLayout():
            return f"{stem}_lex"
        case EncodedLayout() | NumberLayout() | GeneralLayout():
            return stem + _suffix(part)


def _suffix(part: Part) -> str:
    return "" if part is Part.ID else f"_{part.value}"


def part_of(layout: TermLayout, stem: str, part: Part, table: str | None = None) -> Sql:
    """Return a part of a term, computed if no column holds it."""
    match layout:
        case EncodedLayout(parts):
            assert part in parts, f"{part} of {stem} was not asked for"
            return sql.col(column_name(stem, layout, part), table)
        case IntegerLayout():
            return _part_of_whole(sql.col(f"{stem}_int", table), part)
        case NumberLayout(exact):
            return _part_of_number(stem, part, table, exact=exact)
        case BooleanLayout():
            return boolean_part(sql.col(f"{stem}_bool", table), part)
        case StringLayout(tagged):
            language = sql.col(f"{stem}_lang", table) if tagged else None
            return string_part(sql.col(f"{stem}_lex", table), language, part)
        case GeneralLayout():
            if part is Part.ID:
                return nodes.TermId(this=sql.col(f"{stem}_text", table))
            return sql.col(column_name(stem, layout, part), table)


def boolean_part(value: Sql, part: Part) -> Sql:
    """Return a part of a computed boolean."""
    match part:
        case Part.ID:
            return nodes.TermId(this=boolean_part(value, Part.TEXT))
        case Part.TEXT:
            texts = (_literal(sql.text(lexical), "boolean") for lexical in ("true", "false"))
            return sql.when((value, next(texts)), (sql.negate(value.copy()), next(texts)))
        case Part.KIND:
            return _kind_where(sql.not_null(value), Kind.BOOLEAN)
        case Part.NUMBER | Part.DECIMAL:
            return null_part(part)


def string_part(lexical: Sql, language: Sql | None, part: Part) -> Sql:
    """Return a part of a computed string; `language` is None where it has none, NULL in rows that have none."""
    match part:
        case Part.ID:
            return nodes.TermId(this=string_part(lexical, language, Part.TEXT))
        case Part.TEXT:
            quoted = sql.concat(sql.text('"'), escaped(lexical), sql.text('"'))
            if language is None:
                return quoted
            tag = sql.when((sql.not_null(language), sql.concat(sql.text("@"), language.copy())), otherwise=sql.text(""))
            return sql.concat(quoted, tag)
        case Part.KIND:
            if language is None:
                return _kind_where(sql.not_null(lexical), Kind.STRING)
            kinds = sql.when((sql.is_null(language), sql.num(Kind.STRING)), otherwise=sql.num(Kind.LANG))
            return sql.cast(sql.when((sql.not_null(lexical), kinds)), "TINYINT")
        case Part.NUMBER | Part.DECIMAL:
            return null_part(part)


def escaped(lexical: Sql) -> Sql:
    """Return a lexical form with the four characters escaped that canonical text escapes.

    Backslashes are never written into SQL, because a session setting decides what they mean there.
    """
    written = lexical
    for code, letter in ((92, 92), (34, 34), (10, ord("n")), (13, ord("r"))):
        escape = sql.concat(sql.character(92), sql.character(letter))
        written = sql.call("replace", written, sql.character(code), escape)
    return written


def _kind_where(condition: Sql, kind: Kind) -> Sql:
    return sql.cast(sql.when((condition, sql.num(kind))), "TINYINT")


def _part_of_whole(value: Sql, part: Part) -> Sql:
    match part:
        case Part.ID:
            return nodes.TermId(this=_part_of_whole(value, Part.TEXT))
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
            rounded = nodes.DecimalDouble(this=sql.col(f"{stem}_dec", table))
            return sql.when((sql.not_null(kind), sql.coalesce(sql.col(f"{stem}_num", table), rounded)))
        case Part.DECIMAL:
            exact_kind = sql.one_of(kind, (Kind.INTEGER, Kind.DECIMAL))
            return sql.when((exact_kind, sql.col(f"{stem}_dec", table)))
        case Part.ID:
            return nodes.TermId(this=_part_of_number(stem, Part.TEXT, table, exact=exact))
        case Part.TEXT:
            double = None if exact else sql.col(f"{stem}_num", table)
            return number_text(kind, double, sql.col(f"{stem}_dec", table))


def number_text(kind: Sql, double: Sql | None, decimal: Sql) -> Sql:
    """Return the canonical text of a computed number; `double` is None where it can't be one."""
    plain = nodes.DecimalText(this=decimal)
    texts = [
        (_is(kind, Kind.INTEGER), _literal(plain, "integer")),
        (_is(kind, Kind.DECIMAL), _literal(plain.copy(), "decimal")),
    ]
    if double is not None:
        inexact = nodes.DoubleText(this=double)
        texts.append((_is(kind, Kind.FLOAT), _literal(nodes.SingleText(this=double.copy()), "float")))
        texts.append((_is(kind, Kind.DOUBLE), _literal(inexact, "double")))
    return sql.when(*texts)


def _is(kind: Sql, wanted: Kind) -> Sql:
    return sql.equal(kind.copy(), sql.num(wanted))


def _literal(lexical: Sql, datatype: str) -> Sql:
    return sql.concat(sql.text('"'), lexical, sql.text(f'"^^<{XSD}{datatype}>'))


def prune_parts(relation: Relation, demand: Demand) -> Relation:
    """Return the relation without the parts that no later operator reads."""
    layouts: dict[Variable, TermLayout] = {}
    for variable, layout in relation.layouts.items():
        parts = demand.get(variable, frozenset())
        if isinstance(layout, EncodedLayout):
            layouts[variable] = EncodedLayout(layout.parts & parts)
        else:
            layouts[variable] = layout if parts else EncodedLayout(parts)
    return replace(relation, layouts=layouts)


def project(relation: Relation, kept: tuple[Variable, ...]) -> Relation:
    """Return the relation with these variables in scope and no others."""
    layouts = {variable: relation.layouts[variable] for variable in kept if variable in relation.layouts}
    return replace(relation, layouts=layouts, certain=relation.certain & frozenset(kept))


def select_columns(relation: Relation) -> list[Sql]:
    """Return all columns of a relation for a SELECT, which must have at least one."""
    return [sql.col(name) for name in relation.all_columns()] or [sql.alias(sql.num(1), "one")]
