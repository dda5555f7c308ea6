"""GPS fixes: of people who attend the same event, close together, and of users who report where they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph.temporal import MINUTE
from hydrograph_gauge.worlds.social.event_time import StreamSource
from hydrograph_gauge.worlds.social.people import People
from hydrograph_gauge.worlds.social.settings import DAY
from hydrograph_gauge.worlds.social.triples import (
    DBPPROP,
    MICRO,
    SIB,
    degrees_triple,
    instant_triple,
    iri_text,
    text_triple,
    triple,
)
from hydrograph_gauge.worlds.world import ElementLine

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_NEAR = MICRO // 100
"""Fixes lie within a hundredth of a degree of where they are said to be."""
_PER_OWNER = 1_000_000
"""Fixes of one user, and of one attendee's event; their names are numbers made of the owner's and their own."""
_FIX_PAUSE = 5_000


def gps_stream(spark: SparkSession, people: People, users: DataFrame) -> StreamSource:
    """Return the stream of GPS fixes, five triples each."""
    from pyspark.sql import functions as F  # noqa: N812

    own, attended = _own_fixes(people, users), _event_fixes(spark, people)
    fixes = own.unionByName(attended)
    if not people.settings.faithful:
        fixes = fixes.where(F.col("created") < people.settings.last)
    fixes = fixes.withColumn("n", F.lit(5).cast("bigint"))
    predicates = ("trackedAt", "latd", "longd", "trackedTime", "trackedLocation")
    spaces = (SIB, DBPPROP, DBPPROP, SIB, SIB)
    return StreamSource(
        name="gps",
        elements=fixes,
        order=("id",),
        triples=lambda rows: rows,
        listed=lambda: _fix_triples(people),
        lines=tuple(ElementLine(f"<{space}{predicate}>") for space, predicate in zip(spaces, predicates, strict=True)),
    )


def _event_fixes(spark: SparkSession, people: People) -> DataFrame:
    """Return the fixes of attendees: one a minute after the event began.

    The original may draw a user twice for an event, who then sends two fixes at a time; by default attendees differ.
    """
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, event = people.settings, people.draws, F.col("event")
    seconds = (asked.last - asked.first) // 1000
    people_there = draws.below("attendees", asked.max_attendees - asked.min_attendees).column(event)
    events = spark.range(0, asked.events, 1, 2).select(
        F.col("id").alias("event"),
        draws.below("event place", len(people.known.places)).column(F.col("id")).cast("int").alias("place"),
        (F.lit(asked.first) + draws.below("event time", seconds).column(F.col("id")) * 1000).alias("begun"),
    )
    attendees = events.withColumn("attendees", people_there + asked.min_attendees).where(F.col("attendees") > 0)
    each = attendees.select("*", F.explode(F.sequence(F.lit(0), F.col("attendees") - 1)).alias("at"))
    known = each.withColumn("u", draws.below("attendee", asked.users).column(event, F.col("at")))
    if not asked.faithful:
        known = known.groupBy("event", "place", "begun", "u").agg(F.min("at").alias("at"))
    fixes = known.withColumn("fixes", draws.below("event fixes", asked.max_event_fixes).column(event, F.col("at")))
    rows = fixes.where(F.col("fixes") > 0).select("*", F.explode(F.sequence(F.lit(0), F.col("fixes") - 1)).alias("i"))
    numbered = rows.withColumn("id", ((event * 1000 + F.col("at")) * 1000 + F.col("i")) * 2)
    latitude, longitude = people.position(F.col("place"))
    return numbered.select(
        "id",
        "u",
        (latitude + _jitter(people, "north")).alias("latitude"),
        (longitude + _jitter(people, "east")).alias("longitude"),
        people.place_name(F.col("place")).alias("where"),
        (F.col("begun") + F.col("i") * MINUTE).alias("created"),
    )


def _own_fixes(people: People, users: DataFrame) -> DataFrame:
    """Return the fixes of users who report where they are: at home.

    In the original, a user who reports k times sends k fixes each time, on consecutive days, even beyond the end of the
    period; by default the number of fixes per report is limited, and reports lie within the period.
    """
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, u = people.settings, people.draws, F.col("u")
    reporters = users.where(draws.chance("reports", asked.gps_probability).column(u)).select("u", "country", "created")
    times = reporters.withColumn("times", draws.below("gps times", asked.max_gps_times).column(u) + 1)
    each = times.select("*", F.explode(F.sequence(F.lit(0), F.col("times") - 1)).alias("time"))
    time = F.col("time")
    if asked.faithful:
        count, begun = F.col("times"), F.col("created") + time * DAY
    else:
        count = draws.below("gps fixes", asked.max_gps_fixes).column(u, time) + 1
        left = F.lit(asked.last) - F.col("created")
        begun = F.col("created") + F.floor(draws.uniform("gps time").column(u, time) * left / 1000) * 1000
    counted = each.withColumn("begun", begun).withColumn("fixes", count)
    rows = counted.select("*", F.explode(F.sequence(F.lit(0), F.col("fixes") - 1)).alias("i"))
    numbered = rows.withColumn("id", (u * _PER_OWNER + time * 1000 + F.col("i")) * 2 + 1)
    latitude, longitude = people.home(u, F.col("country"))
    return numbered.select(
        "id",
        "u",
        (latitude + _jitter(people, "north")).alias("latitude"),
        (longitude + _jitter(people, "east")).alias("longitude"),
        people.country_name(F.col("country")).alias("where"),
        (F.col("begun") + F.col("i") * _FIX_PAUSE).alias("created"),
    )


def _jitter(people: People, axis: str) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    return people.draws.below(f"gps {axis}", _NEAR).column(F.col("id"))


def _fix_triples(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    fix = iri_text("gps", F.col("id"))
    return F.array(
        triple(iri_text("user", F.col("u")), f"{SIB}trackedAt", fix),
        degrees_triple(fix, f"{DBPPROP}latd", F.col("latitude")),
        degrees_triple(fix, f"{DBPPROP}longd", F.col("longitude")),
        instant_triple(fix, f"{SIB}trackedTime", F.col("created"), faithful=people.settings.faithful),
        text_triple(fix, f"{SIB}trackedLocation", F.col("where")),
    )
