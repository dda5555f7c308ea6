"""Checks of worlds: the result type, and checks that several worlds share (partition counts, cost, memory)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from hydrograph_gauge.engines.resources import ResourceMonitor
from hydrograph_gauge.worlds.manifest import WorldManifest
from hydrograph_gauge.worlds.settings import Settings
from hydrograph_gauge.worlds.spark import force_task_count
from hydrograph_gauge.worlds.world import World, find_world
from hydrograph_gauge.worlds.writer import write_world

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_S = TypeVar("_S", bound=Settings)
_MOST_COST = 11
_MOST_MEMORY = 1.5


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A published figure beside the generated one."""

    published: float
    generated: float
    source: str
    """Paper and place, or what measured the original generator."""


@dataclass(frozen=True, slots=True)
class Check:
    """One bar: what is asked, whether it holds, and the figures."""

    name: str
    passed: bool
    said: str
    rate: float | None = None
    """Triples a second, where it was measured."""
    figure: PublishedFigure | None = None
    """The row of the table of published figures, where the bar is one."""


def compare_figure(name: str, published: float, generated: float, tolerance: float, source: str) -> Check:
    """Return whether a generated figure is within a share of the published one."""
    away = generated / published - 1
    said = f"{generated:,.2f}, expected {published:,.2f}: {away:+.1%} of {tolerance:.0%}"
    return Check(name, abs(away) <= tolerance + 1e-12, said, figure=PublishedFigure(published, generated, source))


def format_figures(checks: Sequence[Check]) -> list[str]:
    """Return the table of published figures, a line each: published, generated, difference and source.

    >>> for row in format_figures([compare_figure("shop: users", 1000, 990, 0.05, "Table 2.2")]):
    ...     print(row)
    figure                                              published      generated  difference  source
    shop: users                                             1,000            990       -1.0%  Table 2.2
    """
    rows = [(check.name, check.figure) for check in checks if check.figure is not None]
    lines = [f"{'figure':<50}{'published':>11}{'generated':>15}{'difference':>12}  source"]
    for name, one in rows:
        away = one.generated / one.published - 1
        lines.append(f"{name:<50}{_plain(one.published):>11}{_plain(one.generated):>15}{away:>+12.1%}  {one.source}")
    return lines


def _plain(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 or number == round(number) else f"{number:,.2f}"


@dataclass(frozen=True, slots=True)
class Measured:
    """What generating a world in a process of its own took."""

    triples: int
    seconds: float
    cpu_seconds: float
    memory: float
    """The most that all its processes held together, in megabytes (2**20 bytes)."""


def same_at_any_partition_count(spark: SparkSession, name: str, counts: Sequence[int], **settings: Any) -> Check:
    """Return whether a world has the same checksums, made by so many tasks."""
    world = find_world(name)
    sums: dict[int, str] = {}
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
        for count in counts:
            spark.conf.set("spark.sql.shuffle.partitions", count)
            with force_task_count(count):
                given = world.settings(**settings)
                sums[count] = write_world(spark, world, given, Path(directory) / str(count)).checksum
    spark.conf.set("spark.sql.shuffle.partitions", str(before))
    said = f"{len(set(sums.values()))} checksums at {', '.join(map(str, counts))} partitions: {sums[counts[0]]}"
    return Check(f"{name}: same rows at any partition count", len(set(sums.values())) == 1, said)


def cost_of_size(spark: SparkSession, world: World[_S], what: str, small: _S, large: _S) -> Check:
    """Return whether ten times as many `what` take at most eleven times the CPU; the small one warms up first."""
    spent = []
    for settings in (small, small, large):
        before = _cpu()
        with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
            manifest = write_world(spark, world, settings, Path(directory) / "world")
        spent.append(_cpu() - before)
    parts = [*manifest.streams.values(), *([] if manifest.static is None else [manifest.static])]
    ratio = spent[2] / spent[1]
    said = (
        f"{ratio:.1f} times ({spent[1]:.0f} s and {spent[2]:.0f} s of CPU); "
        f"{getattr(large, what):,} {what}: {sum(part.triples for part in parts):,} triples"
    )
    return Check(f"{world.name}: ten times the {what}, at most eleven times the CPU", ratio <= _MOST_COST, said)


def _cpu() -> float:
    """Return the CPU seconds of this process and all below it: Java, and Spark's Python workers, ended ones too."""
    own = psutil.Process()
    return sum(sum(process.cpu_times()[:4]) for process in (own, *own.children(recursive=True)))


def measure(name: str, options: Sequence[str], memory: str) -> Measured:
    """Generate a world by the command line in a process of its own, on two cores."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-worlds-") as directory:
        target = Path(directory) / "world"
        call = [sys.executable, "-m", "hydrograph", "generate", name, str(target), *options]
        started = time.monotonic()
        process = subprocess.Popen([*call, "--master", "local[2]", "--memory", memory], stdout=subprocess.DEVNULL)
        with ResourceMonitor(process.pid) as watch:
            process.wait()
        seconds = time.monotonic() - started
        if process.returncode != 0:
            raise RuntimeError(f"expected `hydrograph generate {name}` to succeed, got exit code {process.returncode}")
        manifest = WorldManifest.read(target)
    triples = sum(part.triples for part in manifest.streams.values())
    most = max((sample.memory for sample in watch.samples), default=0.0)
    return Measured(triples, seconds, watch.cpu, most)


def flat_memory(what: str, small: Measured, large: Measured) -> Check:
    """Return whether the larger of two worlds took at most half as much memory again, though it is many times as large.

    Both had the same limit of Java's memory, and a tight one: what a task holds does not grow, but Java takes what it
    may before it collects, and Spark keeps more of what it spread before it spills. Hence the half.
    """
    size, growth = large.triples / small.triples, large.memory / small.memory
    said = (
        f"{size:.1f} times the triples, {growth:.2f} times the memory of all processes "
        f"({small.memory:.0f} and {large.memory:.0f} MB)"
    )
    return Check(f"{what}: memory stays flat, at most {_MOST_MEMORY:g} times", growth <= _MOST_MEMORY < size, said)


def line(check: Check) -> str:
    """Return a check as one line of text."""
    return f"{'ok  ' if check.passed else 'FAIL'} {check.name}: {check.said}"
