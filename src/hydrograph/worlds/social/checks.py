"""What must hold of the social network: its figures, its indifference to partitions, and its cost."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click
import psutil

from hydrograph.worlds.partitions import forced
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
PARTITIONS = (1, 2, 7)
_FAR_ABOVE = 3
_MOST_COST = 11
_SHUFFLES = "spark.sql.shuffle.partitions"


class Check(NamedTuple):
    """One thing that must hold, and what was found."""

    name: str
    passed: bool
    found: str


def checks(spark: SparkSession) -> Iterator[Check]:
    """Yield every check as soon as it is made."""
    yield from figures([census(spark, _settings(seed=seed, faithful=True)) for seed in SEEDS])
    yield from paper(spark)
    yield same_rows(spark)
    yield cost(spark)


def figures(seen: list[Census]) -> Iterator[Check]:
    """Yield the checks of the published and measured figures of 1,000 users, faithful to the original."""
    for name, mean, target, tolerance in compared(seen):
        away = mean / target - 1
        yield Check(
            name, abs(away) <= tolerance, f"{mean:,.2f}, expected {target:,.2f}: {away:+.1%} of {tolerance:.0%}"
        )
    share = sum(one.same_country for one in seen) / len(seen)
    chance = chance_of_same_country(seen[0].users)
    yield Check("friends of one country", share > _FAR_ABOVE * chance, f"{share:.1%}, by chance {chance:.1%}")


def paper(spark: SparkSession) -> Iterator[Check]:
    """Yield the checks of the published sizes."""
    found = census(spark, _settings(preset="paper"))
    for name, count, target in (
        ("static", found.total("static"), PAPER_STATIC),
        ("posts", found.total("posts"), PAPER_POSTS),
    ):
        away = count / target - 1
        yield Check(f"preset paper, {name}", abs(away) <= 0.1, f"{count:,}, expected {target:,}: {away:+.1%} of 10%")


def same_rows(spark: SparkSession) -> Check:
    """Return whether the same seed gives the same rows at any partition count."""
    found = []
    before = spark.conf.get(_SHUFFLES)
    for partitions in PARTITIONS:
        spark.conf.set(_SHUFFLES, partitions)
        try:
            with forced(partitions), tempfile.TemporaryDirectory() as folder:
                target = Path(folder) / "world"
                found.append(write_world(spark, WORLD, _settings(users=300, block_users=100), target).checksum)
        finally:
            spark.conf.set(_SHUFFLES, before or 2)
    return Check("the same rows at 1, 2 and 7 partitions", len(set(found)) == 1, f"{len(set(found))} checksums")


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
    return Check("ten times the users, at most eleven times the CPU", ratio <= _MOST_COST, found)


def _cpu() -> float:
    """Return the CPU seconds of this process and all below it: Java, and Spark's Python workers, ended ones too."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))


def _settings(**given: object) -> SocialSettings:
    return read_settings(SocialSettings, None, given)


def main() -> None:
    """Print every check and how many passed; exit with 1 unless all did."""
    from hydrograph.runtime.session import spark_session

    spark = spark_session("local[2]")
    made = []
    for check in checks(spark):
        made.append(check)
        click.echo(f"{'ok  ' if check.passed else 'FAIL'} social: {check.name}: {check.found}")
    click.echo(f"social: {sum(check.passed for check in made)}/{len(made)}")
    raise SystemExit(any(not check.passed for check in made))


if __name__ == "__main__":
    main()
