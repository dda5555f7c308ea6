"""Global order without a global sort: random keys, prefix sums, and permutations that need no table.

`number_rows` counts the rows before each row in the order of a random key. Buckets are ranges of the key, so a row
needs only the sum of the buckets before its own and the prefix sum inside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.hashing import NumberArray
from hydrograph_gauge.worlds.spark import constant_numbers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_ROUNDS = 2
_MOST_BITS = 16
_WORD = 64


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """Rows with their index `i`, the sum of all weights, and a function that releases the cached rows."""

    rows: DataFrame
    total: int
    release: Callable[[], None]


def number_rows(rows: DataFrame, weight: str, *ties: str, per_bucket: int, about: float) -> NumberedRows:
    """Return `rows` with the column `i`, the prefix sum of `weight` before each row, and the total.

    Rows are ordered by the column `key` (64 random bits), equal keys by `ties`. All columns are integers. `about` is
    the expected total: it sets the number of buckets and does not affect the result.

    Rows are computed once. Sorted, with the prefix sums inside their buckets, they are cached on disk until the sums of
    all buckets are known. A bucket is summed in Arrow arrays, which takes half the time of a window function.
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as F  # noqa: N812

    bits = min(_MOST_BITS, max(0, math.ceil(math.log2(max(1.0, about / per_bucket)))))
    names = [name for name in rows.columns if name != "key"]

    def number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        given = list(batches)
        if not given:
            return
        table = pa.Table.from_batches(given)
        columns = {name: table[name].to_numpy() for name in table.column_names}
        # Keys are unsigned: the highest bit decides last in a signed order.
        unsigned = columns["key"].view(np.uint64)
        order = _order(unsigned, [columns[name] for name in ties])
        weights = columns[weight][order].astype(np.int64)
        running = np.cumsum(weights) - weights
        bucket = (
            (unsigned[order] >> np.uint64(_WORD - bits)).astype(np.int32) if bits else np.zeros(len(order), np.int32)
        )
        first = np.concatenate([[True], bucket[1:] != bucket[:-1]])
        # Several buckets may share a task; each starts at zero.
        base = np.repeat(running[first], np.diff(np.append(np.flatnonzero(first), len(order))))
        arrays = [*(pa.array(columns[name][order]) for name in names), pa.array(bucket), pa.array(running - base)]
        yield pa.record_batch(arrays, [*names, "bucket", "within"])

    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema if field.name != "key")
    bucket = F.shiftrightunsigned("key", _WORD - bits).cast("int") if bits else F.lit(0)
    spread = rows.repartitionById(1 << bits, bucket)
    kept = spread.mapInArrow(number, f"{schema}, bucket int, within bigint").persist(StorageLevel.DISK_ONLY)
    found = kept.groupBy("bucket").agg(F.sum(weight).alias("n")).toArrow().to_pydict()
    sums = np.zeros(1 << bits, np.int64)
    sums[found["bucket"]] = found["n"]
    starts = [0, *np.cumsum(sums)[:-1].tolist()]
    i = F.get(constant_numbers(starts, "bigint"), F.col("bucket")) + F.col("within")
    return NumberedRows(kept.select(*names, i.alias("i")), int(sums.sum()), lambda: _release(kept))


def _release(kept: DataFrame) -> None:
    kept.unpersist()


def _order(keys: NumberArray, ties: Sequence[NumberArray]) -> NumberArray:
    """Return the sort order by `keys`, equal keys by `ties`; only the few tied rows are sorted by several columns.

    >>> _order(np.array([7, 3, 7, 1]), [np.array([2, 0, 1, 0])]).tolist()
    [3, 1, 2, 0]
    """
    order: NumberArray = np.argsort(keys)
    ordered = keys[order]
    equal = ordered[1:] == ordered[:-1]
    tied = np.flatnonzero(np.append(equal, False) | np.insert(equal, 0, False))
    if len(tied):
        some = order[tied]
        order[tied] = some[np.lexsort([*(one[some] for one in reversed(ties)), keys[some]])]
    return order


def find_successors(places: NumberArray, *groups: NumberArray) -> pa.Array:
    """Return for each row the position of the next one with the same values of `groups`, or null.

    >>> find_successors(np.array([10, 30, 20]), np.array([1, 1, 2]), np.array([5, 5, 5])).to_pylist()
    [30, None, None]
    """
    packed = _packed([*groups, places])
    order = np.lexsort([places, *groups]) if packed is None else np.argsort(packed)
    same = np.ones(max(0, len(order) - 1), bool)
    for group in groups:
        ordered = group[order]
        same &= ordered[1:] == ordered[:-1]
    result, known = np.zeros(len(order), np.int64), np.zeros(len(order), bool)
    result[order[:-1]] = places[order[1:]]
    known[order[:-1]] = same
    return pa.array(result, mask=~known)


def _packed(columns: Sequence[NumberArray]) -> NumberArray | None:
    """Return one integer for each row that sorts like all columns together, or None if 64 bits do not suffice.

    Sorting one integer is ten times as fast as sorting by several columns.
    """
    if not len(columns[0]):
        return None
    lows = [int(column.min()) for column in columns]
    widths = [(int(column.max()) - low).bit_length() for column, low in zip(columns, lows, strict=True)]
    if sum(widths) > _WORD:
        return None
    result = np.zeros(len(columns[0]), np.uint64)
    for column, low, width in zip(columns, lows, widths, strict=True):
        result = (result << np.uint64(width)) | (column.astype(np.int64) - low).astype(np.uint64)
    return result


def permute(number: Column, n: int, draws: Draws, purpose: str, run: Column, runs: int) -> Column:
    """Return a pseudo-random permutation of the numbers below `n`, a different one in each of `runs` runs.

    A linear congruence spreads the numbers; two rounds of a swap-or-not shuffle, in which a number and its mirror image
    may change places, hide the linearity.
    """
    from pyspark.sql import functions as F  # noqa: N812

    size = F.lit(n).cast("bigint")
    factors, shifts = zip(*(_congruence(n, draws, purpose, one) for one in range(runs)), strict=True)
    x = F.pmod(
        number * F.get(constant_numbers(factors, "bigint"), run) + F.get(constant_numbers(shifts, "bigint"), run), size
    )
    for round_ in range(_ROUNDS):
        mirror = F.pmod(draws.below(f"{purpose} turn {round_}", n).column(run) - x, size)
        swap = draws.chance(f"{purpose} swap {round_}", 0.5).column(F.greatest(x, mirror), run)
        x = F.when(swap, mirror).otherwise(x)
    return x


def _congruence(n: int, draws: Draws, purpose: str, run: int) -> tuple[int, int]:
    """Return a factor coprime to `n`, and a shift."""
    factor = 1 + draws.below(f"{purpose} factor", n).value(run)
    while math.gcd(factor, n) > 1:
        factor += 1
    return factor, draws.below(f"{purpose} shift", n).value(run)
