"""The namespaces of the network's data, and how its things are named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.rdf.vocab import RDF_TYPE, XSD

if TYPE_CHECKING:
    from pyspark.sql import Column

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


def name(kind: str, number: Column) -> Column:
    """Return the canonical text of the IRI of a thing."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.concat(F.lit(f"<{NAMES[kind]}"), number.cast("string"), F.lit(">"))
