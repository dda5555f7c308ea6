"""Answers in short: for each report a row count and a hash of the row texts that does not depend on their order.

The hash of a row is xxhash64 (seed 42) over its terms' canonical texts, each hashed with the hash before it as the
seed, as Spark's function does with several columns; an unbound term leaves the hash as it is. A report's hash is the
sum of its rows' hashes, modulo 2^64.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from xxhash import xxh64_intdigest

from hydrograph.runtime.reports import Report, Row
from hydrograph.temporal import Instant

_SEED = 42
_MODULUS = 2**64


@dataclass(frozen=True, slots=True)
class Digest:
    """What a report holds, without its rows."""

    t: Instant
    rows: int
    hash: int

    def __str__(self) -> str:
        """Return instant, row count and hash, tab-separated."""
        return f"{self.t}\t{self.rows}\t{self.hash:016x}"


def row_hash(row: Row) -> int:
    """Return the hash of one row."""
    return reduce(lambda seed, text: seed if text is None else xxh64_intdigest(text.encode(), seed), row, _SEED)


def digest(report: Report) -> Digest:
    """Return the digest of a report whose rows are at hand."""
    return Digest(report.t, len(report.rows), sum(map(row_hash, report.rows)) % _MODULUS)


def sweep(stretches: Iterable[tuple[int, int, int, int, int]], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return row count and hash of every rank in `[start, end)`.

    A stretch `(lo, hi, n, low, high)` counts n rows at the ranks `[lo, hi)`, with the sums of the lower and of the
    upper halves of their hashes.
    """
    deltas: dict[int, list[int]] = {}
    for lo, hi, count, low, high in stretches:
        for at, sign in ((lo, 1), (hi, -1)):
            total = deltas.setdefault(at, [0, 0])
            total[0] += sign * count
            total[1] += sign * (low + (high << 32))
    rows, hashed = 0, 0
    for rank in range(start, end):
        count, change = deltas.get(rank, (0, 0))
        rows, hashed = rows + count, hashed + change
        yield rows, hashed % _MODULUS


def stretches(columns: dict[str, list[Any]]) -> Iterator[tuple[int, int, int, int, int]]:
    """Return the rows of a `by_stretch` query as whole numbers."""
    rows = zip(*(columns[name] for name in ("lo", "hi", "n", "low", "high")), strict=True)
    return ((int(lo), int(hi), int(n), int(low), int(high)) for lo, hi, n, low, high in rows)
