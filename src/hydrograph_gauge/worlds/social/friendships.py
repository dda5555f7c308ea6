"""Friendships by correlated passes: users sorted by a common trait, and a window that slides over them.

In each pass every user of the leading cell is offered the users after it in the window, nearest first. Two of them
become friends with a probability that falls with the distance of their values, as long as both still want friends in
this pass. The friends of a user depend on the users before it, so a pass is sequential. Blocks of users are separate
passes, which bounds the memory of a task and lets blocks run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hydrograph.rdf.encoding import term_id
from hydrograph_gauge.worlds.hashing import chain_hash, hash_long_arrays
from hydrograph_gauge.worlds.social.people import People
from hydrograph_gauge.worlds.social.settings import DAY, PASSES
from hydrograph_gauge.worlds.spark import constant_numbers, task_count

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession


Longs: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"

_USERS_PER_TASK = 5_000
_REQUEST_DAYS, _ANSWER_DAYS, _REAPPROVE_DAYS = 30, 7, 30


@dataclass(frozen=True, slots=True)
class FriendshipPass:
    """Parameters of one pass: the window, and the probability of friendship by distance."""

    cell: int
    cells: int
    probability: float
    decay: float
    base: int
    """The base of the draws of this pass."""


def befriend(
    pass_: FriendshipPass, ids: Longs, values: Longs, wanted: Longs, friends: Sequence[Longs]
) -> tuple[Longs, Longs]:
    """Return the pairs that become friends in one pass over users in order of `values`.

    `wanted` is the number of further friends that each user takes in this pass, `friends` are its friends so far.
    """
    remaining = wanted.copy()
    pairs: list[tuple[int, Longs]] = []
    seeds = hash_long_arrays(pass_.base, ids).view(np.uint64)
    likely = pass_.probability * pass_.decay ** np.arange(_spread(values) + 1)
    # Compared as whole numbers of 53 bits, which is what a draw from [0, 1) is.
    bounds = np.ceil(likely * 2.0**53).astype(np.uint64)
    for i in range(len(ids)):
        if remaining[i] <= 0:
            continue
        end = (i // pass_.cell + pass_.cells) * pass_.cell
        open_ = np.flatnonzero(remaining[i + 1 : end] > 0) + (i + 1)
        draws = chain_hash(seeds[i : i + 1], ids[open_]) >> np.uint64(11)
        partners = open_[draws < bounds[values[open_] - values[i]]]
        if len(friends[i]) and len(partners):
            partners = partners[~np.isin(ids[partners], friends[i])]
        partners = partners[: remaining[i]]
        remaining[partners] -= 1
        remaining[i] -= len(partners)
        pairs.append((i, partners))
    left = np.repeat(ids[[i for i, _ in pairs]], [len(partners) for _, partners in pairs])
    right = ids[np.concatenate([partners for _, partners in pairs])] if pairs else ids[:0]
    return left, right


def _spread(values: Longs) -> int:
    return int(values[-1] - values[0]) if len(values) else 0


@dataclass(frozen=True, slots=True)
class Friendships:
    """Users with their friends."""

    friendships: DataFrame
    """`a` < `b`, and `made`: the number of the pass in which they met."""
    users: DataFrame
    """`u`, `country`, `created`, `interests`, `degree` (friendships), `friends`: accepted, with `made` and `since`."""


def make_friendships(spark: SparkSession, people: People) -> Friendships:
    """Return the users and their friendships."""
    from pyspark.sql import functions as F  # noqa: N812

    passes: list[DataFrame] = []
    for number in range(len(PASSES)):
        # A plan that held the plans of all passes before it would be analysed again at every step.
        passes.append(_pass(spark, people, passes, number).localCheckpoint())
    pairs = _together(passes)
    dated = add_dates(pairs, people)
    sides = [
        dated.select(F.col(one).alias("u"), F.col(other).alias("friend"), "made", "since")
        for one, other in (("a", "b"), ("b", "a"))
    ]
    friend = F.when(F.col("since").isNotNull(), F.struct("friend", "made", "since"))
    circle = (
        sides[0]
        .unionByName(sides[1])
        .repartition(_tasks(people), "u")
        .groupBy("u")
        .agg(F.count("*").cast("int").alias("degree"), F.sort_array(F.collect_list(friend)).alias("friends"))
    )
    no_friends = F.array().cast("array<struct<friend:bigint,made:int,since:bigint>>")
    everybody = spark.range(0, people.settings.users, 1, _tasks(people)).withColumnRenamed("id", "u")
    users = (
        everybody.join(circle, "u", "left")
        .select(
            "u",
            people.country(F.col("u")).alias("country"),
            people.created(F.col("u")).alias("created"),
            people.interests(F.col("u"), people.country(F.col("u"))).alias("interests"),
            F.coalesce("degree", F.lit(0)).alias("degree"),
            F.coalesce("friends", no_friends).alias("friends"),
        )
        .localCheckpoint()
    )
    return Friendships(pairs, users)


def add_dates(pairs: DataFrame, people: People) -> DataFrame:
    """Return `pairs` with the instants `requested`, `answered`, `reapproved`, `declined`, and `since` if accepted."""
    from pyspark.sql import functions as F  # noqa: N812

    a, b = F.col("a"), F.col("b")
    asked = people.settings

    def within(purpose: str, days: int) -> Column:
        return people.draws.below(purpose, days * DAY // 1000).column(a, b) * 1000

    joined = F.greatest(people.created(a), people.created(b))
    requested = pairs.withColumn("requested", joined + within("friend requested", _REQUEST_DAYS))
    declined = people.draws.chance("friend declined", asked.reject_probability).column(a, b)
    again = people.draws.chance("friend reapproved", asked.reapprove_probability).column(a, b)
    answered = requested.withColumn("answered", F.col("requested") + within("friend answered", _ANSWER_DAYS))
    decided = answered.withColumn("declined", declined)
    later = F.col("answered") + within("friend reapproved after", _REAPPROVE_DAYS)
    reapproved = decided.withColumn("reapproved", F.when(F.col("declined") & again, later))
    since = F.when(F.col("declined"), F.col("reapproved")).otherwise(F.col("answered"))
    return reapproved.withColumn("since", since)


def _pass(spark: SparkSession, people: People, earlier: list[DataFrame], number: int) -> DataFrame:
    """Return the friendships of one pass: `a`, `b`, `made`."""
    from pyspark.sql import functions as F  # noqa: N812

    asked, draws = people.settings, people.draws
    u = F.col("u")
    everybody = spark.range(0, asked.users, 1, _tasks(people)).withColumnRenamed("id", "u")
    users = everybody.select(
        "u",
        _value(people, u, number).cast("bigint").alias("value"),
        draws.uniform(f"order, {PASSES[number]}").column(u).alias("tie"),
        F.floor(people.wanted(u) * asked.quotas[number]).alias("wanted"),
    )
    counted = {row["value"]: row["count"] for row in users.groupBy("value").count().collect()}
    block = _block(F.col("value"), F.col("tie"), counted, people)
    if earlier:
        pairs = _together(earlier)
        sides = [pairs.select(F.col(one).alias("u"), F.col(other).alias("f")) for one, other in ("ab", "ba")]
        friends = sides[0].unionByName(sides[1]).repartition(_tasks(people), "u").groupBy("u")
        users = users.join(friends.agg(F.sort_array(F.collect_list("f")).alias("friends")), "u", "left")
    else:
        users = users.withColumn("friends", F.lit(None).cast("array<bigint>"))
    slide = FriendshipPass(
        asked.cell_size,
        asked.cells_per_window,
        asked.random_friend_probability if PASSES[number] == "random" else asked.friend_probability,
        asked.random_decay if PASSES[number] == "random" else asked.friend_decay,
        term_id(f"{draws.seed} friends, {PASSES[number]}"),
    )
    found = (
        users.withColumn("block", block)
        .repartition(_blocks(people), "block")
        .groupBy("block")
        .applyInArrow(_befriended(slide), "x bigint, y bigint")
    )
    return found.select(F.least("x", "y").alias("a"), F.greatest("x", "y").alias("b"), F.lit(number).alias("made"))


def _befriended(slide: FriendshipPass) -> Callable[[pa.Table], pa.Table]:
    """Return the pass over one block as a function of Arrow tables; Spark hands the rows over in any order."""

    def befriended(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        ids, values = table["u"].to_numpy(), table["value"].to_numpy()
        order = np.lexsort((ids, table["tie"].to_numpy(), values))
        lists = table["friends"].combine_chunks()
        flat, nothing = lists.flatten().to_numpy(), np.array([], dtype=np.int64)
        sizes = np.asarray(lists.value_lengths().fill_null(0))
        ends = np.cumsum(sizes)
        friends = [flat[ends[at] - sizes[at] : ends[at]] if sizes[at] else nothing for at in order]
        wanted = np.maximum(table["wanted"].to_numpy() - sizes, 0)
        x, y = befriend(slide, ids[order], values[order], wanted[order], friends)
        return pa.table({"x": pa.array(x, pa.int64()), "y": pa.array(y, pa.int64())})

    return befriended


def _value(people: People, u: Column, number: int) -> Column:
    """Return what users have more or less in common: near countries, the first interest, or a random number."""
    from pyspark.sql import functions as F  # noqa: N812

    match PASSES[number]:
        case "location":
            ranks = constant_numbers([country.z for country in people.known.countries], "int")
            return F.get(ranks, people.country(u))
        case "interest":
            return people.interest(u, people.country(u), 0)
        case _:
            return people.draws.below("random value", people.settings.random_values).column(u)


def _block(value: Column, tie: Column, counted: dict[int, int], people: People) -> Column:
    """Return the block of a user: its place in the order of values, as far as it is known without sorting."""
    from pyspark.sql import functions as F  # noqa: N812

    counts = [counted.get(at, 0) for at in range(max(counted) + 1)]
    before = [0, *accumulate(counts)][:-1]
    at = value.cast("int")
    place = F.get(constant_numbers(before, "bigint"), at) + tie * F.get(constant_numbers(counts, "bigint"), at)
    return F.floor(place * _blocks(people) / people.settings.users)


def _blocks(people: People) -> int:
    return max(1, round(people.settings.users / people.settings.block_users))


def _tasks(people: People) -> int:
    return task_count(people.settings.users, _USERS_PER_TASK)


def _together(frames: list[DataFrame]) -> DataFrame:
    first, *others = frames
    for other in others:
        first = first.unionByName(other)
    return first
