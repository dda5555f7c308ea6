"""`make check-worlds`: every bar of the generated worlds, the table of published figures, and one line in the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from hydrograph.runtime.session import spark_session
from hydrograph_gauge.worlds.spark import compile_long_methods
from tests.support.world_checks import features, sensors, shop, social, workload
from tests.support.world_checks.checks import Check, format_figures, line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CHECKS: dict[str, Callable[[SparkSession], Iterator[Check]]] = {
    "features": features.check,
    "sensors": sensors.check,
    "shop": shop.check,
    "social": social.check,
    "social-paper": social.check_paper,
    "workload": workload.check,
    "sensors-memory": sensors.check_memory,
    "shop-speed": shop.check_speed,
}
"""A world is a line here. What is measured in processes of its own comes last, when this one has stopped its Spark."""
APART = {"sensors-memory", "shop-speed"}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(CHECKS)))
def main(names: tuple[str, ...]) -> None:
    """Check the worlds NAMES, or all of them."""
    wanted = [name for name in CHECKS if not names or name in names]
    done: list[Check] = []
    compile_long_methods()
    spark = spark_session("local[2]", "3g")
    for name in wanted:
        if name in APART:
            spark.stop()
        for check in CHECKS[name](spark):
            click.echo(line(check))
            done.append(check)
    if any(check.figure is not None for check in done):
        click.echo("\n" + "\n".join(format_figures(done)) + "\n")
    rates = [f"{check.rate:.0f} triples/s shop" for check in done if check.rate is not None]
    passed = sum(check.passed for check in done)
    click.echo(f"worlds: {passed}/{len(done)}, {rates[0] if rates else 'no triples/s shop'}")
    sys.exit(0 if passed == len(done) else 1)


if __name__ == "__main__":
    main()
