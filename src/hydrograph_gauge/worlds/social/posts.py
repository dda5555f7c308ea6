"""Posts, comments on them, and likes: what users write about their region and interests, and groups about theirs."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from hydrograph.rdf.xsd import Kind
from hydrograph_gauge.worlds.social.dictionaries import ARTICLES, dictionaries, title_length
from hydrograph_gauge.worlds.social.event_time import StreamSource
from hydrograph_gauge.worlds.social.people import People
from hydrograph_gauge.worlds.social.settings import DAY, IDS_PER_OWNER
from hydrograph_gauge.worlds.social.static import number_group_forums
from hydrograph_gauge.worlds.social.triples import (
    DC,
    DCTERMS,
    SIB,
    SIOC,
    TYPE,
    collect_triples,
    instant_triple,
    iri_text,
    text_triple,
    triple,
    triple_if,
)
from hydrograph_gauge.worlds.spark import constant_numbers
from hydrograph_gauge.worlds.world import ElementLine

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_AUDIENCE = "array<struct<friend:bigint,since:bigint>>"
_SLOWEST = 17
"""A like comes 2**k s to 2**(k + 1) s after its object, for any k below this equally often."""


def make_posts(people: People, users: DataFrame, groups: DataFrame) -> DataFrame:
    """Return all posts: `id`, `author`, `country` of the author, `forum`, `article`, `grouped`, `created`, `audience`.

    The audience are those who may comment and like, with the instant since when: friends who share the region or the
    interest the post is about, or the members of the group.
    """
    columns = ("id", "author", "country", "forum", "article", "grouped", "created", "audience")
    return _own_posts(people, users).select(*columns).unionByName(_group_posts(people, groups).select(*columns))


def _own_posts(people: People, users: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, u = people.settings, people.draws, F.col("u")

    def count(most: int, purpose: str) -> Column:
        drawn = F.floor(draws.uniform(purpose).column(u) * most * people.weeks(F.col("created")))
        return F.floor(drawn * F.col("degree") / F.lit(asked.friends_per_share))

    counted = users.select(
        "u",
        "country",
        F.col("created").alias("joined"),
        "interests",
        *(_circle(people, made).alias(f"circle{made}") for made in (0, 1)),
        count(asked.max_location_posts, "location posts").alias("regional"),
        count(asked.max_interest_posts, "interest posts").alias("interested"),
    )
    total = F.col("regional") + F.col("interested")
    each = counted.where(total > 0).select("*", F.explode(F.sequence(F.lit(0), total - 1)).alias("i"))
    ids = each.withColumn("id", F.col("u") * IDS_PER_OWNER + F.col("i"))
    key, regional = F.col("id"), F.col("i") < F.col("regional")
    which = F.floor(draws.uniform("interest of post").column(key) * F.size("interests")).cast("int")
    topic = F.when(regional, F.col("country")).otherwise(len(people.known.countries) + F.get("interests", which))
    left = F.lit(asked.last) - F.col("joined")
    delay = F.floor(draws.uniform("post created").column(key) * left / 1000) * 1000
    return ids.select(
        "id",
        F.col("u").alias("author"),
        "country",
        (F.col("u") * 2).alias("forum"),
        (topic * ARTICLES + draws.below("article", ARTICLES).column(key)).cast("int").alias("article"),
        F.lit(False).alias("grouped"),  # noqa: FBT003
        (F.col("joined") + delay).alias("created"),
        F.when(regional, F.col("circle0")).otherwise(F.col("circle1")).alias("audience"),
    )


def _circle(people: People, made: int) -> Column:
    """Return the friends met in one pass; all friends if the settings let no friends meet in it."""
    from pyspark.sql import functions as F  # noqa: N812

    met = F.filter("friends", lambda friend: friend["made"] == made) if people.meets(made) else F.col("friends")
    return F.transform(met, lambda friend: F.struct(friend["friend"].alias("friend"), friend["since"].alias("since")))


def _group_posts(people: People, groups: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, g = people.settings, people.draws, F.col("g")
    drawn = F.floor(draws.uniform("group posts").column(g) * asked.max_group_posts * people.weeks(F.col("created")))
    counted = groups.withColumn("posts", F.floor(drawn * F.size("members") / 100)).where(F.col("posts") > 0)
    each = counted.select("*", F.explode(F.sequence(F.lit(0), F.col("posts") - 1)).alias("i"))
    ids = each.withColumn("id", (g + asked.users) * IDS_PER_OWNER + F.col("i"))
    key = F.col("id")
    author = F.get("members", F.floor(draws.uniform("group author").column(key) * F.size("members")).cast("int"))
    liked = draws.chance("group post about interest", asked.group_interest_probability).column(key)
    topic = F.when(liked, len(people.known.countries) + F.col("interest")).otherwise(F.col("country"))
    since = F.greatest(F.col("created"), author["since"])
    left = F.greatest(F.lit(0), F.lit(asked.last) - since)
    delay = F.floor(draws.uniform("post created").column(key) * left / 1000) * 1000
    members = F.transform(
        "members", lambda member: F.struct(member["friend"].alias("friend"), member["since"].alias("since"))
    )
    return ids.select(
        "id",
        author["friend"].alias("author"),
        people.country(author["friend"]).alias("country"),
        number_group_forums(people, g)[0].alias("forum"),
        (topic * ARTICLES + draws.below("article", ARTICLES).column(key)).cast("int").alias("article"),
        F.lit(True).alias("grouped"),  # noqa: FBT003
        (since + delay).alias("created"),
        members.cast(_AUDIENCE).alias("audience"),
    )


def make_comments(people: People, posts: DataFrame) -> DataFrame:
    """Return the comments: `id`, `post`, `reply` (0 the post, k its comment k - 1), `author`, `created`, `article`.

    A user who became a friend after the post does not comment. In the original a comment follows the one before it
    within a day, also beyond the end of the period; by default comments come 1 s to 36 h after the post, within it.
    """
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, key = people.settings, people.draws, F.col("id")
    attempts = people.attempted_comments(key)

    def attempt(i: Column) -> Column:
        which = F.floor(draws.uniform("commenter").column(key, i) * F.size("audience")).cast("int")
        if asked.faithful:
            delay = F.floor(people.power("comment delay", key, i) * (DAY // 1000)) * 1000
        else:
            delay = _delay(people, "comment", F.col("created"), key, i)
        return F.struct(F.get("audience", which).alias("who"), delay.alias("delay"))

    tried = posts.withColumn("attempts", attempts).where((F.col("attempts") > 0) & (F.size("audience") > 0))
    made = F.transform(F.sequence(F.lit(0), F.col("attempts") - 1), attempt)
    known = tried.withColumn("thread", F.filter(made, lambda one: one["who"]["since"] <= F.col("created")))
    rows = known.select("id", "article", "created", "thread", F.posexplode("thread").alias("at", "one"))
    numbered = rows.withColumn("comment", key * asked.thread_size + F.col("at"))
    this = F.col("comment")
    if asked.faithful:
        earlier = F.slice("thread", F.lit(1), F.col("at") + 1)
        passed = F.aggregate(earlier, F.lit(0).cast("bigint"), lambda total, one: total + one["delay"])
    else:
        passed = F.get(F.array_sort(F.transform("thread", lambda one: one["delay"])), F.col("at"))
    return numbered.select(
        this.alias("id"),
        key.alias("post"),
        F.floor(draws.uniform("reply").column(this) * (F.col("at") + 1)).alias("reply"),
        F.col("one")["who"]["friend"].alias("author"),
        (F.col("created") + passed).alias("created"),
        "article",
    )


def post_stream(spark: SparkSession, people: People, posts: DataFrame) -> StreamSource:
    """Return the stream of posts and comments."""
    from pyspark.sql import functions as F  # noqa: N812

    own = posts.select(
        F.lit(0).alias("kind"), "id", "author", "country", F.col("forum").alias("parent"), F.lit(0).cast("bigint")
        .alias("reply"), "article", "grouped", "created"
    )  # fmt: skip
    replies = make_comments(people, posts).select(
        F.lit(1).alias("kind"), "id", "author", people.country(F.col("author")).alias("country"),
        F.col("post").alias("parent"), "reply", "article", F.lit(False).alias("grouped"), "created",  # noqa: FBT003
    )  # fmt: skip
    agent = people.has_agent(F.col("author"), F.col("id") * 2 + F.col("kind"), "post").cast("int")
    most = F.when(F.col("kind") == 0, 7 + _tag_count(F.col("article"))).otherwise(7) + F.when(
        F.col("grouped"), 0
    ).otherwise(2)
    elements = own.unionByName(replies).withColumn("n", (most + agent).cast("bigint"))
    predicates = (
        TYPE, f"{DCTERMS}title", f"{DC}created", f"{SIOC}reply_of", f"{SIB}agent", f"{SIB}browser",
        f"{SIOC}ip_address", f"{SIOC}content", f"{SIOC}container_of", f"{SIOC}creator_of", f"{SIB}hashtag",
    )  # fmt: skip
    return StreamSource(
        name="posts",
        elements=elements,
        order=("kind", "id"),
        triples=lambda rows: rows.join(F.broadcast(_article_table(spark)), "article"),
        listed=lambda: _post_triples(people),
        lines=(ElementLine(f"<{TYPE}>", f"<{SIB}"), *(ElementLine(f"<{predicate}>") for predicate in predicates)),
    )


def _post_triples(people: People) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    asked = people.settings
    key, author, t = F.col("id"), F.col("author"), F.col("created")
    is_post = F.col("kind") == 0
    both = key * 2 + F.col("kind")
    this = F.when(is_post, iri_text("post", key)).otherwise(iri_text("comment", key))
    earlier = F.col("parent") * asked.thread_size + F.col("reply") - 1
    replied = F.when(F.col("reply") == 0, iri_text("post", F.col("parent"))).otherwise(iri_text("comment", earlier))
    container = F.when(is_post, iri_text("forum", F.col("parent"))).otherwise(iri_text("post", F.col("parent")))
    first = F.when(is_post, F.lit(f"<{SIB}Post>")).otherwise(F.lit(f"<{SIB}Comment>"))
    second = F.when(is_post, F.lit(f"<{SIOC}Post>")).otherwise(F.lit(f"<{SIOC}Item>"))
    # The original never sets a title, and Java prints what is not set as "null".
    title = F.lit("null") if asked.faithful else F.concat_ws(" ", "tags")
    address = people.used_address(author, F.col("country"), both, t, "post")
    items = [
        triple(this, TYPE, first),
        triple(this, TYPE, second),
        triple_if(is_post, text_triple(this, f"{DCTERMS}title", title)),
        instant_triple(this, f"{DC}created", t, faithful=asked.faithful),
        triple_if(~is_post, triple(this, f"{SIOC}reply_of", replied)),
        triple_if(people.has_agent(author, both, "post"), text_triple(this, f"{SIB}agent", people.agent(author))),
        triple_if(~F.col("grouped"), text_triple(this, f"{SIB}browser", people.used_browser(author, both, "post"))),
        triple_if(~F.col("grouped"), text_triple(this, f"{SIOC}ip_address", address)),
        text_triple(this, f"{SIOC}content", F.substring(F.col("text"), F.lit(1), _length(people, both, is_post))),
        triple(container, f"{SIOC}container_of", this),
        triple(iri_text("user", author), f"{SIOC}creator_of", this),
    ]
    tags = F.transform("tags", lambda tag: text_triple(this, f"{SIB}hashtag", tag))
    return F.concat(collect_triples(items), F.when(is_post, tags).otherwise(F.slice(tags, 1, 0)))


def _length(people: People, key: Column, is_post: Column) -> Column:
    """Return the characters of a text: most texts are shorter than half the most."""
    from pyspark.sql import functions as F  # noqa: N812

    asked = people.settings
    low = F.when(is_post, asked.min_text).otherwise(asked.min_comment)
    most = F.when(is_post, asked.max_text).otherwise(asked.max_comment)
    half = F.greatest(low, F.floor(most / 2))
    short = people.draws.chance("short text", asked.short_text_probability).column(key)
    draw = people.draws.uniform("length of text").column(key)
    return F.when(short, low + F.floor(draw * (half - low))).otherwise(half + F.floor(draw * (most - half))).cast("int")


def _tag_count(article: Column) -> Column:
    """Return how many words the title of an article has."""
    from pyspark.sql import functions as F  # noqa: N812

    return title_length().column(F.floor(article / ARTICLES), article % ARTICLES) + 1


@lru_cache(1)
def _articles() -> pa.Table:
    articles = dictionaries().articles
    return pa.table(
        {
            "article": pa.array(range(len(articles)), pa.int32()),
            "tags": [list(article.tags) for article in articles],
            "text": [article.text for article in articles],
        }
    )


def _article_table(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(_articles())


def tag_stream(spark: SparkSession, posts: DataFrame) -> StreamSource:
    """Return the stream of hashtags alone."""
    from pyspark.sql import functions as F  # noqa: N812

    return StreamSource(
        name="tags",
        elements=posts.select("id", "article", "created", _tag_count(F.col("article")).alias("n")),
        order=("id",),
        triples=lambda rows: rows.join(F.broadcast(_article_table(spark)), "article"),
        listed=lambda: F.transform(
            "tags", lambda tag: text_triple(iri_text("post", F.col("id")), f"{SIB}hashtag", tag)
        ),
    )


def like_stream(people: People, what: str, objects: DataFrame, copies: int) -> StreamSource:
    """Return the likes of posts or photos, `objects` with `id`, `created` and `audience`: one element each.

    Those who like are neighbours in the audience. The original writes all likes of an object when the object appears,
    several times; by default each is written once, sooner or later after the object, before the period is over.
    """
    from pyspark.sql import functions as F  # noqa: N812

    faithful, key = people.settings.faithful, F.col("id")
    fans = draw_run(people, f"{what} likes", people.settings.max_likes)
    rows = objects.select("id", "created", fans.alias("fans")).where(F.size("fans") > 0)
    if faithful:
        written = rows.select(
            "*", F.size("fans").alias("likes"), F.explode(F.sequence(F.lit(0), F.lit(copies - 1))).alias("copy")
        )
    else:
        written = rows.select("*", F.size("fans").alias("likes"), F.lit(0).alias("copy"))
    likes = written.select("id", "created", "likes", "copy", F.posexplode("fans").alias("at", "fan"))
    if not faithful:
        delay = _delay(people, f"{what} like", F.col("created"), key, F.col("fan"))
        likes = likes.withColumn("created", F.col("created") + delay)

    def again() -> Column:
        return F.when(F.col("copy") < copies - 1, F.col("likes"))

    return StreamSource(
        name=f"{what}_likes",
        elements=likes.withColumn("n", F.lit(1).cast("bigint")),
        order=("id", "copy", "at"),
        triples=lambda rows: rows,
        listed=lambda: F.array(
            triple(iri_text("user", F.col("fan")), f"{SIB}like", iri_text(what, F.col("id")), Kind.IRI)
        ),
        again=again if faithful and copies > 1 else None,
    )


def _delay(people: People, what: str, since: Column, *keys: Column) -> Column:
    """Return how long after `since` something follows, in ms: of any order of magnitude equally often.

    What would come after the end of the period comes at any time before it instead, so that nothing is lost.
    """
    from pyspark.sql import functions as F  # noqa: N812

    draws = people.draws
    step = draws.below(f"{what} delay", _SLOWEST).column(*keys)
    scale = F.get(constant_numbers([2**power for power in range(_SLOWEST)], "bigint"), step.cast("int"))
    drawn = F.floor((draws.uniform(f"{what} delay, part").column(*keys) + 1) * scale * 1000)
    left = F.lit(people.settings.last) - since
    return F.when(drawn < left, drawn).otherwise(F.floor(draws.uniform(f"{what} delay, cut").column(*keys) * left))


def draw_run(people: People, purpose: str, most: int) -> Column:
    """Return a run of neighbours in the `audience`, fewer than `most`: the numbers of the users."""
    from pyspark.sql import functions as F  # noqa: N812

    key, size = F.col("id"), F.size("audience")
    length = F.least(people.draws.below(purpose, most).column(key), size.cast("bigint"))
    start = F.floor(people.draws.uniform(f"{purpose}, first").column(key) * (size - length + 1))
    run = F.slice("audience", (start + 1).cast("int"), length.cast("int"))
    return F.transform(run, lambda friend: friend["friend"])
