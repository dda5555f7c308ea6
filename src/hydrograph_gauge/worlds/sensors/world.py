"""The world `sensors`: YABench's weather stations with the static data of SRBench."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.plan import StreamPlan, World, WorldPlan
from hydrograph_gauge.worlds.sensors import observations, static
from hydrograph_gauge.worlds.sensors.settings import Sensors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://www.cwi.nl/SRBench/observations"


def generate(spark: SparkSession, settings: Sensors) -> WorldPlan:
    """Return the plans of the observations and of the static graph."""
    stream = StreamPlan(
        name="sensors",
        iri=STREAM,
        elements=observations.elements(spark, settings),
        expand=partial(observations.expand, settings),
        span=(settings.start, settings.start + settings.duration),
        arrival=settings.unsteady,
        order=observations.order(settings),
    )
    return WorldPlan(streams=(stream,), static=static.triples(spark, settings) if settings.static else None)


WORLD = World(
    "sensors",
    "Weather stations: the streams of YABench, and the static data of SRBench.",
    Sensors,
    generate,
    texts=("tnt", "yabench"),
    graph="http://www.cwi.nl/SRBench/sensors",
)
