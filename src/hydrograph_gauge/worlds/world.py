"""Definition of a world, its plan, and the registry of all worlds.

A world returns a plan: lazy Spark DataFrames for its streams and its static graph. Nothing runs before `writer` writes
the plan. A new world is a module with a `WORLD` and a line of `WORLDS`.
"""

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
    """Encoding of the rows of a file in Arrow arrays, for streams whose elements are single triples.

    Both functions are serialised and sent to Spark tasks. Elements need no column `t`: a column that `encode` can
    compute is better not shuffled.
    """

    time: Column
    """The time of an element, computed from its columns."""
    order: Callable[[pa.Table], NumberArray]
    """Returns the order of a file's rows: by `p_id`, `t` and `seq`."""
    encode: Callable[[pa.Table], pa.Table]
    """Returns rows of the encoded schema; texts are dictionary-encoded, without duplicates."""


@dataclass(frozen=True, slots=True)
class ElementLine:
    """One line of an element in a text format, identified by its predicate and the start of its object."""

    predicate: str
    object: str = ""
    """Prefix of the object; distinguishes lines with the same predicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """Plan of one stream of a world.

    `elements` has a row for each element (a graph with one timestamp, or a single triple). Rows are as narrow as
    possible, because the writer shuffles them by time. `expand` then turns them into rows of the encoded schema
    (`EVENT_COLUMNS`) and must not shuffle. It must fill `t_next`; `writer.add_next_times` computes it for a world that
    cannot derive it.
    """

    name: str
    iri: str
    elements: DataFrame
    """At least `t` (BIGINT) and, if a row has several triples, their number as `n`."""
    expand: Callable[[DataFrame], DataFrame] | ArrayEncoding
    starts: tuple[int, ...] | None = None
    """The first times of the files if known; otherwise the writer counts rows."""
    span: tuple[int, int] | None = None
    """The earliest and latest possible time if known; otherwise the writer queries them before it counts."""
    arrival: bool = False
    """Whether elements arrive (`seq`) out of time order; text formats then list them in order of arrival."""
    order: tuple[ElementLine, ...] = ()
    """The lines of an element, in the order of the text formats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldPlan:
    """Plan of all data of a world."""

    streams: tuple[StreamPlan, ...]
    static: DataFrame | None = None
    """Rows of `TRIPLE_COLUMNS`, each triple once."""
    static_about: float | None = None
    """Approximate number of rows if known; otherwise the writer counts."""
    done: Callable[[], None] = field(default=lambda: None)
    """Called after success and failure of the writer; releases what the plan cached."""


class WorldGenerator(Protocol[_S]):  # type: ignore[misc]
    """Function that returns the plan of a world. All randomness comes from the seed through `Draws`."""

    def __call__(self, spark: SparkSession, settings: _S) -> WorldPlan:
        """Return the plan; it may run small Spark jobs."""


@dataclass(frozen=True, slots=True)
class World(Generic[_S]):
    """A world that `hydrograph generate` offers."""

    name: str
    summary: str
    settings: type[_S]
    generate: WorldGenerator[_S]
    texts: Sequence[str] = ("tnt",)
    """The text formats of its streams."""
    graph: str | None = None
    """The IRI of its static graph in the published queries."""


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
