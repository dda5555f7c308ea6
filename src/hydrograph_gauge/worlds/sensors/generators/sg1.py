"""YABench's generator SG1: each station observes every i ms, from an offset of its own; values are whole and uniform.

The original emits the first of all observations at time 0 instead of at its station's offset, and one at the very end
of the duration. Here every station is exactly periodic and the duration is open at its end; `faithful` keeps both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.partitions import tasks
from hydrograph_gauge.worlds.sensors.properties import Property
from hydrograph_gauge.worlds.sensors.settings import Sensors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ROWS_PER_TASK = 1_000_000


def times(spark: SparkSession, settings: Sensors, draws: Draws) -> DataFrame:
    """Return when each station observes."""
    from pyspark.sql import functions as F  # noqa: N812

    rounds = _rounds(settings)
    n = F.lit(settings.stations).cast("bigint")
    rows = spark.range(0, settings.stations * rounds, 1, tasks(settings.stations * rounds, _ROWS_PER_TASK))
    # Round after round, so that a task has a stretch of time and not a few stations.
    numbered = rows.select((F.col("id") % n).alias("station"), F.floor(F.col("id") / n).alias("number"))
    offset = draws.below("offset", settings.interval).column(F.col("station"))
    if settings.profile == "random":
        timed = _random(numbered, settings, draws, offset)
    else:
        load = offset + F.col("number") * F.lit(settings.interval)
        timed = numbered.select("station", "number", _at(settings, load).alias("t"))
    if not settings.faithful:
        return timed.where(F.col("t") < settings.duration)
    first = min(range(settings.stations), key=lambda k: (draws.below("offset", settings.interval).value(k), k))
    opening = (F.col("station") == first) & (F.col("number") == 0)
    moved = timed.select("station", "number", F.when(opening, F.lit(0)).otherwise(F.col("t")).cast("bigint").alias("t"))
    return moved.where(F.col("t") <= settings.duration)


def value(settings: Sensors, draws: Draws, observed: Property) -> Column:
    """Return a whole number from the range of the property; that of the air temperature is a setting."""
    from pyspark.sql import functions as F  # noqa: N812

    low, high = bounds(settings, observed)
    drawn = draws.below(f"value {observed.name}", high - low).column(F.col("station"), F.col("number"))
    return (F.lit(low) + drawn).cast("double")


def bounds(settings: Sensors, observed: Property) -> tuple[int, int]:
    """Return the least value of a property and the one all values stay below."""
    return (settings.min, settings.max) if observed.name == "AirTemperature" else (observed.low, observed.high)


def _rounds(settings: Sensors) -> int:
    """Return how many observations of a station there can be."""
    periods = settings.duration / settings.interval
    match settings.profile:
        case "constant":
            most = periods
        case "ramp":
            most = periods * (1 + settings.peak) / 2
        case "burst":
            bursts = math.ceil(settings.duration / settings.burst_every)
            most = periods + bursts * settings.burst_length / settings.interval * (settings.peak - 1)
        case "random":
            most = periods + 8 * math.sqrt(periods) + 20
    return math.ceil(most) + 1


def _at(settings: Sensors, load: Column) -> Column:
    """Return the time at which the load, the integral of the rate, reaches what it is at a constant rate then."""
    from pyspark.sql import functions as F  # noqa: N812

    peak = settings.peak
    if settings.profile == "constant" or peak == 1:
        return load.cast("bigint")
    if settings.profile == "ramp":
        # The rate grows from 1 to the peak: t + (peak - 1) t² / 2d = load.
        length = float(settings.duration)
        root = F.sqrt(F.lit(1.0) + load.cast("double") * F.lit(2 * (peak - 1) / length))
        return F.floor((root - F.lit(1.0)) * F.lit(length / (peak - 1)))
    # Bursts are at the end of each period.
    quiet = settings.burst_every - settings.burst_length
    whole = quiet + settings.burst_length * peak
    turn = F.floor(load / F.lit(whole))
    rest = load - turn * F.lit(whole)
    inside = F.when(rest < quiet, rest).otherwise(F.lit(float(quiet)) + (rest - F.lit(float(quiet))) / F.lit(peak))
    return (turn * F.lit(settings.burst_every) + F.floor(inside)).cast("bigint")


def _random(numbered: DataFrame, settings: Sensors, draws: Draws, offset: Column) -> DataFrame:
    """Return times with exponential gaps of the interval in the mean, at least 1 ms."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    u = draws.uniform("gap").column(F.col("station"), F.col("number"))
    gap = F.greatest(F.floor(-F.log(F.lit(1.0) - u) * F.lit(float(settings.interval))), F.lit(1))
    before = Window.partitionBy("station").orderBy("number").rowsBetween(Window.unboundedPreceding, -1)
    elapsed = F.coalesce(F.sum(gap).over(before), F.lit(0))
    return numbered.select("station", "number", (offset + elapsed).cast("bigint").alias("t"))
