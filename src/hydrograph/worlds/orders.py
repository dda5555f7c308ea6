"""A global order without a global sort: random keys, running sums, and permutations that need no table.

`indexed` counts what lies before each row in the order of a random key: buckets are ranges of the key, and a row needs
only the sum of the buckets before its own and the running sum inside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hydrograph.worlds.draws import Draws, numbers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROUNDS = 2
_COUNTED_BITS = 16
"""Sums are counted for so many ranges of the key; a bucket is a power of two of them."""


def indexed(rows: DataFrame, weight: str, *ties: str, per_bucket: int) -> tuple[DataFrame, int]:
    """Return `rows` with the column `i`, the sum of `weight` over all rows before it, and the sum over all.

    The order is that of the column `key` (64 random bits), among equal keys that of `ties`. All columns are whole
    numbers. The plan runs twice, the first time to count. A bucket is summed at once in Arrow arrays, which takes half
    the time of a window function.
    """
    from pyspark.sql import functions as F  # noqa: N812

    counted = rows.groupBy(F.shiftrightunsigned("key", 64 - _COUNTED_BITS).cast("int").alias("range"))
    found = counted.agg(F.sum(weight).alias("n")).toArrow().to_pydict()
    sums = np.zeros(1 << _COUNTED_BITS, np.int64)
    sums[found["range"]] = found["n"]
    total = int(sums.sum())
    bits = min(_COUNTED_BITS, max(0, math.ceil(math.log2(max(1, total / per_bucket)))))
    starts = np.concatenate([[0], np.cumsum(sums.reshape(1 << bits, -1).sum(axis=1))[:-1]]).astype(np.int64)
    names = [name for name in rows.columns if name != "key"]

    def number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)
        if not given:
            return
        table = pa.Table.from_batches(given)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        # Keys are unsigned: the highest bit decides last in a signed order.
        unsigned = columns["key"].view(np.uint64)
        order = np.lexsort([columns[name] for name in reversed(ties)] + [unsigned])
        weights = columns[weight][order].astype(np.int64)
        running = np.cumsum(weights) - weights
        bucket = unsigned[order] >> np.uint64(64 - bits) if bits else np.zeros(len(order), np.uint64)
        first = np.concatenate([[True], bucket[1:] != bucket[:-1]])
        # Several buckets may share a task; each starts at its own sum.
        base = np.repeat(running[first], np.diff(np.append(np.flatnonzero(first), len(order))))
        i = running - base + starts[bucket.astype(np.int64)]
        yield pa.record_batch([*(pa.array(columns[name][order]) for name in names), pa.array(i)], [*names, "i"])

    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema if field.name != "key")
    bucket = F.shiftrightunsigned("key", 64 - bits).cast("int") if bits else F.lit(0)
    spread = rows.repartitionById(1 << bits, bucket)
    return spread.mapInArrow(number, f"{schema}, i bigint"), total


def permuted(number: Column, n: int, draws: Draws, purpose: str, run: Column, runs: int) -> Column:
    """Return a number below `n` permuted, in each of `runs` runs in another way.

    A linear congruence spreads, then two rounds of a swap-or-not shuffle, in which a number and its mirror image change
    places or do not, hide that it is one.
    """
    from pyspark.sql import functions as F  # noqa: N812

    size = F.lit(n).cast("bigint")
    factors, shifts = zip(*(_congruence(n, draws, purpose, one) for one in range(runs)), strict=True)
    x = F.pmod(number * F.get(numbers(factors, "bigint"), run) + F.get(numbers(shifts, "bigint"), run), size)
    for round_ in range(_ROUNDS):
        mirror = F.pmod(draws.below(f"{purpose} turn {round_}", n).column(run) - x, size)
        swap = draws.chance(f"{purpose} swap {round_}", 0.5).column(F.greatest(x, mirror), run)
        x = F.when(swap, mirror).otherwise(x)
    return x


def _congruence(n: int, draws: Draws, purpose: str, run: int) -> tuple[int, int]:
    """Return a factor that is prime to `n`, and a shift."""
    factor = 1 + draws.below(f"{purpose} factor", n).value(run)
    while math.gcd(factor, n) > 1:
        factor += 1
    return factor, draws.below(f"{purpose} shift", n).value(run)
