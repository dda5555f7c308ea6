"""What stations observe: the observed properties of LinkedSensorData, with their classes, units and ranges."""

from __future__ import annotations

from dataclasses import dataclass

SSW = "http://knoesis.wright.edu/ssw/"
WEATHER = SSW + "ont/weather.owl#"
OM_OWL = SSW + "ont/sensor-observation.owl#"


@dataclass(frozen=True, slots=True)
class Property:
    """An observed property; `low` and `high` bound its values, in its unit."""

    name: str
    observation: str
    unit: str
    low: int
    high: int


PROPERTIES = {
    one.name: one
    for one in (
        Property("AirTemperature", "TemperatureObservation", "fahrenheit", 0, 100),
        Property("RelativeHumidity", "HumidityObservation", "percent", 0, 101),
        Property("WindSpeed", "WindSpeedObservation", "milesPerHour", 0, 90),
        Property("WindDirection", "WindDirectionObservation", "degrees", 0, 360),
        Property("WindGust", "WindSpeedObservation", "milesPerHour", 0, 120),
        Property("DewPoint", "TemperatureObservation", "fahrenheit", 0, 80),
        Property("Visibility", "VisibilityObservation", "centimeters", 0, 10_000),
        Property("Pressure", "PressureObservation", "inches", 26, 32),
        Property("Rainfall", "RainfallObservation", "centimeters", 0, 40),
        Property("Snowfall", "SnowfallObservation", "centimeters", 0, 40),
    )
}
"""By name; the first one is YABench's."""
