"""The social network as a world that `hydrograph generate` knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.social.event_time import StreamSource, plan_stream
from hydrograph_gauge.worlds.social.friendships import make_friendships
from hydrograph_gauge.worlds.social.gps import gps_stream
from hydrograph_gauge.worlds.social.groups import make_groups
from hydrograph_gauge.worlds.social.people import People
from hydrograph_gauge.worlds.social.photos import make_albums, make_photos, photo_stream, photo_tag_stream
from hydrograph_gauge.worlds.social.posts import like_stream, make_posts, post_stream, tag_stream
from hydrograph_gauge.worlds.social.settings import SocialSettings
from hydrograph_gauge.worlds.social.static import static_triples
from hydrograph_gauge.worlds.world import World, WorldPlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def make_sources(spark: SparkSession, settings: SocialSettings) -> tuple[tuple[StreamSource, ...], DataFrame]:
    """Return the streams before their elements have places, and the static graph.

    The friendships are made here, because all else rests on them.
    """
    from pyspark.sql import functions as F  # noqa: N812

    people = People(settings, Draws(settings.seed))
    circles = make_friendships(spark, people)
    groups = make_groups(people, circles.users)
    posts = make_posts(people, circles.users, groups)
    albums = make_albums(people, circles.users)
    photos = make_photos(people, albums)
    liked = photos.select("id", "created", F.col("friends").alias("audience"))
    streams = (
        gps_stream(spark, people, circles.users),
        post_stream(spark, people, posts),
        like_stream(people, "post", posts, settings.post_like_copies),
        photo_stream(people, albums, photos),
        like_stream(people, "photo", liked, settings.photo_like_copies),
        tag_stream(spark, posts),
        photo_tag_stream(people, photos),
    )
    return streams, static_triples(people, circles, groups)


def generate(spark: SparkSession, settings: SocialSettings) -> WorldPlan:
    """Return the plans of the network."""
    streams, static = make_sources(spark, settings)
    return WorldPlan(streams=tuple(plan_stream(stream, settings) for stream in streams), static=static)


WORLD = World(
    "social",
    "The social network of LSBench.",
    SocialSettings,
    generate,
    texts=("tnt", "s2gen"),
    graph="http://deri.org/static",
)
