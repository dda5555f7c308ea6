"""What must hold of the social network: its figures, its indifference to partitions, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.hashing import NumberArray
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.social.event_time import plan_stream
from hydrograph_gauge.worlds.social.people import People, first_users_by_country
from hydrograph_gauge.worlds.social.settings import SocialSettings
from hydrograph_gauge.worlds.social.triples import DBPO, DC, DCTERMS, FOAF, NAMES, SIB, SIOC
from hydrograph_gauge.worlds.social.world import WORLD, make_sources
from tests.support.world_checks.checks import (
    Check,
    PublishedFigure,
    compare_figure,
    cost_of_size,
    same_at_any_partition_count,
)
from tests.support.world_checks.tails import fit_tail, goodness, top_share

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


STATIC_TRIPLES = 102_356
DEGREE = 19.2
PAPER_STATIC, PAPER_POSTS, PAPER_HASHTAGS = 219_825, 102_955, 28_021
PAPER_RATES = 100, 1_000
ORIGINAL = "one run of the released generator (cqels/LSBench), 1,000 users"
POWER_LAW = "S3G2 and LDBC: power-law structure; no exponent published, 3 chosen"
TAIL_TOLERANCE = 0.4
LIKELY = 0.1

STATIC_COMPOSITION: Mapping[str, int] = {
    f"{SIB}memb": 19_336,
    f"{FOAF}knows": 19_168,
    f"{SIB}initiator": 9_668,
    f"{SIB}requested": 9_668,
    f"{SIB}approved": 9_493,
    f"{SIB}interest": 3_551,
    f"{SIOC}moderator_of": 2_078,
    f"{SIOC}subscriber_of": 2_078,
    f"{FOAF}based_near": 2_000,
    f"{SIOC}has_member": 1_901,
    f"{SIB}member_of_membership": 1_901,
    f"{SIB}group_of_membership": 1_901,
    f"{SIB}added": 1_901,
    f"{FOAF}firstName": 1_000,
    f"{FOAF}lastName": 1_000,
    f"{SIB}browser": 1_000,
    f"{SIOC}ip_address": 1_000,
    f"{SIOC}account_of": 1_000,
    f"{DC}date": 1_000,
    f"{FOAF}organization": 810,
    f"{FOAF}birthday": 807,
    f"{SIOC}email": 804,
    f"{SIB}workAt": 798,
    f"{FOAF}gender": 788,
    f"{SIB}class_year": 651,
    f"{SIB}status": 476,
    f"{SIB}declined": 175,
    f"{SIB}reapproved": 91,
    f"{SIOC}name": 39,
}
"""Triples by predicate: 1,000 users, settings of the original release. A group has one name."""

STREAM_TRIPLES: Mapping[str, int] = {
    "posts": 65_026,
    "post_likes": 194_440,
    "photos": 260_627,
    "photo_likes": 334_548,
    "gps": 2_528_195,
}
STREAM_COMPOSITION: Mapping[tuple[str, str], tuple[str, int]] = {
    ("posts", f"{DCTERMS}title"): ("posts", 4_798),
    ("posts", f"{SIOC}reply_of"): ("comments", 547),
    ("posts", f"{SIB}hashtag"): ("hashtags", 15_172),
    ("photos", f"{DCTERMS}title"): ("albums", 970),
    ("photos", f"{DBPO}location"): ("photos", 18_549),
    ("photos", f"{SIB}usertag"): ("user tags", 82_279),
}
RATIOS: Mapping[tuple[str, str], float] = {("hashtags", "posts"): 3.16, ("user tags", "photos"): 4.4}


@dataclass(frozen=True, slots=True)
class Census:
    """The triples of one world by part and predicate, and how many friends live in the same country."""

    users: int
    triples: Counter[tuple[str, str]]
    same_country: float

    def total(self, part: str) -> int:
        """Return the triples of a stream, or of the static graph."""
        return sum(count for (where, _), count in self.triples.items() if where == part)


def census(spark: SparkSession, settings: SocialSettings) -> Census:
    """Generate a world and count it; nothing is written."""
    from pyspark.sql import functions as F  # noqa: N812

    streams, static = make_sources(spark, settings)
    people = People(settings, Draws(settings.seed))
    prefix = len(NAMES["user"]) + 2

    def country(user: str) -> Column:
        return people.country(F.expr(f"substring({user}, {prefix}, length({user}) - {prefix})").cast("bigint"))

    knows = F.col("p") == F.lit(f"<{FOAF}knows>")
    same = F.when(knows, country("s") == country("o")).otherwise(F.lit(False)).cast("int")  # noqa: FBT003
    counted = static.groupBy("p").agg(F.count("*").alias("count"), F.sum(same).alias("same")).collect()
    found = Counter({("static", row["p"][1:-1]): row["count"] for row in counted})
    neighbours = sum(row["same"] for row in counted)
    for stream in streams:
        if stream.name in STREAM_TRIPLES:
            listed = stream.triples(stream.elements).select(F.explode(stream.listed()).alias("triple"))
            for row in listed.groupBy("triple.p").count().collect():
                found[stream.name, row["p"][1:-1]] = row["count"]
    return Census(settings.users, found, neighbours / max(1, found["static", f"{FOAF}knows"]))


def chance_of_same_country(users: int) -> float:
    """Return how likely two users drawn at random live in the same country."""
    firsts = (*first_users_by_country(users), users)
    sizes = [after - before for before, after in pairwise(firsts)]
    return sum(size * (size - 1) for size in sizes) / (users * (users - 1))


def compared(seen: list[Census]) -> Iterator[tuple[str, float, float, float]]:
    """Yield the name, the mean, the target and the tolerance of each figure of faithful worlds with 1,000 users."""

    def mean(part: str, predicate: str) -> float:
        return fmean(one.triples[part, predicate] for one in seen)

    yield "static triples", fmean(one.total("static") for one in seen), STATIC_TRIPLES, 0.05
    yield "friends of a user", fmean(one.triples["static", f"{FOAF}knows"] / one.users for one in seen), DEGREE, 0.05
    for predicate, count in STATIC_COMPOSITION.items():
        yield f"static {predicate.rpartition('/')[2]}", mean("static", predicate), count, 0.15
    for stream, count in STREAM_TRIPLES.items():
        yield f"triples of {stream}", fmean(one.total(stream) for one in seen), count, 0.15
    counts = {}
    for (stream, predicate), (name, count) in STREAM_COMPOSITION.items():
        counts[name] = mean(stream, predicate)
        yield name, counts[name], count, 0.15
    for (many, few), ratio in RATIOS.items():
        yield f"{many} of {few}", counts[many] / counts[few], ratio, 0.15


SEEDS = range(1, 11)
_FAR_ABOVE = 3


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of ten faithful worlds, of partitions and of the cost of size."""
    yield from figures([census(spark, _settings(seed=seed, faithful=True)) for seed in SEEDS])
    yield same_at_any_partition_count(spark, "social", (1, 2, 7), users=300, block_users=100)
    yield cost_of_size(spark, WORLD, "users", _settings(users=1_000), _settings(users=10_000))


