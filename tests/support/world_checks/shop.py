"""The bars of the shop: its model's expectation, the published sizes of Stream WatDiv, speed, memory and growth."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from hydrograph_gauge.worlds.shop.activities import find_associations, make_activities
from hydrograph_gauge.worlds.shop.expectation import Expectation, compute_expectation
from hydrograph_gauge.worlds.shop.population import Population, make_links
from hydrograph_gauge.worlds.shop.world import (
    WSDBM,
    ShopSettings,
    build_population,
    build_timing,
    draw_static_rows,
    make_stream_triples,
)
from tests.support.world_checks.checks import (
    Check,
    Measured,
    PublishedFigure,
    compare_figure,
    flat_memory,
    measure,
    same_at_any_partition_count,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUBLISHED = {(1, 1): (55_504, 56_978), (1, 100): (59_251, 5_576_489), (100, 1): (5_536_852, 4_754_669)}
"""Static and streaming triples by static and stream factor: Table 3.1 of the Stream WatDiv thesis."""
_BOTH = {
    "Purchase": 1500, "Offer": 900, "User": 1000, "Product": 250, "Website": 50, "Topic": 250, "City": 240,
    "SubGenre": 145, "Country": 25, "Genre": 21, "ProductCategory": 15, "AgeGroup": 9, "Role": 3, "Gender": 2,
}  # fmt: skip
THESIS_ENTITIES = {**_BOTH, "Retailer": 22, "Language": 25}
"""Entities at scale 1: Table 2.2 of the thesis, which has no reviews."""
RELEASED_ENTITIES = {"Review": 1500, "Retailer": 12, "Language": 35}
"""Where the model file that was released with the thesis differs, or has more."""
SEEDS = range(20)
FEW_SEEDS = range(5)
_CLOSE = 0.03
_DEVIATIONS = 4
_GIB = 2**10  # megabytes


@dataclass(frozen=True, slots=True)
class Counted:
    """What one seed gave: triples of each row of the model, and of static data and stream in all."""

    rows: dict[int, int]
    static: int
    stream: int


def check(spark: SparkSession) -> Iterator[Check]:
    """Yield what the rows of the model come to, over seeds and scales."""
    counted = {scale: [count(spark, *scale, seed) for seed in SEEDS] for scale in ((1, 1),)}
    yield from expected(
        counted[1, 1],
        compute_expectation(build_population(None, ShopSettings())),
        build_population(None, ShopSettings()),
    )
    for scale in PUBLISHED:
        found = counted.get(scale) or [totals(spark, *scale, seed) for seed in FEW_SEEDS]
        yield from published(scale, found)
    yield from entities()
    yield from rates()
    yield same_at_any_partition_count(spark, "shop", (1, 2, 7), static=1, stream=2)


def expected(found: list[Counted], wanted: Expectation, people: Population) -> Iterator[Check]:
    """Yield the comparison of seeds with the expectation: in all, and row by row."""
    for name in ("static", "stream"):
        mean, right = fmean(getattr(one, name) for one in found), getattr(wanted, name)
        said = f"{mean:.0f} in the mean of {len(found)} seeds, {right:.0f} expected ({mean / right - 1:+.2%})"
        yield Check(f"shop: {name} triples within 3 %", abs(mean / right - 1) <= _CLOSE, said)
    far = []
    for row in people.rows:
        values = [one.rows.get(row.code, 0) for one in found]
        allowed = _DEVIATIONS * stdev(values) / math.sqrt(len(values))
        # A row that is the same for all seeds must be what is expected, but for the last digit of a sum of doubles.
        if sum(values) == 0 or abs(fmean(values) - wanted.rows[row.code]) > allowed + 1e-6:
            far.append(f"{row.predicate} of {row.subject}: {fmean(values):.1f} for {wanted.rows[row.code]:.1f}")
    said = f"{len(people.rows) - len(far)} of {len(people.rows)} rows" + "".join(f"; {one}" for one in far)
    yield Check("shop: each row of the model within 4 deviations of the mean", not far, said)


def published(scale: tuple[int, int], found: list[Counted]) -> Iterator[Check]:
    """Yield the comparison of published sizes with ours; a published one is a single run, and so has our deviation."""
    for name, figure in zip(("static", "stream"), PUBLISHED[scale], strict=True):
        values = [getattr(one, name) for one in found]
        deviation = stdev(values) * math.sqrt(1 + 1 / len(values))
        distance = (figure - fmean(values)) / deviation
        said = (
            f"published {figure}, ours {fmean(values):.0f} in the mean: {distance:+.2f} deviations of {deviation:.0f}"
        )
        yield Check(
            f"shop {{{scale[0]},{scale[1]}}}: {name} triples of Table 3.1",
            abs(distance) <= _DEVIATIONS,
            said,
            figure=PublishedFigure(figure, fmean(values), "Stream WatDiv, Table 3.1"),
        )


def entities() -> Iterator[Check]:
    """Yield the numbers of entities: of the thesis by its preset, and of the released model by default."""
    for preset, published, source in (
        ("thesis", THESIS_ENTITIES, "Stream WatDiv, Table 2.2"),
        ("release", RELEASED_ENTITIES, "model file of libo-gao/Stream-WatDiv"),
    ):
        people = build_population(None, ShopSettings.model_validate({"entities": preset}))
        for name, count in published.items():
            made = people.count(f"{WSDBM}{name}")
            yield compare_figure(f"shop, entities of the {preset}: {name}", count, made, 0, source)


def rates() -> Iterator[Check]:
    """Yield whether each second of the two published rates has as many triples."""
    for rate in (1_000, 10_000):
        times = build_timing(ShopSettings(rate=rate)).array(np.arange(10 * rate))
        farthest = max(np.bincount(times // 1000).tolist(), key=lambda count: abs(count - rate))
        yield compare_figure("shop: triples in each of 10 seconds", rate, farthest, 0, "Stream WatDiv, chapter 4")


def count(spark: SparkSession, static: int, stream: int, seed: int) -> Counted:
    """Return the triples of each row; an association of an activity counts its links."""
    from pyspark.sql import functions as F  # noqa: N812

    people = build_population(spark, ShopSettings(static=static, stream=stream, seed=seed))
    nothing = F.lit(None).cast("bigint")
    made = make_activities(people).withColumns({"next_link": nothing, "next_entity": nothing})
    owners = [
        people.row_of(one).code for activity in people.model.activities for one in find_associations(people, activity)
    ]
    parts = [draw_static_rows(people).select("code"), make_stream_triples(people, made).select("code")]
    for code in owners:
        association = people.rows[code].association
        assert association is not None
        parts.append(make_links(people, association, people.stream).select(F.lit(-1 - code).alias("code")))
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionByName(part)
    tally = {row["code"]: row["count"] for row in rows.groupBy("code").count().collect()}
    streamed = set(owners) | {row.code for row in people.rows if row.subject in people.streamed}
    linked = {code: tally.get(-1 - code, 0) for code in owners}
    total = sum(n for code, n in tally.items() if code in streamed)
    return Counted(
        {code: n for code, n in tally.items() if code >= 0} | linked,
        sum(n for code, n in tally.items() if code >= 0 and code not in streamed),
        total,
    )


def totals(spark: SparkSession, static: int, stream: int, seed: int) -> Counted:
    """Return the triples in all."""
    from pyspark.sql import functions as F  # noqa: N812

    people = build_population(spark, ShopSettings(static=static, stream=stream, seed=seed))
    streamed = make_activities(people).agg(F.sum("n")).collect()[0][0]
    return Counted({}, draw_static_rows(people).count(), int(streamed))


def check_speed(spark: SparkSession) -> Iterator[Check]:
    """Yield speed, memory and growth, each in a process of its own; `spark` is not used."""
    del spark
    small = measure("shop", ["--static", "1", "--stream", "100"], MEMORY)
    large = measure("shop", ["--static", "10", "--stream", "100"], MEMORY)
    yield speed(large)
    yield from growth(small, large)


def growth(small: Measured, large: Measured) -> Iterator[Check]:
    """Yield what {10,100} takes, and takes more than {1,100}."""
    yield Check(
        "shop {10,100}: memory of all processes below 6 GiB", large.memory < 6 * _GIB, f"{large.memory / _GIB:.2f} GiB"
    )
    yield flat_memory("shop {1,100} to {10,100}", small, large)
    grown, size = large.cpu_seconds / small.cpu_seconds, large.triples / small.triples
    said = f"{size:.1f} times the triples, {grown:.1f} times the CPU time ({large.cpu_seconds:.0f} s)"
    yield Check("shop: linear growth of CPU time", grown <= 1.1 * size, said)


MEMORY = "1g"
"""Little enough that Java must collect garbage; with more memory its usage would not show what tasks hold."""
RATE = 250_000
CORES = 2


def speed(run: Measured) -> Check:
    """Return whether the bar of triples in a second holds by the clock; CPU time tells of an idle machine."""
    by_clock, by_cpu = run.triples / run.seconds, CORES * run.triples / run.cpu_seconds
    said = (
        f"{run.triples} triples in {run.seconds:.0f} s, {by_clock:.0f} triples/s by the clock, "
        f"{by_cpu:.0f} by CPU time ({run.cpu_seconds:.0f} s) on {CORES} cores; load average {os.getloadavg()[1]:.1f}"
    )
    return Check("shop {10,100}: 250,000 triples/s on two cores", by_clock >= RATE, said, by_clock)
