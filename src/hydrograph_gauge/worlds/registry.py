"""The worlds by name; each is a module with a `WORLD`, imported when it is asked for."""

from __future__ import annotations

import importlib
from typing import Any

from hydrograph.errors import UsageError
from hydrograph_gauge.worlds.plan import World

WORLDS: dict[str, tuple[str, str]] = {
    "sensors": ("hydrograph_gauge.worlds.sensors.world", "Weather stations: YABench's streams, SRBench's static data."),
    "shop": (
        "hydrograph_gauge.worlds.shop.world",
        "The web shop of Stream WatDiv, or of a model file in WatDiv's syntax.",
    ),
    "social": ("hydrograph_gauge.worlds.social.world", "The social network of LSBench, after its generator S2Gen."),
}
"""Module and summary of each world."""


def find_world(name: str) -> World[Any]:
    """Return the world `name`, or raise UsageError."""
    if name not in WORLDS:
        raise UsageError(f"expected a world ({', '.join(WORLDS)}), got {name!r}")
    world: World[Any] = importlib.import_module(WORLDS[name][0]).WORLD
    return world
