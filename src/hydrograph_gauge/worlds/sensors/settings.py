"""Settings of the world `sensors`, and the properties that stations observe: those of LinkedSensorData."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from hydrograph.temporal import MINUTE, SECOND
from hydrograph_gauge.worlds.settings import Length, Settings

SSW = "http://knoesis.wright.edu/ssw/"
WEATHER = SSW + "ont/weather.owl#"
OM_OWL = SSW + "ont/sensor-observation.owl#"


@dataclass(frozen=True, slots=True)
class ObservedProperty:
    """An observed property; `low` and `high` bound its values, in its unit."""

    name: str
    observation: str
    unit: str
    low: int
    high: int


PROPERTIES = {
    one.name: one
    for one in (
        ObservedProperty("AirTemperature", "TemperatureObservation", "fahrenheit", 0, 100),
        ObservedProperty("RelativeHumidity", "HumidityObservation", "percent", 0, 101),
        ObservedProperty("WindSpeed", "WindSpeedObservation", "milesPerHour", 0, 90),
        ObservedProperty("WindDirection", "WindDirectionObservation", "degrees", 0, 360),
        ObservedProperty("WindGust", "WindSpeedObservation", "milesPerHour", 0, 120),
        ObservedProperty("DewPoint", "TemperatureObservation", "fahrenheit", 0, 80),
        ObservedProperty("Visibility", "VisibilityObservation", "centimeters", 0, 10_000),
        ObservedProperty("Pressure", "PressureObservation", "inches", 26, 32),
        ObservedProperty("Rainfall", "RainfallObservation", "centimeters", 0, 40),
        ObservedProperty("Snowfall", "SnowfallObservation", "centimeters", 0, 40),
    )
}
"""By name; the first one is YABench's."""


_MOST_ROUNDS = 2**31
_MOST_DRAWN = 20_000_000


def _names(value: object) -> object:
    """Return names from one comma-separated text, or from several."""
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        return value
    return tuple(name for item in given for name in str(item).split(","))


class SensorSettings(Settings):
    """Parameters of YABench's gen(s, i, d, r, n), where r is the seed, and our additions."""

    generator: str = Field(default="SG1", description="n: how times and values are made")
    random: Literal["hash", "java"] = Field(
        default="hash",
        description="source of randomness: of its own, or Java's, with which seeds give YABench's streams",
    )
    stations: int = Field(default=10, ge=1, description="s: the number of stations")
    interval: Length = Field(default=5 * MINUTE, ge=1, description="i: time between two observations of a station")
    duration: Length = Field(default=60 * MINUTE, ge=1, description="d: the length of the stream")
    start: int = Field(default=0, description="the time at which the stream begins, in ms")
    min: int = Field(default=0, description="the least air temperature")
    max: int = Field(default=100, description="air temperatures stay below it")
    properties: Annotated[tuple[str, ...], BeforeValidator(_names)] = Field(
        default=("AirTemperature",), description=f"observed properties, of {', '.join(PROPERTIES)}"
    )
    shape: Literal["yabench", "srbench"] = Field(
        default="yabench", description="seven triples of an observation, or ten with sampling time and its inverse link"
    )
    per: Literal["observation", "triple"] = Field(default="observation", description="what is an element of the stream")
    profile: Literal["constant", "ramp", "burst", "random"] = Field(
        default="constant", description="how the rate changes: the random one has exponential gaps"
    )
    peak: float = Field(
        default=4.0, ge=1, description="the highest rate of ramp and burst, in units of the constant one"
    )
    burst_every: Length = Field(default=60 * SECOND, ge=1, description="time from burst to burst")
    burst_length: Length = Field(default=5 * SECOND, ge=1, description="how long a burst lasts")
    late: float = Field(default=0.0, ge=0, le=1, description="share of observations that arrive late")
    late_by: Length = Field(default=30 * SECOND, ge=1, description="how late they are at most")
    disorder: float = Field(default=0.0, ge=0, le=1, description="share of observations that others overtake")
    disorder_by: Length = Field(default=SECOND, ge=1, description="how much later they arrive at most")
    duplicates: float = Field(default=0.0, ge=0, le=1, description="share of observations that arrive twice")
    static: bool = Field(default=True, description="stations, places and storms as static data")

    @field_validator("properties")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in names if name not in PROPERTIES]:
            raise ValueError(f"expected some of {', '.join(PROPERTIES)}, got {unknown[0]!r}")
        if len(set(names)) < len(names) or not names:
            raise ValueError("expected different observed properties, at least one")
        return names

    @model_validator(mode="after")
    def _fits(self) -> SensorSettings:
        if self.min >= self.max:
            raise ValueError(f"expected min below max, got {self.min} and {self.max}")
        if self.profile in ("ramp", "burst") and self.interval < self.peak:
            raise ValueError(f"expected an interval of at least {self.peak:g} ms, so that times differ at the peak")
        if self.burst_length >= self.burst_every:
            raise ValueError("expected bursts that are shorter than the time from one to the next")
        if self.duration * self.peak / self.interval > _MOST_ROUNDS:
            raise ValueError("expected at most 2**31 observations of a station: make the duration shorter")
        if self.random == "java":
            self._check_java()
        return self

    def _check_java(self) -> None:
        """Raise ValueError for what YABench's generator, whose draws follow one another, does not make."""
        if (self.generator, self.profile, self.properties) != ("SG1", "constant", ("AirTemperature",)):
            raise ValueError("expected the generator SG1, a constant profile and AirTemperature with random=java")
        if max(self.interval, self.max - self.min) >= 2**31:
            raise ValueError("expected an interval and a range of temperatures below 2**31 with random=java")
        if self.stations * (self.duration / self.interval) > _MOST_DRAWN:
            raise ValueError(f"expected at most {_MOST_DRAWN} observations with random=java, which one process draws")

    @property
    def unsteady(self) -> bool:
        """Whether elements arrive in another order than that of their times."""
        return self.late > 0 or self.disorder > 0 or self.duplicates > 0
