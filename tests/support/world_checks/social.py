"""What must hold of the social network: its figures, its indifference to partitions, and its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.social.people import People, first_users_by_country
from hydrograph_gauge.worlds.social.settings import SocialSettings
from hydrograph_gauge.worlds.social.triples import DBPO, DC, DCTERMS, FOAF, NAMES, SIB, SIOC
from hydrograph_gauge.worlds.social.world import WORLD, make_sources
from tests.support.world_checks.checks import Check, cost_of_size, same_at_any_partition_count

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


STATIC_TRIPLES = 102_356
DEGREE = 19.2
PAPER_STATIC, PAPER_POSTS = 219_825, 102_955

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
    """Yield the checks of ten faithful worlds, of the preset `paper`, of partitions and of the cost of size."""
    yield from figures([census(spark, _settings(seed=seed, faithful=True)) for seed in SEEDS])
    yield from paper(spark)
    yield same_at_any_partition_count(spark, "social", (1, 2, 7), users=300, block_users=100)
    yield cost_of_size(spark, WORLD, "users", _settings(users=1_000), _settings(users=10_000))


def figures(seen: list[Census]) -> Iterator[Check]:
    """Yield the checks of the published and measured figures of 1,000 users, faithful to the original."""
    for name, mean, target, tolerance in compared(seen):
        away = mean / target - 1
        yield Check(
            f"social: {name}",
            abs(away) <= tolerance,
            f"{mean:,.2f}, expected {target:,.2f}: {away:+.1%} of {tolerance:.0%}",
        )
    share = sum(one.same_country for one in seen) / len(seen)
    chance = chance_of_same_country(seen[0].users)
    yield Check("social: friends of one country", share > _FAR_ABOVE * chance, f"{share:.1%}, by chance {chance:.1%}")


def paper(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of the published sizes."""
    found = census(spark, _settings(preset="paper"))
    for name, count, target in (
        ("static", found.total("static"), PAPER_STATIC),
        ("posts", found.total("posts"), PAPER_POSTS),
    ):
        away = count / target - 1
        yield Check(
            f"social: preset paper, {name}", abs(away) <= 0.1, f"{count:,}, expected {target:,}: {away:+.1%} of 10%"
        )


def _settings(**given: object) -> SocialSettings:
    return read_settings(SocialSettings, None, given)
