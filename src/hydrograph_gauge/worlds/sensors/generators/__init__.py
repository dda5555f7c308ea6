"""How the stations' times and values are made: a generator is a module here and a line of `GENERATORS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hydrograph.errors import UsageError
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.sensors.generators import sg1, weather
from hydrograph_gauge.worlds.sensors.properties import Property
from hydrograph_gauge.worlds.sensors.settings import Sensors

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Generator:
    """The two things a generator decides; both see the station's number and the number of its observation."""

    times: Callable[[SparkSession, Sensors, Draws], DataFrame]
    """Rows `station`, `number`, `t` (from 0), no two of a station at the same time."""
    value: Callable[[Sensors, Draws, Property], Column]
    """The value of a property in such a row, with at most one decimal."""


GENERATORS = {
    "SG1": Generator(sg1.times, sg1.value),
    "weather": Generator(sg1.times, weather.value),
}


def find_generator(name: str) -> Generator:
    """Return the generator `name`, or raise UsageError."""
    if name not in GENERATORS:
        raise UsageError(f"expected a generator ({', '.join(GENERATORS)}), got {name!r}")
    return GENERATORS[name]
