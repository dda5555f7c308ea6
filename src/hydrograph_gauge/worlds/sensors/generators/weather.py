"""Values that look like weather, so that queries about storms have answers: days, fronts that pass, and noise.

Stations are in groups as large as a place. Each place has calm and stormy hours; in a storm winds rise above 74 miles
an hour, it rains or snows, and one sees less. All functions are sums and products: they are the same everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.temporal import DAY, HOUR
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.sensors.generators.sg1 import bounds
from hydrograph_gauge.worlds.sensors.properties import Property
from hydrograph_gauge.worlds.sensors.settings import Sensors

if TYPE_CHECKING:
    from pyspark.sql import Column

STATIONS_PER_PLACE = 5
_STORMY = 0.15
_RISING = frozenset({"WindSpeed", "WindGust", "Rainfall", "Snowfall"})
_FALLING = frozenset({"Visibility", "Pressure"})
_DRY = frozenset({"Rainfall", "Snowfall"})


def value(settings: Sensors, draws: Draws, observed: Property) -> Column:
    """Return the value of a property, with one decimal, at a station and time."""
    from pyspark.sql import functions as F  # noqa: N812

    low, high = bounds(settings, observed)
    station, number, t = F.col("station"), F.col("number"), F.col("t")
    place = F.floor(station / STATIONS_PER_PLACE)
    stormy = draws.chance("storm", _STORMY).column(place, F.floor(t / HOUR))
    noise = draws.uniform(f"noise {observed.name}").column(station, number)
    hour = (t % DAY).cast("double") / float(DAY)
    noon = F.lit(4.0) * hour * (F.lit(1.0) - hour)  # 0 at midnight, 1 at noon
    if observed.name in _RISING:
        calm = F.lit(0.0) if observed.name in _DRY else noise * 0.3
        share = F.when(stormy, F.lit(0.85) + noise * 0.15).otherwise(calm)
    elif observed.name in _FALLING:
        share = F.when(stormy, noise * 0.0005).otherwise(F.lit(0.7) + noise * 0.3)
    elif observed.name in ("AirTemperature", "DewPoint"):
        share = F.lit(0.2) + noon * 0.5 + noise * 0.2 - F.when(stormy, F.lit(0.15)).otherwise(F.lit(0.0))
    else:
        share = noise
    return F.floor((F.lit(float(low)) + share * float(high - low)) * 10.0) / 10.0
