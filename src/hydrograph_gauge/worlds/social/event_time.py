"""Positions and event times of the elements of a stream: the time of creation, or a constant rate.

A position is the number of elements in earlier hours plus the rank within a few hours. So no single task sorts a whole
stream, and the driver receives only counts per hour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hydrograph.rdf.encoding import EVENT_COLUMNS
from hydrograph.streams.formats import parquet
from hydrograph.temporal import HOUR
from hydrograph_gauge.worlds.social.settings import SocialSettings
from hydrograph_gauge.worlds.social.triples import STREAM_IRIS, explode_triples
from hydrograph_gauge.worlds.spark import constant_numbers
from hydrograph_gauge.worlds.world import ElementLine, StreamPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ELEMENTS_PER_TASK = 250_000


@dataclass(frozen=True, slots=True)
class StreamSource:
    """Elements of a stream before positions and event times are assigned."""

    name: str
    elements: DataFrame
    """Narrow rows: at least `created` (when, in ms), `n` (triples), and the columns of `order`."""
    order: tuple[str, ...]
    """Columns that order elements of one instant uniquely."""
    triples: Callable[[DataFrame], DataFrame]
    """Adds what `listed` needs, without a shuffle."""
    listed: Callable[[], Column]
    """The triples of a row, in the order of the text."""
    lines: tuple[ElementLine, ...] = ()
    """The lines of an element in the order in which they are written."""
    again: Callable[[], Column] | None = None
    """Distance to the next repetition of an element in the stream, or null; None for streams without repetitions."""


@dataclass(frozen=True, slots=True)
class _Hours:
    """What was counted, hour by hour from `first` on."""

    first: int
    elements: tuple[int, ...]
    triples: tuple[int, ...]

    def cut(self, counts: Sequence[int], most: int) -> list[int]:
        """Return for each hour the number of its part, so that parts have about `most` things."""
        before = np.cumsum(counts) - np.asarray(counts)
        _, parts = np.unique(before // most, return_inverse=True)
        return [int(part) for part in parts]


def plan_stream(source: StreamSource, settings: SocialSettings) -> StreamPlan:
    """Return the plan of a stream with places and event times."""
    from pyspark.sql import functions as F  # noqa: N812

    hours = _count(source.elements)
    placed = _placed(source, hours)
    rate = settings.rate.get(source.name)

    def when(place: Column) -> Column:
        """Return the event time of the element at a place."""
        if rate is None:
            return F.col("created")
        return F.lit(settings.first) + F.floor(place * 1000 / F.lit(rate))

    def expand(rows: DataFrame, *, each: bool) -> DataFrame:
        found = explode_triples(source.triples(rows), source.listed(), *rows.columns)
        place = F.col("before") + F.col("k") if each else F.col("place")
        later = F.lit(None)
        if source.again is not None:
            later = F.when(source.again().isNotNull(), when(place + source.again()))
        timed_ = found.withColumn("seq", place).withColumn("t", when(place))
        return timed_.withColumn("t_next", later.cast("bigint")).select(*EVENT_COLUMNS)

    each = settings.element == "triple"
    starts = _starts(hours, rate, settings.first, each=each)
    if each:
        elements = expand(placed.withColumn("t", F.col("created")), each=True)
        return StreamPlan(
            name=source.name,
            iri=STREAM_IRIS[source.name],
            elements=elements,
            expand=lambda rows: rows,
            starts=starts,
            order=source.lines,
        )
    return StreamPlan(
        name=source.name,
        iri=STREAM_IRIS[source.name],
        elements=placed.withColumn("t", when(F.col("place"))),
        expand=lambda rows: expand(rows, each=False),
        starts=starts,
        order=source.lines,
    )


def _count(elements: DataFrame) -> _Hours:
    from pyspark.sql import functions as F  # noqa: N812

    hour = F.floor(F.col("created") / HOUR)
    counted = elements.groupBy(hour.alias("hour")).agg(F.count("*").alias("elements"), F.sum("n").alias("n")).collect()
    if not counted:
        return _Hours(0, (), ())
    by_hour = {row["hour"]: (row["elements"], row["n"]) for row in counted}
    every = [by_hour.get(at, (0, 0)) for at in range(min(by_hour), max(by_hour) + 1)]
    return _Hours(min(by_hour), tuple(one for one, _ in every), tuple(n for _, n in every))


def _placed(source: StreamSource, hours: _Hours) -> DataFrame:
    """Return the elements with their `place` and the number of triples `before` them."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    if not hours.elements:
        return source.elements.withColumn("place", F.lit(0)).withColumn("before", F.lit(0))
    parts = hours.cut(hours.elements, _ELEMENTS_PER_TASK)
    hour = (F.floor(F.col("created") / HOUR) - hours.first).cast("int")
    part = F.get(constant_numbers(parts, "int"), hour)
    same = Window.partitionBy("part").orderBy("created", *source.order)
    up_to = same.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    ranked = source.elements.withColumn("part", part).select(
        "*", F.row_number().over(same).alias("rank"), F.sum("n").over(up_to).alias("sum")
    )
    earlier = F.get(constant_numbers(_before(hours.elements, parts), "bigint"), F.col("part"))
    triples = F.get(constant_numbers(_before(hours.triples, parts), "bigint"), F.col("part"))
    return (
        ranked.withColumn("place", earlier + F.col("rank") - 1)
        .withColumn("before", triples + F.col("sum") - F.col("n"))
        .drop("part", "rank", "sum")
    )


def _before(counts: Sequence[int], parts: Sequence[int]) -> list[int]:
    """Return how much lies before each part.

    >>> _before([3, 4, 5], [0, 0, 1])
    [0, 7]
    """
    totals = [0] * (parts[-1] + 2)
    for count, part in zip(counts, parts, strict=True):
        totals[part + 1] += count
    return [int(total) for total in np.cumsum(totals)[:-1]]


def _starts(hours: _Hours, rate: float | None, first: int, *, each: bool) -> tuple[int, ...]:
    """Return the first event times of the files; they are cut between hours of creation."""
    if not hours.elements:
        return (first,)
    parts = hours.cut(hours.triples, parquet.ROWS_PER_FILE)
    begins = [hour for hour, part in enumerate(parts) if not hour or parts[hour - 1] != part]
    if rate is None:
        return tuple((hours.first + hour) * HOUR for hour in begins)
    places = np.cumsum((0, *(hours.triples if each else hours.elements)))
    return tuple(dict.fromkeys(first + int(float(places[hour]) * 1000 // rate) for hour in begins))
