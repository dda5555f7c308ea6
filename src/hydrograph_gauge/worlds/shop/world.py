"""The world `shop`: the data of Stream WatDiv at a static and a stream scale, its stream timed by a rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from hydrograph.errors import DataError
from hydrograph_gauge.worlds import writer
from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.settings import Length, Settings
from hydrograph_gauge.worlds.shop.activities import (
    ROWS_PER_BUCKET,
    Timing,
    add_successors,
    find_associations,
    make_link_triples,
    number_activities,
)
from hydrograph_gauge.worlds.shop.encoding import TripleEncoder, build_tables, encode_rows
from hydrograph_gauge.worlds.shop.expectation import compute_expectation
from hydrograph_gauge.worlds.shop.model import ActivityMode, Model, read_model
from hydrograph_gauge.worlds.shop.population import Population, make_links
from hydrograph_gauge.worlds.spark import constant_numbers, task_count
from hydrograph_gauge.worlds.world import ArrayEncoding, StreamPlan, World, WorldPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STREAM = "http://ex.org/streams/test"
"""The stream of Stream WatDiv's queries."""
KNOWLEDGE = "http://dsg.uwaterloo.ca/watdiv/knowledge"
"""The static graph of Stream WatDiv's queries."""
WSDBM = "http://db.uwaterloo.ca/~galuc/wsdbm/"
"""The namespace of WatDiv's entities."""


class ShopSettings(Settings):
    """The settings of the world `shop`."""

    static: int = Field(default=1, ge=1, description="the scale of users, products, retailers and websites")
    stream: int = Field(default=1, ge=1, description="the scale of offers, purchases, reviews and of all activities")
    rate: int = Field(default=10_000, ge=1, description="triples in a second of event time")
    batch: int | None = Field(default=None, ge=1, description="triples with the same time; default: by the rate")
    interval: Length | None = Field(default=None, ge=0, description="time between two batches; default: by the rate")
    start: int = Field(default=0, description="the time of the first triple, in ms")
    per: Literal["triple", "activity"] = Field(
        default="triple", description="what has a time of its own, and is an element of the stream"
    )
    entities: Literal["release", "thesis"] = Field(
        default="release",
        description="numbers of retailers and languages: 12 and 35 as in the released model, "
        "or 22 and 25 as in table 2.2 of the thesis",
    )
    model: Path | None = Field(default=None, description="a model file in WatDiv's syntax instead of the built-in one")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        """Refuse the numbers of the thesis for a model that has its own."""
        if self.model is not None and self.entities != "release":
            raise ValueError("expected entities or a model: a model file has its own numbers of entities")
        return self


THESIS_ENTITIES: Mapping[str, int] = {f"{WSDBM}Retailer": 22, f"{WSDBM}Language": 25}
"""Where table 2.2 of the thesis differs from the model file that was released with it."""


