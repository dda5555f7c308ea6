"""Static data for the queries of SRBench: stations and their locations, places, airports, storms, heritage sites.

Groups of stations are near places; places are in states, and states in the country. Some places are shores of Florida,
and each has an airport. Storms have wind speeds and damages. Some places are heritage sites with a second name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import RDF_TYPE
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.sensors.generators import STATIONS_PER_PLACE
from hydrograph_gauge.worlds.sensors.settings import OM_OWL, PROPERTIES, SSW, WEATHER, SensorSettings
from hydrograph_gauge.worlds.terms import (
    TermColumn,
    constant,
    encode_triples,
    floating,
    integer,
    iri,
    select_term,
    simple_literal,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

WGS84 = "http://www.w3.org/2003/01/geo/wgs84_pos#"
GN = "http://www.geonames.org/ontology#"
GEONAMES = "http://sws.geonames.org/"
DBPEDIA = "http://dbpedia.org/resource/"
DBPEDIA_OWL = "http://dbpedia.org/ontology/"
DBPPROP = "http://dbpedia.org/property/"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"

COUNTRY, STATES, FLORIDA = 1, 50, 9
"""Numbers of features: the country, its states from 10 on, Florida among them."""
_FIRST_STATE, _FIRST_PLACE, _FIRST_AIRPORT = 10, 100, 50_000_000
STORMS = 8
_SITE_EVERY = 10


def make_static_triples(spark: SparkSession, settings: SensorSettings) -> DataFrame:
    """Return the static graph in the encoded schema."""
    parts = [
        *_stations(spark, settings),
        *_places(spark, settings),
        *_storms(spark, settings),
        *_classes(spark),
    ]
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    return result


def count_places(settings: SensorSettings) -> int:
    """Return how many places there are."""
    return -(-settings.stations // STATIONS_PER_PLACE)


def _stations(spark: SparkSession, settings: SensorSettings) -> list[DataFrame]:
    from pyspark.sql import functions as F  # noqa: N812

    draws = Draws(settings.seed)
    k = F.col("id")
    rows = spark.range(0, settings.stations, 1, 1)
    number = k.cast("string")
    place = F.floor(k / STATIONS_PER_PLACE) + _FIRST_PLACE
    system, point, near = iri(f"{SSW}System_A", k), iri(f"{SSW}point_A", k), iri(f"{SSW}LocatedNearRelA", k)
    source = TermColumn(
        F.concat(F.lit("<http://mesowest.utah.edu/cgi-bin/station?stn=A"), number, F.lit(">")), point.kind
    )
    systems = [
        (RDF_TYPE, constant(Iri(OM_OWL + "System"))),
        (OM_OWL + "ID", simple_literal(F.concat(F.lit("A"), number))),
        (OM_OWL + "processLocation", point),
        (OM_OWL + "hasLocatedNearRel", near),
        (OM_OWL + "hasSourceURI", source),
        *((OM_OWL + "parameter", constant(Iri(f"{WEATHER}_{name}"))) for name in settings.properties),
    ]
    points = [
        (RDF_TYPE, constant(Iri(WGS84 + "Point"))),
        (WGS84 + "alt", floating(draws.below("alt", 3000).column(k))),
        (WGS84 + "lat", floating(draws.below("lat", 240).column(k) / 10.0 + 25.0)),
        (WGS84 + "long", floating(draws.below("long", 570).column(k) / -10.0 - 67.0)),
    ]
    relations = [
        (RDF_TYPE, constant(Iri(OM_OWL + "LocatedNearRel"))),
        (OM_OWL + "distance", floating(draws.below("distance", 200).column(k) / 10.0)),
        (OM_OWL + "uom", constant(Iri(WEATHER + "miles"))),
        (OM_OWL + "hasLocation", iri(GEONAMES, place, "/")),
    ]
    return [_star(rows, system, systems), _star(rows, point, points), _star(rows, near, relations)]


def _places(spark: SparkSession, settings: SensorSettings) -> list[DataFrame]:
    from pyspark.sql import functions as F  # noqa: N812

    draws = Draws(settings.seed)
    k = F.col("id")
    feature = constant(Iri(GN + "Feature"))
    number = F.lit(_FIRST_PLACE) + k
    towns = spark.range(0, count_places(settings), 1, 1)
    # Every tenth place is a shore of Florida, so that there is one in every world.
    shore = k % 10 == 0
    state = F.when(shore, F.lit(FLORIDA)).otherwise(draws.below("state", STATES).column(k)) + _FIRST_STATE
    town, airport = iri(GEONAMES, number, "/"), iri(GEONAMES, number + _FIRST_AIRPORT, "/")
    code = F.when(shore, F.lit(f"<{GN}H.SHOR>")).otherwise(F.lit(f"<{GN}P.PPL>"))
    named = F.concat(F.lit("Place "), k.cast("string"))
    town_triples = [
        (RDF_TYPE, feature),
        (GN + "name", simple_literal(named)),
        (GN + "population", integer(draws.below("population", 60).column(k) * 1000 + 500)),
        (GN + "featureCode", TermColumn(code, town.kind)),
        (GN + "parentFeature", iri(GEONAMES, state, "/")),
        (OWL + "sameAs", iri(DBPEDIA + "Place_", k)),
    ]
    airport_triples = [
        (RDF_TYPE, feature),
        (GN + "name", simple_literal(F.concat(named, F.lit(" Airport")))),
        (GN + "featureCode", constant(Iri(GN + "S.AIRP"))),
        (GN + "parentFeature", town),
    ]
    states = spark.range(0, STATES, 1, 1)
    name = F.when(k == FLORIDA, F.lit("Florida")).otherwise(F.concat(F.lit("State "), k.cast("string")))
    state_triples = [
        (RDF_TYPE, feature),
        (GN + "name", simple_literal(name)),
        (GN + "featureCode", constant(Iri(GN + "A.ADM1"))),
        (GN + "parentFeature", constant(Iri(f"{GEONAMES}{COUNTRY}/"))),
    ]
    sites = towns.where(k % _SITE_EVERY == 0)
    site_triples = [
        (RDF_TYPE, constant(Iri(DBPEDIA_OWL + "WorldHeritageSite"))),
        (RDFS + "label", simple_literal(named)),
    ]
    return [
        _star(towns, town, town_triples),
        _star(towns, airport, airport_triples),
        _star(states, iri(GEONAMES, k + _FIRST_STATE, "/"), state_triples),
        _star(sites, iri(DBPEDIA + "Place_", k), site_triples),
    ]


def _storms(spark: SparkSession, settings: SensorSettings) -> list[DataFrame]:
    from pyspark.sql import functions as F  # noqa: N812

    draws = Draws(settings.seed)
    k = F.col("id")
    rows = spark.range(0, STORMS, 1, 1)
    town = draws.below("struck", count_places(settings)).column(k) + _FIRST_PLACE
    storm = [
        (RDF_TYPE, constant(Iri(DBPEDIA_OWL + "Hurricane"))),
        (RDFS + "label", simple_literal(F.concat(F.lit("Hurricane "), k.cast("string")))),
        (DBPPROP + "1MinWinds", integer(draws.below("winds", 60).column(k) + 74)),
        (DBPPROP + "damages", integer(draws.below("damages", 1000).column(k) * 1_000_000)),
        (DBPPROP + "areas", iri(GEONAMES, town, "/")),
    ]
    return [_star(rows, iri(DBPEDIA + "Hurricane_", k), storm)]


def _classes(spark: SparkSession) -> list[DataFrame]:
    """Return the class hierarchy: rain and snow are precipitation, all are observations."""
    above = {one.observation: OM_OWL + "Observation" for one in PROPERTIES.values()}
    above |= dict.fromkeys(("RainfallObservation", "SnowfallObservation"), WEATHER + "PrecipitationObservation")
    above["PrecipitationObservation"] = OM_OWL + "Observation"
    one = spark.range(0, 1, 1, 1)
    sub = RDFS + "subClassOf"
    return [_star(one, constant(Iri(WEATHER + name)), [(sub, constant(Iri(over)))]) for name, over in above.items()]


def _star(rows: DataFrame, subject: TermColumn, pairs: Sequence[tuple[str, TermColumn]]) -> DataFrame:
    """Return a triple of the subject for each predicate and object."""
    from pyspark.sql import functions as F  # noqa: N812

    at = F.col("at")
    each = rows.select("id", F.explode(F.sequence(F.lit(0), F.lit(len(pairs) - 1))).alias("at"))
    p = select_term(at, [constant(Iri(predicate)) for predicate, _ in pairs])["text"]
    return encode_triples(each, subject.text, p, select_term(at, [object_ for _, object_ in pairs]))
