"""Photo albums, and photos of places with tagged friends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.social.event_time import StreamSource
from hydrograph_gauge.worlds.social.people import People
from hydrograph_gauge.worlds.social.posts import draw_run
from hydrograph_gauge.worlds.social.settings import IDS_PER_OWNER
from hydrograph_gauge.worlds.social.triples import (
    DBPO,
    DBPPROP,
    DC,
    DCTERMS,
    SIB,
    SIOC,
    SIOCT,
    TYPE,
    collect_triples,
    degrees_triple,
    instant_triple,
    iri_text,
    text_triple,
    triple,
    triple_if,
)
from hydrograph_gauge.worlds.world import ElementLine

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ALBUM_TRIPLES, _PHOTO_TRIPLES = 4, 9


def make_albums(people: People, users: DataFrame) -> DataFrame:
    """Return the albums: `album`, `author`, `home` (the author's country), `country`, `created`, `friends`."""
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, u = people.settings, people.draws, F.col("u")
    drawn = F.floor(draws.uniform("albums").column(u) * asked.max_albums * people.weeks(F.col("created")))
    counted = users.withColumn("albums", drawn).where(F.col("albums") > 0)
    each = counted.select("*", F.explode(F.sequence(F.lit(0), F.col("albums") - 1)).alias("i"))
    numbered = each.withColumn("album", u * IDS_PER_OWNER + F.col("i") + 1)
    album = F.col("album")
    left = F.lit(asked.last) - F.col("created")
    delay = F.floor(draws.uniform("album created").column(album) * left / 1000) * 1000
    return numbered.select(
        "album",
        F.col("u").alias("author"),
        F.col("country").alias("home"),
        draws.below("album country", len(people.known.countries)).column(album).alias("country"),
        (F.col("created") + delay).alias("created"),
        "friends",
    )


def make_photos(people: People, albums: DataFrame) -> DataFrame:
    """Return the photos: `id`, `album`, `author`, `home`, `place`, `created`, `friends` of the author."""
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, album = people.settings, people.draws, F.col("album")
    counted = albums.withColumn("photos", draws.below("photos", asked.max_photos).column(album))
    each = counted.where(F.col("photos") > 0).select(
        "*", F.explode(F.sequence(F.lit(0), F.col("photos") - 1)).alias("i")
    )
    numbered = each.withColumn("id", album * asked.max_photos + F.col("i") + 1)
    key, author = F.col("id"), F.col("author")
    favourites = draws.below("favourite places", asked.max_places).column(author)
    which = F.floor(draws.uniform("favourite").column(key) * favourites)
    favourite = people.place(F.col("home"), draws.uniform("favourite place").column(author, which))
    there = (favourites > 0) & draws.chance("at favourite place", asked.place_probability).column(key)
    elsewhere = people.place(F.col("country"), draws.uniform("place of photo").column(key))
    made = numbered.select(
        "id",
        "album",
        "author",
        "home",
        F.when(there, favourite).otherwise(elsewhere).cast("int").alias("place"),
        (F.col("created") + F.col("i") * 1000).alias("created"),
        "friends",
    )
    return made if asked.faithful else made.where(F.col("created") < asked.last)


def photo_stream(people: People, albums: DataFrame, photos: DataFrame) -> StreamSource:
    """Return the stream of albums and photos."""
    from pyspark.sql import functions as F  # noqa: N812

    no_users = F.array().cast("array<bigint>")
    galleries = albums.select(
        F.lit(0).alias("kind"), F.col("album").alias("id"), "author", "home", "country", "album", "created",
        no_users.alias("tagged"),
    )  # fmt: skip
    pictures = add_tags(people, photos).select(
        F.lit(1).alias("kind"), "id", "author", "home", F.col("place").cast("bigint").alias("country"), "album",
        "created", "tagged",
    )  # fmt: skip
    agent = people.has_agent(F.col("author"), F.col("id"), "photo").cast("int")
    n = F.when(F.col("kind") == 0, _ALBUM_TRIPLES).otherwise(_PHOTO_TRIPLES + agent + F.size("tagged"))
    predicates = (
        TYPE, f"{DCTERMS}title", f"{DBPO}location", f"{DBPPROP}latd", f"{DBPPROP}longd", f"{SIB}agent",
        f"{SIB}browser", f"{SIOC}ip_address", f"{DC}created", f"{SIOC}container_of", f"{SIOC}creator_of",
        f"{SIB}usertag",
    )  # fmt: skip
    return StreamSource(
        name="photos",
        elements=galleries.unionByName(pictures).withColumn("n", n.cast("bigint")),
        order=("kind", "id"),
        triples=lambda rows: rows,
        listed=lambda: _photo_triples(people),
        lines=(ElementLine(f"<{TYPE}>", f"<{SIB}"), *(ElementLine(f"<{predicate}>") for predicate in predicates)),
    )


def add_tags(people: People, photos: DataFrame) -> DataFrame:
    """Return `photos` with `tagged`: a run of the friends whom the author met by region or interest, if any do so."""
    from pyspark.sql import functions as F  # noqa: N812

    correlated = people.meets(0) or people.meets(1)
    near = F.filter("friends", lambda friend: friend["made"] < 2) if correlated else F.col("friends")
    audience = photos.withColumn("audience", near)
    return audience.withColumn("tagged", draw_run(people, "user tags", people.settings.max_user_tags)).drop("audience")


def photo_tag_stream(people: People, photos: DataFrame) -> StreamSource:
    """Return the stream of user tags alone."""
    from pyspark.sql import functions as F  # noqa: N812

    elements = add_tags(people, photos).select("id", "created", "tagged", F.size("tagged").cast("bigint").alias("n"))
    return StreamSource(
        name="photo_tags",
        elements=elements.where(F.col("n") > 0),
        order=("id",),
        triples=lambda rows: rows,
        listed=lambda: _user_tags(),
    )


def _user_tags() -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    photo = iri_text("photo", F.col("id"))
    return F.transform("tagged", lambda user: triple(photo, f"{SIB}usertag", iri_text("user", user)))


def _photo_triples(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    faithful = people.settings.faithful
    key, author, t, place = F.col("id"), F.col("author"), F.col("created"), F.col("country")
    is_photo = F.col("kind") == 1
    photo, album = iri_text("photo", key), iri_text("album", F.col("album"))
    latitude, longitude = people.position(place)
    title = F.concat(F.lit("Album "), people.country_name(F.col("country")))
    gallery = [
        triple(album, TYPE, F.lit(f"<{SIOCT}ImageGallery>")),
        text_triple(album, f"{DCTERMS}title", title),
        instant_triple(album, f"{DC}created", t, faithful=faithful),
        triple(iri_text("user", author), f"{SIOC}creator_of", album),
    ]
    picture = [
        triple(photo, TYPE, F.lit(f"<{SIB}Photo>")),
        triple(photo, TYPE, F.lit(f"<{SIOC}Item>")),
        text_triple(photo, f"{DBPO}location", people.place_name(place)),
        degrees_triple(photo, f"{DBPPROP}latd", latitude),
        degrees_triple(photo, f"{DBPPROP}longd", longitude),
        triple_if(people.has_agent(author, key, "photo"), text_triple(photo, f"{SIB}agent", people.agent(author))),
        text_triple(photo, f"{SIB}browser", people.used_browser(author, key, "photo")),
        text_triple(photo, f"{SIOC}ip_address", people.used_address(author, F.col("home"), key, t, "photo")),
        instant_triple(photo, f"{DC}created", t, faithful=faithful),
        triple(album, f"{SIOC}container_of", photo),
    ]
    return F.when(is_photo, F.concat(collect_triples(picture), _user_tags())).otherwise(F.array(*gallery))
