"""What must hold of the social network: its figures, its indifference to partitions, and its cost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from hydrograph.bench.worlds.checks import Check, same_at_any_partition_count
from hydrograph.worlds.settings import read_settings
from hydrograph.worlds.social.figures import (
    PAPER_POSTS,
    PAPER_STATIC,
    Census,
    census,
    chance_of_same_country,
    compared,
)
from hydrograph.worlds.social.settings import SocialSettings
from hydrograph.worlds.social.world import WORLD
from hydrograph.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEEDS = range(1, 11)
_FAR_ABOVE = 3
_MOST_COST = 11


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of ten faithful worlds, of the preset `paper`, of partitions and of the cost of size."""
    yield from figures([census(spark, _settings(seed=seed, faithful=True)) for seed in SEEDS])
    yield from paper(spark)
    yield same_at_any_partition_count(spark, "social", (1, 2, 7), users=300, block_users=100)
    yield cost(spark)


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


def cost(spark: SparkSession) -> Check:
    """Return whether ten times the users take at most eleven times the CPU; the small one is made twice, to warm up."""
    spent = []
    for users in (1_000, 1_000, 10_000):
        before = _cpu()
        with tempfile.TemporaryDirectory() as folder:
            manifest = write_world(spark, WORLD, _settings(users=users), Path(folder) / "world")
        spent.append(_cpu() - before)
    triples = sum(part.triples for part in manifest.streams.values()) + (
        manifest.static.triples if manifest.static else 0
    )
    ratio = spent[2] / spent[1]
    found = f"{ratio:.1f} times ({spent[1]:.0f} s and {spent[2]:.0f} s of CPU); 10,000 users: {triples:,} triples"
    return Check("social: ten times the users, at most eleven times the CPU", ratio <= _MOST_COST, found)


def _cpu() -> float:
    """Return the CPU seconds of this process and all below it: Java, and Spark's Python workers, ended ones too."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))


def _settings(**given: object) -> SocialSettings:
    return read_settings(SocialSettings, None, given)
