"""The world `sensors`: YABench's weather stations with the static data of SRBench."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.vocab import RDF_TYPE
from hydrograph.rdf.xsd import Kind
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.sensors import static
from hydrograph_gauge.worlds.sensors.generators import find_generator
from hydrograph_gauge.worlds.sensors.settings import OM_OWL, PROPERTIES, SSW, WEATHER, ObservedProperty, SensorSettings
from hydrograph_gauge.worlds.terms import TermColumn, constant, date_time, encode_triples, floating, iri, select_term
from hydrograph_gauge.worlds.world import ElementLine, StreamPlan, World, WorldPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


STREAM = "http://www.cwi.nl/SRBench/observations"


def generate(spark: SparkSession, settings: SensorSettings) -> WorldPlan:
    """Return the plans of the observations and of the static graph."""
    stream = StreamPlan(
        name="sensors",
        iri=STREAM,
        elements=make_elements(spark, settings),
        expand=partial(expand_elements, settings),
        span=(settings.start, settings.start + settings.duration),
        arrival=settings.unsteady,
        order=order_lines(settings),
    )
    return WorldPlan(streams=(stream,), static=static.make_static_triples(spark, settings) if settings.static else None)


WORLD = World(
    "sensors",
    "Weather stations: the streams of YABench, and the static data of SRBench.",
    SensorSettings,
    generate,
    texts=("tnt", "yabench"),
    graph="http://www.cwi.nl/SRBench/sensors",
)


TIME = "http://www.w3.org/2006/time#"
_PLAIN = (
    RDF_TYPE,
    OM_OWL + "observedProperty",
    OM_OWL + "procedure",
    OM_OWL + "result",
    RDF_TYPE,
    OM_OWL + "floatValue",
    OM_OWL + "uom",
)
_FULL = (
    *_PLAIN,
    OM_OWL + "generatedObservation",
    OM_OWL + "samplingTime",
    TIME + "inXSDDateTime",
)


def list_predicates(settings: SensorSettings) -> tuple[str, ...]:
    """Return the predicates of an observation's triples, in order: YABench's seven, or ten."""
    return _PLAIN if settings.shape == "yabench" else _FULL


def make_elements(spark: SparkSession, settings: SensorSettings) -> DataFrame:
    """Return the observations: `t`, `seq`, `n`, `station`, `property`, `value`, and `again`: whether it comes twice.

    `seq` is the place in the order of arrival. An observation that arrives twice is two elements with the same triples.
    """
    from pyspark.sql import functions as F  # noqa: N812

    draws = Draws(settings.seed)
    generator = find_generator(settings.generator, settings.random)
    names = settings.properties
    width = len(list_predicates(settings))
    times = generator.times(spark, settings, draws)
    values = [generator.value(settings, draws, PROPERTIES[name]).cast("double") for name in names]
    each = times.select("station", "number", "t", F.posexplode(F.array(*values)).alias("property", "value"))
    key = [F.col(name) for name in ("station", "number", "property")]
    twice = draws.chance("twice", settings.duplicates).column(*key)
    copies = F.when(twice, F.array(F.lit(0), F.lit(1))).otherwise(F.array(F.lit(0)))
    copied = each.select("*", twice.alias("twice"), F.explode(copies).alias("copy"))
    arrival = F.col("t") + _delay(settings, draws, *key, F.col("copy"))
    first = F.when(_delay(settings, draws, *key, F.lit(1)) < _delay(settings, draws, *key, F.lit(0)), 1).otherwise(0)
    again = F.col("twice") & (F.col("copy") == first)
    # Places need not follow one another, but grow with the arrival; elements that arrive together keep a fixed order.
    together = settings.stations * len(names) * 2
    within = (F.col("station") * len(names) + F.col("property")) * 2 + F.col("copy")
    seq = (arrival * F.lit(together).cast("bigint") + within) * F.lit(width if settings.per == "triple" else 1)
    t = (F.col("t") + F.lit(settings.start)).cast("bigint")
    made = copied.select(
        t.alias("t"), seq.alias("seq"), F.lit(width).alias("n"), "station", "property", "value", again.alias("again")
    )
    if settings.per == "observation":
        return made
    return made.select("*", F.explode(F.sequence(F.lit(0), F.lit(width - 1))).alias("at")).withColumn("n", F.lit(1))


def _delay(settings: SensorSettings, draws: Draws, *key: Column) -> Column:
    """Return how long after its time an element arrives."""
    from pyspark.sql import functions as F  # noqa: N812

    nothing = F.lit(0).cast("bigint")
    late = draws.below("late by", settings.late_by).column(*key) + 1
    overtaken = draws.below("overtaken by", settings.disorder_by).column(*key) + 1
    return F.when(draws.chance("late", settings.late).column(*key), late).otherwise(nothing) + F.when(
        draws.chance("overtaken", settings.disorder).column(*key), overtaken
    ).otherwise(nothing)


def expand_elements(settings: SensorSettings, placed: DataFrame) -> DataFrame:
    """Return the triples of observations in the encoded schema."""
    from pyspark.sql import functions as F  # noqa: N812

    width = len(list_predicates(settings))
    seq = F.col("seq") + F.col("at") if settings.per == "triple" else F.col("seq")
    if settings.per == "observation":
        placed = placed.withColumn("at", F.explode(F.sequence(F.lit(0), F.lit(width - 1))))
    # The same triples again at the same time: only an element that arrives twice has a next one, its own time.
    at, station, time = F.col("at"), F.col("station"), F.col("t").cast("string")
    known = [PROPERTIES[name] for name in settings.properties]

    def named(kind: str) -> Column:
        return F.concat(
            F.lit(f"<{SSW}{kind}_"),
            _of(known, "name"),
            F.lit("_A"),
            station.cast("string"),
            F.lit("_"),
            time,
            F.lit(">"),
        )

    observation, data = named("Observation"), named("MeasureData")
    system = iri(f"{SSW}System_A", station)
    instant = F.concat(F.lit(f"<{SSW}Instant_A"), station.cast("string"), F.lit("_"), time, F.lit(">"))
    objects = [
        _iri_of(known, WEATHER, "observation"),
        _iri_of(known, WEATHER + "_", "name"),
        system,
        _term(data),
        constant(Iri(OM_OWL + "MeasureData")),
        floating(F.col("value")),
        _iri_of(known, WEATHER, "unit"),
        _term(observation),
        _term(instant),
        date_time(F.col("t")),
    ][:width]
    subjects = [observation] * 4 + [data] * 3 + [system.text, observation, instant]
    texts = [_term(subject) for subject in subjects[:width]]
    s = select_term(at, texts)["text"]
    p = select_term(at, [constant(Iri(name)) for name in list_predicates(settings)])["text"]
    timed = placed.select(
        "t", seq.alias("seq"), F.when(F.col("again"), F.col("t")).alias("t_next"), "station", "property", "value", "at"
    )
    return encode_triples(timed, s, p, select_term(at, objects), "t", "seq", "t_next")


def order_lines(settings: SensorSettings) -> tuple[ElementLine, ...]:
    """Return the lines of an observation in the order of their triples; its class and that of its data are types."""
    first, *others = (ElementLine(term_text(Iri(name))) for name in list_predicates(settings))
    return (replace(first, object=f"<{WEATHER}"), *others)


def _of(known: list[ObservedProperty], field: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.get(F.array(*(F.lit(getattr(one, field)) for one in known)), F.col("property"))


def _iri_of(known: list[ObservedProperty], prefix: str, field: str) -> TermColumn:
    from pyspark.sql import functions as F  # noqa: N812

    return _term(F.concat(F.lit(f"<{prefix}"), _of(known, field), F.lit(">")))


def _term(text: Column) -> TermColumn:
    return TermColumn(text, Kind.IRI)
