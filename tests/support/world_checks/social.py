"""What must hold of the social network: its figures, its indifference to partitions, and its cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.social.figures import (
    PAPER_POSTS,
    PAPER_STATIC,
    Census,
    census,
    chance_of_same_country,
    compared,
)
from hydrograph_gauge.worlds.social.settings import SocialSettings
from hydrograph_gauge.worlds.social.world import WORLD
from tests.support.world_checks.checks import Check, cost_of_size, same_at_any_partition_count

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
