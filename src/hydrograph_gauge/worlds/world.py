"""What a world hands to the writer: plans of rows, not rows. Nothing runs before they are written."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import pyarrow as pa

from hydrograph.errors import UsageError
from hydrograph_gauge.worlds.hashing import NumberArray
from hydrograph_gauge.worlds.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_S = TypeVar("_S", bound=Settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayEncoding:
    """How tasks make the rows of a file in arrays, where each element is one triple; both functions are sent to them.

    Elements need no `t` then: what can be made of other columns in arrays had better not be spread.
    """

    time: Column
    """The time of an element, from its columns."""
    order: Callable[[pa.Table], NumberArray]
    """Gives the order of a file's rows: by `p_id`, `t` and `seq`."""
    encode: Callable[[pa.Table], pa.Table]
    """Makes rows of the encoded schema; texts are in dictionaries, of which each is there once."""


@dataclass(frozen=True, slots=True)
class ElementLine:
    """One of the lines of an element as text: canonical texts of its predicate and of what its object begins with."""

    predicate: str
    object: str = ""
    """Tells lines with the same predicate apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """One stream of a world.

    `elements` has a row for each element (a graph with one time; a triple on its own is one too), as narrow as
    possible, because the writer spreads these rows by time. `expand` turns them, where they then are, into rows of the
    encoded schema (`EVENT_COLUMNS`): it must not shuffle. `t_next` must be right there; `with_next` finds it where a
    world can not know it.
    """

    name: str
    iri: str
    elements: DataFrame
    """At least `t` (BIGINT) and, if a row stands for several triples, their number as `n`."""
    expand: Callable[[DataFrame], DataFrame] | ArrayEncoding
    starts: tuple[int, ...] | None = None
    """The first times of the files, where they are known; else the writer counts."""
    span: tuple[int, int] | None = None
    """The first time there may be and the last, where they are known: saves the writer a look before it counts."""
    arrival: bool = False
    """Whether arrivals (`seq`) are out of the order of time: then text has the lines in order of arrival."""
    order: tuple[ElementLine, ...] = ()
    """The lines of an element in the order in which they are written as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPlan:
    """All data of a world."""

    streams: tuple[StreamPlan, ...]
    static: DataFrame | None = None
    """Rows of `TRIPLE_COLUMNS`, each triple once."""
    static_about: float | None = None
    """About how many rows that is, where it is known; else the writer counts."""
    done: Callable[[], None] = field(default=lambda: None)
    """Called when everything is written, or could not be: takes away what the plan kept."""


class WorldGenerator(Protocol[_S]):  # type: ignore[misc]
    """Makes the plans of a world. All randomness comes from the seed by `Draws`."""

    def __call__(self, spark: SparkSession, settings: _S) -> WorldPlan:
        """Return the plans; the driver may run small jobs for them."""


@dataclass(frozen=True, slots=True)
class World(Generic[_S]):
    """A kind of data that `hydrograph generate` knows."""

    name: str
    summary: str
    settings: type[_S]
    generate: WorldGenerator[_S]
    texts: Sequence[str] = ("tnt",)
    """The text forms of its streams."""
    graph: str | None = None
    """What the published queries call its static data."""


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
