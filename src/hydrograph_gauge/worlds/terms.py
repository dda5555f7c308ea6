"""RDF terms as Spark columns: canonical text, kind and numeric value, as the encoded schema has them.

A generator knows the datatype of each term, so the kind is set directly and never derived from the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hydrograph.rdf.encoding import EVENT_COLUMNS, TRIPLE_COLUMNS, encode_text
from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri, Literal
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_DATE, XSD_DATE_TIME, XSD_DOUBLE, XSD_FLOAT, XSD_INTEGER
from hydrograph.rdf.xsd import Kind
from hydrograph_gauge.worlds.spark import constant_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_DECIMAL = "decimal(38,18)"


@dataclass(frozen=True, slots=True)
class TermColumn:
    """A term in each row: text, kind, and the value of a number."""

    text: Column
    kind: Kind
    num: Column | None = None
    dec: Column | None = None


def iri(prefix: str, number: Column | None = None, suffix: str = "") -> TermColumn:
    """Return the IRI that starts with `prefix` and ends with a number, or the constant one."""
    from pyspark.sql import functions as F  # noqa: N812

    if number is None:
        return TermColumn(F.lit(term_text(Iri(prefix + suffix))), Kind.IRI)
    return TermColumn(F.concat(F.lit(f"<{prefix}"), number.cast("string"), F.lit(f"{suffix}>")), Kind.IRI)


def constant(term: Iri | Literal) -> TermColumn:
    """Return the same term in each row."""
    from pyspark.sql import functions as F  # noqa: N812

    known = encode_text(term_text(term))
    num = None if known.num is None else F.lit(known.num)
    dec = None if known.dec is None else F.lit(str(known.dec)).cast(_DECIMAL)
    return TermColumn(F.lit(known.text), known.kind, num, dec)


def simple_literal(text: Column) -> TermColumn:
    """Return a simple literal; `text` must have nothing to escape: no quotation mark, backslash, line end."""
    from pyspark.sql import functions as F  # noqa: N812

    return TermColumn(F.concat(F.lit('"'), text, F.lit('"')), Kind.STRING)


def integer(number: Column) -> TermColumn:
    """Return an xsd:integer."""
    return TermColumn(_typed(number.cast("string"), XSD_INTEGER), Kind.INTEGER, number.cast("double"), _exact(number))


def floating(number: Column, *, double: bool = False) -> TermColumn:
    """Return an xsd:float (or an xsd:double) with one decimal for a number that has at most one."""
    from pyspark.sql import functions as F  # noqa: N812

    tenths = F.round(number * 10).cast("bigint")
    sign = F.when(tenths < 0, F.lit("-")).otherwise(F.lit(""))
    size = F.abs(tenths)
    whole, rest = F.floor(size / 10).cast("string"), (size % 10).cast("string")
    text = F.concat(sign, whole, F.lit("."), rest)
    value = tenths.cast("double") / 10.0
    if double:
        return TermColumn(_typed(text, XSD_DOUBLE), Kind.DOUBLE, value)
    return TermColumn(_typed(text, XSD_FLOAT), Kind.FLOAT, value.cast("float").cast("double"))


def boolean(value: Column) -> TermColumn:
    """Return an xsd:boolean."""
    return TermColumn(_typed(value.cast("string"), XSD_BOOLEAN), Kind.BOOLEAN)


def date(days: Column) -> TermColumn:
    """Return the xsd:date `days` after 1970-01-01."""
    return TermColumn(_typed(day_text(days), XSD_DATE), Kind.DATE)


def date_time(milliseconds: Column) -> TermColumn:
    """Return the xsd:dateTime in UTC of an instant, whole seconds without a fraction."""
    return TermColumn(_typed(instant_text(milliseconds), XSD_DATE_TIME), Kind.DATETIME)


def day_text(days: Column) -> Column:
    """Return `yyyy-mm-dd` of the day `days` after 1970-01-01, independent of the session's time zone."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.date_from_unix_date(days.cast("int")).cast("string")


def instant_text(milliseconds: Column) -> Column:
    """Return `yyyy-mm-ddThh:mm:ssZ` of an instant, with three decimals if it has a fraction of a second."""
    from pyspark.sql import functions as F  # noqa: N812

    def two(number: Column) -> Column:
        return F.lpad(number.cast("string"), 2, "0")

    day = F.floor(milliseconds / 86_400_000)
    rest = milliseconds - day * 86_400_000
    hours, minutes = F.floor(rest / 3_600_000), F.floor(rest / 60_000) % 60
    seconds, fraction = F.floor(rest / 1000) % 60, rest % 1000
    decimals = F.when(fraction == 0, F.lit("Z")).otherwise(
        F.concat(F.lit("."), F.lpad(fraction.cast("string"), 3, "0"), F.lit("Z"))
    )
    colon = F.lit(":")
    return F.concat(day_text(day), F.lit("T"), two(hours), colon, two(minutes), colon, two(seconds), decimals)


def select_term(position: Column, terms: Sequence[TermColumn]) -> dict[str, Column]:
    """Return the columns `text`, `kind`, `num` and `dec` of the term at index `position` in each row."""
    from pyspark.sql import functions as F  # noqa: N812

    def choose(values: Sequence[Column | None], type_: str) -> Column:
        given = [(F.lit(at), value) for at, value in enumerate(values) if value is not None]
        if not given:
            return F.lit(None).cast(type_)
        first, *others = given
        result = F.when(position == first[0], first[1])
        for at, value in others:
            result = result.when(position == at, value)
        return result.cast(type_)

    return {
        "text": choose([term.text for term in terms], "string"),
        "kind": F.get(constant_numbers([int(term.kind) for term in terms], "tinyint"), position),
        "num": choose([term.num for term in terms], "double"),
        "dec": choose([term.dec for term in terms], _DECIMAL),
    }


def encode_triples(
    rows: DataFrame, s: Column, p: Column, o: TermColumn | dict[str, Column], *kept: str | Column
) -> DataFrame:
    """Return the columns `kept` and the encoded columns of the triples with the given texts."""
    from pyspark.sql import functions as F  # noqa: N812

    if isinstance(o, TermColumn):
        nothing = F.lit(None)
        o = {
            "text": o.text,
            "kind": F.lit(int(o.kind)),
            "num": nothing if o.num is None else o.num,
            "dec": nothing if o.dec is None else o.dec,
        }
    named = rows.select(
        *kept,
        s.alias("s"),
        p.alias("p"),
        o["text"].alias("o"),
        o["kind"].cast("tinyint").alias("o_kind"),
        o["num"].cast("double").alias("o_num"),
        o["dec"].cast(_DECIMAL).alias("o_dec"),
    )
    ids = [F.xxhash64(name).alias(f"{name}_id") for name in ("s", "p", "o")]
    found = named.select("*", *ids)
    wanted = EVENT_COLUMNS if "t" in found.columns else TRIPLE_COLUMNS
    return found.select(*wanted)


def _typed(text: Column, datatype: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat(F.lit('"'), text, F.lit(f'"^^<{datatype}>'))


def _exact(number: Column) -> Column:
    return number.cast(_DECIMAL)
