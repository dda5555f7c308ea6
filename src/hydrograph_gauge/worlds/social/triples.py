"""Namespaces and IRIs of the network, and its triples as Spark columns.

Each row of an entity gets an array of its triples, in the order in which they are written as text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hydrograph.rdf.vocab import RDF_TYPE, XSD, XSD_DATE, XSD_DATE_TIME, XSD_DOUBLE
from hydrograph.rdf.xsd import Kind
from hydrograph_gauge.worlds.terms import day_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


MICRO = 1_000_000
"""Coordinates are whole numbers of millionths of a degree, so that text and number say the same."""


def triple(s: Column, p: str, o: Column, kind: Kind = Kind.IRI, num: Column | None = None) -> Column:
    """Return a triple: canonical texts, and what is known about the object."""
    from pyspark.sql import functions as F  # noqa: N812

    value = F.lit(None) if num is None else num
    return F.struct(
        s.alias("s"),
        F.lit(f"<{p}>").alias("p"),
        o.alias("o"),
        F.lit(int(kind)).cast("tinyint").alias("o_kind"),
        value.cast("double").alias("o_num"),
    )


def text_triple(s: Column, p: str, value: Column) -> Column:
    """Return a triple with a simple literal, in which nothing has to be escaped."""
    from pyspark.sql import functions as F  # noqa: N812

    return triple(s, p, F.concat(F.lit('"'), value, F.lit('"')), Kind.STRING)


def typed_triple(s: Column, p: str, value: Column, datatype: str, kind: Kind = Kind.OTHER) -> Column:
    """Return a triple with a typed literal."""
    from pyspark.sql import functions as F  # noqa: N812

    return triple(s, p, F.concat(F.lit('"'), value, F.lit(f'"^^<{datatype}>')), kind)


def date_triple(s: Column, p: str, days: Column) -> Column:
    """Return a triple with the xsd:date that lies `days` after 1970-01-01."""
    return typed_triple(s, p, day_text(days), XSD_DATE, Kind.DATE)


def instant_triple(s: Column, p: str, t: Column, *, faithful: bool) -> Column:
    """Return a triple with the xsd:dateTime of an instant in ms, in whole seconds.

    The original prints the hour of a 12-hour clock without saying which half of the day it is; so does a faithful copy.
    """
    from pyspark.sql import functions as F  # noqa: N812

    def two(number: Column) -> Column:
        return F.lpad(number.cast("string"), 2, "0")

    seconds = F.floor(t / 1000)
    days = F.floor(seconds / 86_400)
    rest = seconds - days * 86_400
    hour = F.floor(rest / 3600)
    shown = (hour + 11) % 12 + 1 if faithful else hour
    clock = F.concat_ws(":", two(shown), two(F.floor(rest / 60) % 60), two(rest % 60))
    return typed_triple(s, p, F.concat(day_text(days), F.lit("T"), clock, F.lit("Z")), XSD_DATE_TIME, Kind.DATETIME)


def degrees_triple(s: Column, p: str, millionths: Column) -> Column:
    """Return a triple with an xsd:double of six decimals."""
    from pyspark.sql import functions as F  # noqa: N812

    size = F.abs(millionths)
    sign = F.when(millionths < 0, F.lit("-")).otherwise(F.lit(""))
    fraction = F.lpad((size % MICRO).cast("string"), 6, "0")
    lexical = F.concat(sign, F.floor(size / MICRO).cast("string"), F.lit("."), fraction)
    # Both numbers are exact, so their quotient is the double nearest to the text.
    number = millionths.cast("double") / F.lit(float(MICRO))
    return triple(s, p, F.concat(F.lit('"'), lexical, F.lit(f'"^^<{XSD_DOUBLE}>')), Kind.DOUBLE, number)


def triple_if(present: Column, item: Column) -> Column:
    """Return the triple where it is present, else null."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.when(present, item)


def collect_triples(items: Sequence[Column]) -> Column:
    """Return the triples as an array, without those that are null."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.array_compact(F.array(*items))


def explode_triples(rows: DataFrame, triples: Column, *kept: Column | str) -> DataFrame:
    """Return a row for each triple of each row: columns `kept`, its position `k`, texts, and encoded columns."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        rows.select(*kept, F.posexplode(triples).alias("k", "triple"))
        .select("*", "triple.*")
        .drop("triple")
        .select(
            "*",
            F.xxhash64("s").alias("s_id"),
            F.xxhash64("p").alias("p_id"),
            F.xxhash64("o").alias("o_id"),
            F.lit(None).cast("decimal(38,18)").alias("o_dec"),
        )
    )


FOAF = "http://xmlns.com/foaf/0.1/"
DC = "http://purl.org/dc/elements/1.1/"
DCTERMS = "http://purl.org/dc/terms/"
SIOC = "http://rdfs.org/sioc/ns#"
SIOCT = "http://rdfs.org/sioc/type#"
DBP = "http://dbpedia.org/resource/"
DBPO = "http://dbpedia.org/ontology/"
DBPPROP = "http://dbpedia.org/property/"
SIB = "http://www.ins.cwi.nl/sib/vocabulary/"
_THINGS = "http://www.ins.cwi.nl/sib/"

PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "xsd": XSD,
    "foaf": FOAF,
    "dc": DC,
    "dcterms": DCTERMS,
    "sioc": SIOC,
    "sioct": SIOCT,
    "dbp": DBP,
    "dbpo": DBPO,
    "dbpprop": DBPPROP,
    "sib": SIB,
    "sibp": f"{_THINGS}person/",
    "sibu": f"{_THINGS}user/",
    "sibfr": f"{_THINGS}friendship/",
    "sibfo": f"{_THINGS}forum/",
    "sibg": f"{_THINGS}group/",
    "sibgm": f"{_THINGS}group/membership/",
    "sibpo": f"{_THINGS}post/",
    "sibc": f"{_THINGS}post/comment/",
    "sibpha": f"{_THINGS}photoalbum/",
    "sibpho": f"{_THINGS}photoalbum/photo/",
    "sibgps": f"{_THINGS}gps/",
}
"""The prefixes of the original's files, in their order."""

TYPE = RDF_TYPE
XSD_G_YEAR = XSD + "gYear"

NAMES = {
    "person": f"{_THINGS}person/p",
    "user": f"{_THINGS}user/u",
    "friendship": f"{_THINGS}friendship/fr",
    "forum": f"{_THINGS}forum/fo",
    "group": f"{_THINGS}group/g",
    "membership": f"{_THINGS}group/membership/gm",
    "post": f"{_THINGS}post/po",
    "comment": f"{_THINGS}post/comment/co",
    "album": f"{_THINGS}photoalbum/pa",
    "photo": f"{_THINGS}photoalbum/photo/pho",
    "gps": f"{_THINGS}gps/gps",
}
"""What the IRIs of each kind of thing start with; a number follows."""

STREAM_IRIS = {
    "gps": "http://deri.org/gpsstream",
    "posts": "http://deri.org/poststream",
    "post_likes": "http://deri.org/likedpoststream",
    "photos": "http://deri.org/photostream",
    "photo_likes": "http://deri.org/likedphotostream",
    "tags": "http://deri.org/tagstream",
    "photo_tags": "http://deri.org/phototagstream",
}


def iri_text(kind: str, number: Column) -> Column:
    """Return the canonical text of the IRI of a thing."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat(F.lit(f"<{NAMES[kind]}"), number.cast("string"), F.lit(">"))
