"""Narrow rows (code, s, o) as triples of the encoded schema: texts are made last, after all spreading and sorting.

The rows of the model differ in numbers only (which hash, which bounds, which prefix), so one expression with tables of
these numbers serves all of them; a choice among sixty expressions would be a method too long for Java to compile.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import XSD_DATE, XSD_INTEGER
from hydrograph.rdf.xsd import Kind
from hydrograph_gauge.worlds.draws import Bits, Normal, Uniform, numbers, strings
from hydrograph_gauge.worlds.shop.model import Attribute, Distribution, LiteralKind
from hydrograph_gauge.worlds.shop.population import Population, Row, sequence
from hydrograph_gauge.worlds.terms import day_text, with_terms
from hydrograph_gauge.worlds.words import names, words

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MORE_WORDS = 24


class Class(IntEnum):
    """How the text of an object is made."""

    LINK = 0
    INTEGER = 1
    DATE = 2
    STRING = 3
    NAME = 4


_CLASSES = {
    LiteralKind.INTEGER: Class.INTEGER,
    LiteralKind.DATE: Class.DATE,
    LiteralKind.STRING: Class.STRING,
    LiteralKind.NAME: Class.NAME,
}


def encoded(population: Population, rows: DataFrame, *kept: str) -> DataFrame:
    """Return the triples of rows `code`, `s` and `o`, with the columns `kept`, in the encoded schema."""
    from pyspark.sql import functions as F  # noqa: N812

    # Other names than those of the result: Spark might read a column that it is about to make.
    rows = rows.select(*kept, "code", F.col("s").alias("subject"), F.col("o").alias("object"))
    code, subject, object_ = F.col("code"), F.col("subject"), F.col("object")
    all_ = population.rows
    attributes = [row.attribute or Attribute("", LiteralKind.INTEGER) for row in all_]
    class_ = F.get(numbers([class_of(row) for row in all_], "int"), code)
    value = _value(population, attributes, code, subject)
    quote = F.lit('"')
    after = F.get(strings([suffix_of(population, row) for row in all_]), code)
    link = F.concat(F.get(strings([_object_prefix(row) for row in all_]), code), object_.cast("string"), after)
    text = (
        F.when(class_ == Class.LINK, link)
        .when(class_ == Class.INTEGER, F.concat(quote, value.cast("string"), after))
        .when(class_ == Class.DATE, F.concat(quote, day_text(value), after))
        .when(class_ == Class.STRING, F.concat(quote, _text(population, code, subject), quote))
        .otherwise(F.concat(quote, _name(population, code, subject), quote))
    )
    is_number = (class_ == Class.INTEGER) if not population.faithful else F.lit(False)  # noqa: FBT003
    o = {
        "text": text,
        "kind": F.get(numbers([kind_of(population, row) for row in all_], "tinyint"), code),
        "num": F.when(is_number, value.cast("double")),
        "dec": F.when(is_number, value.cast("decimal(38,18)")),
    }
    s = F.concat(F.get(strings([f"<{row.subject}" for row in all_]), code), subject.cast("string"), F.lit(">"))
    p = F.get(strings([predicate_text(row) for row in all_]), code)
    return with_terms(rows, s, p, o, *kept)


def _value(population: Population, attributes: list[Attribute], code: Column, subject: Column) -> Column:
    """Return the number of an integer, or the day of a date."""
    from pyspark.sql import functions as F  # noqa: N812

    uniform = _uniform(population, "value", code)
    low = F.get(numbers([one.low for one in attributes], "bigint"), code)
    width = F.get(numbers([float(one.high - one.low) for one in attributes]), code)
    even = uniform.column(subject)
    rounded = F.floor(even * width + F.lit(0.5))
    drawn = rounded if population.faithful else F.floor(even * (width + F.lit(1.0)))
    normal = [one.distribution is Distribution.NORMAL for one in attributes]
    if any(normal):
        bent = F.floor(Normal(uniform).column(subject) * width + F.lit(0.5))
        drawn = F.when(F.get(numbers([int(one) for one in normal], "int"), code) == 1, bent).otherwise(drawn)
    return low + drawn


def _text(population: Population, code: Column, subject: Column) -> Column:
    """Return one to twenty-five words."""
    from pyspark.sql import functions as F  # noqa: N812

    known = strings(words())
    more = F.floor(_uniform(population, "length", code).column(subject) * F.lit(float(MORE_WORDS + 1)))
    word = _uniform(population, "word", code)

    def at(j: Column) -> Column:
        return F.get(known, F.floor(word.column(subject, j) * F.lit(float(len(words())))).cast("int"))

    return F.array_join(F.transform(sequence(more + 1), at), " ")


def _name(population: Population, code: Column, subject: Column) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    place = F.floor(_uniform(population, "name", code).column(subject) * F.lit(float(len(names()))))
    return F.get(strings(names()), place.cast("int"))


def _uniform(population: Population, purpose: str, code: Column) -> Uniform:
    """Return a draw for a purpose of each row's own."""
    from pyspark.sql import functions as F  # noqa: N812

    bases = [base_of(population, purpose, row) for row in population.rows]
    return Uniform(Bits(F.get(numbers(bases, "bigint"), code)))


def base_of(population: Population, purpose: str, row: Row) -> int:
    """Return the base of the draws of a row for a purpose."""
    base = population.draws.bits(f"{row.code} {purpose}").base
    assert isinstance(base, int)
    return base


def predicate_text(row: Row) -> str:
    """Return the predicate as canonical text."""
    return term_text(Iri(row.predicate))


def class_of(row: Row) -> int:
    """Return how the text of a row's object is made."""
    return int(Class.LINK if row.attribute is None else _CLASSES[row.attribute.kind])


def kind_of(population: Population, row: Row) -> int:
    """Return the kind of a row's object."""
    if row.attribute is None:
        return int(Kind.IRI)
    typed = {LiteralKind.INTEGER: Kind.INTEGER, LiteralKind.DATE: Kind.DATE}
    return int(Kind.STRING if population.faithful else typed.get(row.attribute.kind, Kind.STRING))


def _object_prefix(row: Row) -> str:
    return f"<{row.association.object}" if row.association is not None else ""


def suffix_of(population: Population, row: Row) -> str:
    """Return what follows the number: an IRI ends, a literal too; the original gives no datatypes."""
    if row.attribute is None:
        return ">"
    datatypes = {LiteralKind.INTEGER: XSD_INTEGER, LiteralKind.DATE: XSD_DATE}
    datatype = None if population.faithful else datatypes.get(row.attribute.kind)
    return '"' if datatype is None else f'"^^<{datatype}>'