def figures(seen: list[Census]) -> Iterator[Check]:
    """Yield the checks of the published and measured figures of 1,000 users, faithful to the original."""
    for name, mean, target, tolerance in compared(seen):
        yield compare_figure(f"social: {name}", target, mean, tolerance, ORIGINAL)
    share = sum(one.same_country for one in seen) / len(seen)
    chance = chance_of_same_country(seen[0].users)
    yield Check("social: friends of one country", share > _FAR_ABOVE * chance, f"{share:.1%}, by chance {chance:.1%}")


def check_paper(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of the preset `paper`, of tails, of the period, and of a network without correlation."""
    yield from paper(spark)
    # A month, of which enough comments come that their tail can be fitted.
    skewed = counts(spark, _settings(end="2010-02-28"))
    yield from tails(skewed)
    said = f"{skewed.after} of {skewed.elements:,} posts, comments, likes, photos and fixes"
    yield Check("social: nothing happens after the period", skewed.after == 0, said)
    chance = counts(spark, _settings(end="2010-02-28", friend_shares=[0, 0, 1]))
    means = skewed.degrees.mean(), chance.degrees.mean()
    name = "social: friends of a user without correlation"
    yield compare_figure(name, float(means[0]), float(means[1]), 0.1, "the same world with correlation")
    yield tail("friends of a user without correlation", chance.degrees)


def paper(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of the published sizes and rates."""
    settings = _settings(preset="paper")
    found = census(spark, settings)
    for part, published in (("static", PAPER_STATIC), ("posts", PAPER_POSTS)):
        name = f"social: preset paper, triples of {part}"
        yield compare_figure(name, published, found.total(part), 0.1, "LSBench, correctness test: |U_data|, |S_pc|")
    tagged = found.triples["posts", f"{SIB}hashtag"]
    yield compare_figure(
        "social: preset paper, hashtags", PAPER_HASHTAGS, tagged, 0.1, "LSBench, Table 2: output of Q10"
    )
    posts = next(source for source in make_sources(spark, settings)[0] if source.name == "posts")
    for rate in PAPER_RATES:
        timed = settings.model_copy(update={"element": "triple", "rate": {"posts": float(rate)}})
        yield from rates(plan_stream(posts, timed).elements, rate, settings.first)


def rates(elements: DataFrame, rate: int, first: int) -> Iterator[Check]:
    """Yield whether every whole second of a stream of triples has as many as its rate."""
    from pyspark.sql import functions as F  # noqa: N812

    second = F.floor((F.col("t") - first) / 1000)
    by_second = {row["second"]: row["count"] for row in elements.groupBy(second.alias("second")).count().collect()}
    whole = [by_second[at] for at in range(max(by_second))]
    name = f"social: triples of posts in each of {len(whole)} seconds"
    farthest = max(whole, key=lambda count: abs(count - rate))
    yield compare_figure(name, rate, farthest, 0, "LSBench, correctness test: rates 100 and 1000")


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of one world: friends of users, posts of users, comments of posts, and what lies after the period."""

    degrees: NumberArray
    posts: NumberArray
    comments: NumberArray
    elements: int
    after: int


def counts(spark: SparkSession, settings: SocialSettings) -> Counts:
    """Generate a world and count what has a tail; nothing is written."""
    from pyspark.sql import functions as F  # noqa: N812

    streams, static = make_sources(spark, settings)
    sources = {source.name: source.elements for source in streams}
    knows = static.where(F.col("p") == F.lit(f"<{FOAF}knows>")).groupBy("s").count()
    written = sources["posts"].where((F.col("kind") == 0) & ~F.col("grouped")).groupBy("author").count()
    answered = sources["posts"].where(F.col("kind") == 1).groupBy("parent").count()
    late = F.sum((F.col("created") >= settings.last).cast("int"))
    totals = [rows.agg(F.count("*"), late).collect()[0] for rows in sources.values()]
    found = [np.array([row["count"] for row in rows.collect()], np.int64) for rows in (knows, written, answered)]
    # Who has no friends, and which post has no comments, is no part of a tail, but counts for a mean.
    degrees = np.concatenate([found[0], np.zeros(settings.users - len(found[0]), np.int64)])
    return Counts(degrees, found[1], found[2], sum(row[0] for row in totals), sum(row[1] or 0 for row in totals))


def tails(found: Counts, samples: int = 100) -> Iterator[Check]:
    """Yield whether friends, posts and comments follow the power law of the settings."""
    yield tail("friends of a user", found.degrees, samples)
    yield tail("posts of a user", found.posts, samples)
    yield tail("comments of a post", found.comments, samples)


def tail(name: str, values: NumberArray, samples: int = 100) -> Check:
    """Return whether counts have a power-law tail of the exponent of the settings."""
    fit = fit_tail(values)
    likely = goodness(values, fit, np.random.default_rng(1), samples)
    said = (
        f"{fit}, {likely:.0%} of samples of this law fit worse; median {np.median(values):.0f}, most {values.max()}, "
        f"{top_share(values):.1%} of all in the top 1 %"
    )
    wanted = _settings().tail_exponent
    passed = abs(fit.exponent - wanted) <= TAIL_TOLERANCE and likely >= LIKELY
    return Check(f"social: exponent, {name}", passed, said, figure=PublishedFigure(wanted, fit.exponent, POWER_LAW))


def _settings(**given: object) -> SocialSettings:
    return read_settings(SocialSettings, None, given)