def build_timing(settings: ShopSettings) -> Timing:
    """Return the event times of a rate R: triple i happens at i * 1000 / R ms, rounded down.

    The thesis defines batches of B = max(R / 1000, 1) triples every I = max(1000 / R, 1) ms, which is the same if R
    divides 1000 or is a multiple of it. The original uses integer division, which turns 1,500 triples a second into
    1,000; this is kept with `faithful`, or if B or I are given.

    >>> build_timing(ShopSettings(rate=100)), build_timing(ShopSettings(rate=10_000))
    (Timing(batch=1, interval=10, start=0, per=1), Timing(batch=10, interval=1, start=0, per=1))
    >>> [build_timing(ShopSettings(rate=1500)).value(i) for i in range(7)]
    [0, 0, 1, 2, 2, 3, 4]
    """
    rate = settings.rate
    if settings.faithful or settings.batch is not None or settings.interval is not None:
        batch = settings.batch or max(rate // 1000, 1)
        interval = max(1000 // rate, 1) if settings.interval is None else settings.interval
        return Timing(batch, interval, settings.start)
    shared = math.gcd(1000, rate)
    interval, per = 1000 // shared, rate // shared
    # One whole batch per ms needs a single division.
    return Timing(per, 1, settings.start) if interval == 1 else Timing(1, interval, settings.start, per)


def build_population(spark: SparkSession | None, settings: ShopSettings) -> Population:
    """Return the entities of a shop."""
    return Population(
        spark,
        load_model(settings.model, settings.entities),
        Draws(settings.seed),
        static=settings.static,
        stream=settings.stream,
        faithful=settings.faithful,
    )


def load_model(file: Path | None, entities: Literal["release", "thesis"] = "release") -> Model:
    """Return the model in a file, or the built-in one with the numbers of entities of the release or the thesis."""
    if file is None:
        model = read_model((resources.files(__package__) / "watdiv.model").read_text("utf-8"), "watdiv.model")
        if entities == "release":
            return model
        types = tuple(replace(one, count=THESIS_ENTITIES.get(one.name, one.count)) for one in model.types)
        return replace(model, types=types)
    try:
        return read_model(file.read_text("utf-8"), str(file))
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from error


def generate(spark: SparkSession, settings: ShopSettings) -> WorldPlan:
    """Return the plans of static data and stream."""
    people = build_population(spark, settings)
    static = encode_rows(people, make_static_rows(people))
    wanted = compute_expectation(people)
    found = number_activities(people, wanted.stream, by_activity=settings.per == "activity" and settings.faithful)
    stream = _stream(people, settings, found.rows, found.total)
    return WorldPlan(streams=(stream,), static=static, static_about=wanted.static, done=found.release)


def make_static_rows(people: Population) -> DataFrame:
    """Return the static data as distinct rows `code`, `s`, `o`; equal links of two model rows count once."""
    from pyspark.sql import functions as F  # noqa: N812

    first: dict[tuple[str, str, str], int] = {}
    codes = []
    for row in people.rows:
        link = (row.subject, row.predicate, row.association.object) if row.association else (str(row.code), "", "")
        codes.append(first.setdefault(link, row.code))
    canonical = F.get(constant_numbers(codes, "int"), F.col("code")).alias("code")
    return draw_static_rows(people).select(canonical, "s", "o").distinct()


def draw_static_rows(people: Population) -> DataFrame:
    """Return the static data as drawn for each row of the model; it may contain duplicate links."""
    from pyspark.sql import functions as F  # noqa: N812

    frames = []
    for type_ in people.model.types:
        if type_.name not in people.streamed and people.has_triples(type_.name):
            n = people.count(type_.name)
            entities = people.session.range(0, n, 1, task_count(n, 20_000))
            frames.append(people.equipped(entities).select(F.inline(people.triples(type_.name, F.col("id")))))
    for row in people.rows:
        one = row.association
        if one is not None and one.exclusive and row.predicate not in people.streamed_predicates:
            frames.append(make_links(people, one, 1).select(F.lit(row.code).alias("code"), "s", "o"))
    result = frames[0]
    for frame in frames[1:]:
        result = result.unionByName(frame)
    return result


def make_stream_triples(people: Population, rows: DataFrame, *kept: str) -> DataFrame:
    """Return the triples of activities: `kept`, `code`, `s`, `o`, `at` (position in the activity), and `next`.

    `next` is the number of the next activity that repeats the triple; null if none does.
    """
    from pyspark.sql import functions as F  # noqa: N812

    kind, a, e = F.col("kind"), F.col("a"), F.col("e")
    all_ = people.model.activities
    codes = _link_codes(people)
    link = F.array(F.struct(F.get(constant_numbers(codes, "int"), kind).alias("code"), a.alias("s"), e.alias("o")))
    triples = F.when(kind.isin(*_kinds(people, entities=False)), link)
    for number, activity in enumerate(all_):
        if activity.entity is not None:
            own = people.triples(activity.entity, e)
            triples = triples.when(kind == number, F.when(a >= 0, F.concat(own, link)).otherwise(own))
    # The array is built by a projection of its own: inside `explode` it would not be compiled.
    successors = ("next_link", "next_entity")
    made = rows.select(*kept, "kind", *successors, triples.alias("triples"))
    each = made.select(*kept, "kind", *successors, F.posexplode("triples").alias("at", "one"))
    linked = F.col("one.code") == F.get(constant_numbers(codes, "int"), kind)
    repeated = kind.isin(
        *(number for number, one in enumerate(all_) if one.entity is None or one.mode is ActivityMode.EACH)
    )
    next_ = F.when(repeated, F.when(linked, F.col("next_link")).otherwise(F.col("next_entity")))
    return each.select(*kept, "one.code", "one.s", "one.o", "at", next_.alias("next"))


def _kinds(people: Population, *, entities: bool) -> list[int]:
    return [number for number, one in enumerate(people.model.activities) if (one.entity is not None) is entities]


def _stream(people: Population, settings: ShopSettings, rows: DataFrame, total: int) -> StreamPlan:
    from pyspark.sql import functions as F  # noqa: N812

    times = build_timing(settings)
    parts = max(1, math.ceil(total / ROWS_PER_BUCKET))
    expand: Callable[[DataFrame], DataFrame] | ArrayEncoding
    if settings.per == "activity":
        rows = add_successors(rows, people, parts)
        elements = rows.select(times.column(F.col("i")).alias("t"), F.col("i").alias("seq"), *rows.columns)

        def expand(placed: DataFrame) -> DataFrame:
            each = make_stream_triples(people, placed, "t", "seq")
            known = each.select("t", "seq", times.column(F.col("next")).alias("t_next"), "code", "s", "o")
            return encode_rows(people, known, "t", "seq", "t_next")
    else:
        elements = _numbered_triples(people, rows, parts)
        encoder = TripleEncoder(build_tables(people, times))
        expand = ArrayEncoding(time=times.column(F.col("seq")), order=encoder.order, encode=encoder)
    step = writer.ROWS_PER_FILE
    starts = tuple(dict.fromkeys(times.value(i) for i in range(0, max(1, total), step)))
    return StreamPlan(name="shop", iri=STREAM, elements=elements, expand=expand, starts=starts)


def _numbered_triples(people: Population, rows: DataFrame, parts: int) -> DataFrame:
    """Return the triples of activities: `seq` (number in the stream), `code`, `s`, `o`, and `next`.

    Most activities are links, which are single triples already; only the others are expanded through arrays.
    """
    from pyspark.sql import functions as F  # noqa: N812

    links_, entities = (rows.where(F.col("kind").isin(*_kinds(people, entities=several))) for several in (False, True))
    single = make_link_triples(links_, _link_codes(people), parts)
    each = make_stream_triples(people, add_successors(entities, people, parts).withColumnRenamed("i", "seq"), "seq")
    at = F.col("at")
    return single.unionByName(
        each.select((F.col("seq") + at).alias("seq"), "code", "s", "o", (F.col("next") + at).alias("next"))
    )


def _link_codes(people: Population) -> list[int]:
    """Return the codes of the links that make activities, by kind of activity."""
    return [people.row_of(find_associations(people, activity)[0]).code for activity in people.model.activities]


WORLD = World(
    "shop",
    "The web shop of Stream WatDiv: users follow, like and subscribe, retailers offer, users buy and review.",
    ShopSettings,
    generate,
    texts=("tnt", "watdiv"),
    graph=KNOWLEDGE,
)
