"""The links of an association as rows: which subject has which object in which run."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.draws import numbers
from hydrograph_gauge.worlds.orders import permuted
from hydrograph_gauge.worlds.partitions import tasks
from hydrograph_gauge.worlds.shop.model import Association
from hydrograph_gauge.worlds.shop.population import TRIES, Population, sequence

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_KNOTS = 256
_LINKS_PER_TASK = 2_000_000


def links(population: Population, association: Association, runs: int) -> DataFrame:
    """Return the links of `runs` runs: `run`, `s`, `j` (the link's number at its subject) and `o`."""
    from pyspark.sql import functions as F  # noqa: N812

    if population.choices(association) == 0:
        return population.session.createDataFrame([], "run BIGINT, s BIGINT, j BIGINT, o BIGINT")
    if association.exclusive:
        return _exclusive(population, association, runs)
    subjects = _subjects(population, association, runs)
    s, run = F.col("s"), F.col("run")
    if association.restricted or (association.most == 1 and association.spread is None):
        # Nothing is drawn again, so rows need no arrays.
        sized = subjects.where(population.takes_part(association, s, run)).select(
            *subjects.columns, F.explode(sequence(population.size(association, s, run))).alias("j")
        )
        return sized.select("run", "s", "j", population.pick(association, s, run, F.col("j")).alias("o"))
    drawn = subjects.select("run", "s", F.posexplode(population.objects(association, s, run)).alias("j", "o"))
    return drawn.select("run", "s", F.col("j").cast("bigint").alias("j"), "o")


def _subjects(population: Population, association: Association, runs: int) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    n = population.count(association.subject)
    expected = n * runs * association.cover * association.most / (1 if association.spread is None else 2)
    number, size = F.col("id"), F.lit(n).cast("bigint")
    subjects = population.session.range(0, n * runs, 1, tasks(expected, _LINKS_PER_TASK)).select(
        F.floor(number / size).alias("run"), (number % size).alias("s")
    )
    return population.equipped(subjects) if association.object_restriction is not None else subjects


def _exclusive(population: Population, association: Association, runs: int) -> DataFrame:
    """Return links of which no two in a run have the same object.

    Link after link takes a free object, tries fifty times, then gives up. Taking a random free object each time is the
    same as dealing out a random permutation; how many links have succeeded after j of them is a curve (`filling`).
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    n = population.choices(association)
    s, run = F.col("s"), F.col("run")
    sized = (
        _subjects(population, association, runs)
        .where(population.takes_part(association, s, run))
        .select("run", "s", population.size(association, s, run).alias("n"))
    )
    before = Window.partitionBy("run").orderBy("s").rowsBetween(Window.unboundedPreceding, -1)
    numbered = sized.select("run", "s", "n", F.coalesce(F.sum("n").over(before), F.lit(0)).alias("first"))
    each = numbered.select("run", "s", "first", F.explode(sequence(F.col("n"))).alias("j"))
    link = F.col("first") + F.col("j")
    tried = each.select("run", "s", "j", filling(link, n).alias("o"), filling(link + 1, n).alias("after"))
    taken = tried.where(F.col("after") > F.col("o")).select("run", "s", "j", "o")
    purpose = f"{population.row_of(association).code} deal"
    return taken.withColumn("o", permuted(F.col("o"), n, population.draws, purpose, run.cast("int"), runs))


def filling(links_before: Column, n: int) -> Column:
    """Return how many of `n` objects are taken after so many links; a link fails if fifty draws all hit taken ones.

    Taking is certain at first and slows down at the end: dy/dx = 1 - y**50, with both in units of `n`.
    """
    from pyspark.sql import functions as F  # noqa: N812

    xs, ys = filling_curve(n)
    x = links_before.cast("double") / F.lit(float(n))
    place = (x - F.lit(_LINEAR)) * F.lit(_KNOTS / (xs - _LINEAR))
    cell = F.least(F.floor(place), F.lit(_KNOTS - 1).cast("bigint")).cast("int")
    low, high = F.get(numbers(ys), cell), F.get(numbers(ys), cell + 1)
    share = F.least(low + (high - low) * (place - cell.cast("double")), F.lit(1.0))
    curve = F.least(F.floor(share * F.lit(float(n)) + F.lit(1e-6)), F.lit(n).cast("bigint"))
    return F.when(x < F.lit(_LINEAR), links_before.cast("bigint")).otherwise(curve)


_LINEAR = 0.5
"""Below this share taken, fifty draws that all fail are one in 10**15."""


@lru_cache(64)
def filling_curve(n: int) -> tuple[float, tuple[float, ...]]:
    """Return where the curve ends, in units of `n` links, and the shares taken at equal steps from one half to there.

    At the end less than half an object is free; the last step rounds up.
    """
    steps, y, x = 64 * _KNOTS, _LINEAR, _LINEAR
    # The end: the time to fill from y to 1 - 1/2n, of which the last stretch is (1/50) ln(n/…).
    end = 1.0 + (math.log(max(n, 2)) + 8) / TRIES
    width = (end - _LINEAR) / steps
    shares = [y]
    for step in range(1, steps + 1):
        middle = y + width / 2 * (1 - y**TRIES)
        y += width * (1 - middle**TRIES)
        x += width
        if step % 64 == 0:
            shares.append(y)
    shares[-1] = 1.0
    return end, tuple(shares)


def taken_share(demand: float, n: int) -> float:
    """Return the share of `n` objects taken after `demand` links.

    >>> taken_share(300, 1000), round(taken_share(1000, 1000), 3), taken_share(2000, 1000)
    (0.3, 0.986, 1.0)
    """
    x = demand / n
    if x < _LINEAR:
        return x
    end, shares = filling_curve(n)
    place = (x - _LINEAR) * _KNOTS / (end - _LINEAR)
    cell = min(math.floor(place), _KNOTS - 1)
    return min(1.0, shares[cell] + (shares[cell + 1] - shares[cell]) * (place - cell))
