"""Generators of the stations' observation times and values.

`SG1` is YABench's: each station observes every i ms, from an offset of its own, and values are uniform integers. The
original emits the very first observation at time 0 instead of at its station's offset, and one more at the end of the
duration. Here every station is exactly periodic and the duration excludes its end; `faithful` keeps both quirks.

The original draws one after the other with Java's generator: the offsets of all stations, then the value of each
observation in the order of time. `random=java` does the same, so that a published seed gives the published stream; with
`faithful` it is the original's, byte for byte. These draws are made by the driver, since each depends on all before.

`weather` has the same times, and values that look like weather, so that queries about storms have answers: a daily
cycle, passing fronts, and noise. Stations are grouped by place. Each place has calm and stormy hours; in a storm winds
rise above 74 miles an hour, it rains or snows, and visibility drops. All formulas are sums and products, which give the
same bits on every machine.

A new generator is a pair of functions here and a line of `GENERATORS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hydrograph.errors import UsageError
from hydrograph.temporal import DAY, HOUR
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.hashing import NumberArray
from hydrograph_gauge.worlds.java_random import JavaRandom
from hydrograph_gauge.worlds.sensors.settings import ObservedProperty, SensorSettings
from hydrograph_gauge.worlds.spark import task_count

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_ROWS_PER_TASK = 1_000_000
STATIONS_PER_PLACE = 5
_STORMY = 0.15
_RISING = frozenset({"WindSpeed", "WindGust", "Rainfall", "Snowfall"})
_FALLING = frozenset({"Visibility", "Pressure"})
_DRY = frozenset({"Rainfall", "Snowfall"})
_DRAWN = "drawn"


def observation_times(spark: SparkSession, settings: SensorSettings, draws: Draws) -> DataFrame:
    """Return when each station observes."""
    from pyspark.sql import functions as F  # noqa: N812

    rounds = _rounds(settings)
    n = F.lit(settings.stations).cast("bigint")
    rows = spark.range(0, settings.stations * rounds, 1, task_count(settings.stations * rounds, _ROWS_PER_TASK))
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


def uniform_value(settings: SensorSettings, draws: Draws, observed: ObservedProperty) -> Column:
    """Return a whole number from the range of the property; that of the air temperature is a setting."""
    from pyspark.sql import functions as F  # noqa: N812

    low, high = value_bounds(settings, observed)
    drawn = draws.below(f"value {observed.name}", high - low).column(F.col("station"), F.col("number"))
    return (F.lit(low) + drawn).cast("double")


def value_bounds(settings: SensorSettings, observed: ObservedProperty) -> tuple[int, int]:
    """Return the least value of a property and the one all values stay below."""
    return (settings.min, settings.max) if observed.name == "AirTemperature" else (observed.low, observed.high)


def _rounds(settings: SensorSettings) -> int:
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


def _at(settings: SensorSettings, load: Column) -> Column:
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


def _random(numbered: DataFrame, settings: SensorSettings, draws: Draws, offset: Column) -> DataFrame:
    """Return times with exponential gaps of the interval in the mean, at least 1 ms."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    u = draws.uniform("gap").column(F.col("station"), F.col("number"))
    gap = F.greatest(F.floor(-F.log(F.lit(1.0) - u) * F.lit(float(settings.interval))), F.lit(1))
    before = Window.partitionBy("station").orderBy("number").rowsBetween(Window.unboundedPreceding, -1)
    elapsed = F.coalesce(F.sum(gap).over(before), F.lit(0))
    return numbered.select("station", "number", (offset + elapsed).cast("bigint").alias("t"))


def weather_value(settings: SensorSettings, draws: Draws, observed: ObservedProperty) -> Column:
    """Return the value of a property, with one decimal, at a station and time."""
    from pyspark.sql import functions as F  # noqa: N812

    low, high = value_bounds(settings, observed)
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


@dataclass(frozen=True, slots=True)
class JavaObservations:
    """Observations of YABench's generator in its order, an array for each of their parts."""

    station: NumberArray
    number: NumberArray
    t: NumberArray
    value: NumberArray


def draw_java_observations(settings: SensorSettings) -> JavaObservations:
    """Return the observations that YABench's SG1 writes with this seed; without `faithful`, without its quirks.

    >>> drawn = draw_java_observations(SensorSettings(seed=1430236808, stations=1, interval=1000, duration=3000))
    >>> drawn.t.tolist()
    [31, 1031, 2031]
    """
    random = JavaRandom(settings.seed)
    offsets = random.next_ints_below(settings.interval, settings.stations)
    order = np.argsort(offsets, kind="stable")
    # Stations take turns in the order of their offsets, which are less than the interval: so times never decrease.
    place = np.arange(settings.stations * _rounds(settings), dtype=np.int64)
    station, number = order[place % settings.stations], place // settings.stations
    t = offsets[station] + number * settings.interval
    if settings.faithful:
        t[0] = 0
    count = int(np.searchsorted(t, settings.duration, side="right" if settings.faithful else "left"))
    values = random.next_ints_below(settings.max - settings.min, count) + settings.min
    return JavaObservations(station[:count], number[:count], t[:count], values)


def _java_times(spark: SparkSession, settings: SensorSettings, _draws: Draws) -> DataFrame:
    """Return when each station observes, and what."""
    drawn = draw_java_observations(settings)
    columns = {
        "station": drawn.station,
        "number": drawn.number,
        "t": drawn.t,
        _DRAWN: drawn.value.astype(np.float32).astype(np.float64),
    }
    table = spark.createDataFrame(pa.table({name: pa.array(values) for name, values in columns.items()}))
    return table.repartition(task_count(len(drawn.t), _ROWS_PER_TASK))


def _java_value(_settings: SensorSettings, _draws: Draws, _observed: ObservedProperty) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(_DRAWN)


@dataclass(frozen=True, slots=True)
class ObservationGenerator:
    """The two things a generator decides; both see the station's number and the number of its observation."""

    times: Callable[[SparkSession, SensorSettings, Draws], DataFrame]
    """Rows `station`, `number`, `t` (from 0), no two of a station at the same time."""
    value: Callable[[SensorSettings, Draws, ObservedProperty], Column]
    """The value of a property in such a row, with at most one decimal."""


GENERATORS = {
    "SG1": ObservationGenerator(observation_times, uniform_value),
    "weather": ObservationGenerator(observation_times, weather_value),
}


_JAVA = ObservationGenerator(_java_times, _java_value)


def find_generator(name: str, random: str = "hash") -> ObservationGenerator:
    """Return the generator `name` with its source of randomness, or raise UsageError."""
    if name not in GENERATORS:
        raise UsageError(f"expected a generator ({', '.join(GENERATORS)}), got {name!r}")
    return _JAVA if random == "java" else GENERATORS[name]
