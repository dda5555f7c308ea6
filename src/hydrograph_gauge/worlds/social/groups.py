"""Groups: each has a founder, a country and an interest, and is joined by friends, their friends, and strangers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.social.people import People

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ASKED_PER_MEMBER = 8
"""People asked for each member a group would like; most decline or are members already."""


def make_groups(people: People, users: DataFrame) -> DataFrame:
    """Return the groups: `g`, `moderator`, `country`, `interest`, `created`, and `members` by `friend` with `since`.

    A group is founded within one period's length of its moderator's arrival, and does not exist if that is too late.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    founded = _founded(people, users).localCheckpoint()
    asked = _asked(people, founded, users)
    first = asked.groupBy("g", "friend").agg(F.min("i").alias("i"))
    place = F.row_number().over(Window.partitionBy("g").orderBy("i"))
    ranked = first.withColumn("place", place)
    joined = ranked.join(founded.select("g", "target", F.col("created").alias("founded")), "g")
    friend = F.col("friend")
    both = F.greatest("founded", people.created(friend))
    left = F.greatest(F.lit(0), F.lit(people.settings.last) - both)
    delay = F.floor(people.draws.uniform("member added").column(F.col("g"), friend) * left / 1000) * 1000
    member = F.struct("place", "friend", (both + delay).alias("since"))
    members = (
        joined.where(F.col("place") <= F.col("target"))
        .groupBy("g")
        .agg(F.sort_array(F.collect_list(member)).alias("members"))
    )
    no_members = F.array().cast("array<struct<place:int,friend:bigint,since:bigint>>")
    groups = founded.join(members, "g", "left").select(
        "g", "moderator", "country", "interest", "created", F.coalesce("members", no_members).alias("members")
    )
    return groups.localCheckpoint()


def _founded(people: People, users: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws, u = people.settings, people.draws, F.col("u")
    founders = users.where(draws.chance("moderator", asked.moderator_probability).column(u))
    count = draws.below("groups", asked.max_groups).column(u)
    each = founders.withColumn("groups", count).where(F.col("groups") > 0)
    numbered = each.select(
        "u",
        "country",
        F.col("created").alias("joined"),
        "friends",
        "interests",
        F.explode(F.sequence(F.lit(0), F.col("groups") - 1)).alias("k"),
    ).withColumn("g", F.col("u") * asked.max_groups + F.col("k"))
    g = F.col("g")
    seconds = (asked.last - asked.first) // 1000
    about = F.floor(draws.uniform("group interest").column(g) * F.size("interests")).cast("int")
    return numbered.select(
        "g",
        F.col("u").alias("moderator"),
        "country",
        F.get("interests", about).alias("interest"),
        (F.col("joined") + draws.below("group created", seconds).column(g) * 1000).alias("created"),
        draws.below("members", asked.max_members).column(g).alias("target"),
        "friends",
    ).where(F.col("created") < F.lit(asked.last))


def _asked(people: People, founded: DataFrame, users: DataFrame) -> DataFrame:
    """Return who is asked to join and does, in turns: `g`, `i`, `friend`."""
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws = people.settings, people.draws
    g, i = F.col("g"), F.col("i")
    turns = founded.where(F.col("target") > 0).select(
        "g", "moderator", "friends", F.explode(F.sequence(F.lit(0), F.col("target") * _ASKED_PER_MEMBER - 1)).alias("i")
    )
    first, second, _ = asked.member_levels
    draw = draws.uniform("member level").column(g, i)
    level = F.when(draw < first, F.lit(0)).when(draw < second, F.lit(1)).otherwise(F.lit(2))
    known = F.get("friends", F.floor(draws.uniform("member friend").column(g, i) * F.size("friends")).cast("int"))
    met = turns.select("g", "moderator", "i", level.alias("level"), known["friend"].alias("friend"))
    likely = F.get(F.array(*(F.lit(chance) for chance in asked.join_probabilities)), F.col("level"))
    joins = met.where(draws.uniform("member joins").column(g, i) < likely)
    stranger = draws.below("member stranger", asked.users).column(g, i)
    direct = joins.where(F.col("level") != 1).withColumn(
        "friend", F.when(F.col("level") == 2, stranger).otherwise(F.col("friend"))
    )
    theirs = users.select(F.col("u").alias("friend"), F.col("friends").alias("circle"))
    which = F.floor(draws.uniform("member friend of friend").column(g, i) * F.size("circle")).cast("int")
    through = joins.where(F.col("level") == 1).join(theirs, "friend")
    indirect = through.withColumn("friend", F.get("circle", which)["friend"])
    columns = ("g", "moderator", "i", "friend")
    everybody = direct.select(*columns).unionByName(indirect.select(*columns))
    return everybody.where(F.col("friend") != F.col("moderator")).select("g", "i", "friend")
