"""LSBench's comparison of two engines by their outputs alone: mismatch, comparability, and throughput under it.

An output is a sequence of blocks: one for each execution of a periodic engine, one for each row of an eager one. Rows
that two engines give in another rhythm, or repeatedly, are not a mismatch.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, permutations
from typing import TypeVar

Element = TypeVar("Element", bound=Hashable)
Blocks = Sequence[Sequence[Element]]
COMPARABLE = 0.02
"""The mismatch up to which outputs are comparable, unless an experiment sets another."""


def blocks_of_rows(rows: Sequence[Element]) -> list[tuple[Element]]:
    """Return the blocks of an engine that answers as soon as it can: each row is one."""
    return [(row,) for row in rows]


def mismatch(one: Blocks[Element], other: Sequence[Element]) -> Fraction:
    """Return mm: the share of the rows of `one` that `other` does not have from where the two outputs have got to.

    Not symmetric. An output without rows misses nothing.

    >>> mismatch(blocks_of_rows("ac"), "abbc")
    Fraction(0, 1)
    >>> mismatch(blocks_of_rows("ba"), "ab")
    Fraction(1, 2)
    """
    places: defaultdict[Element, list[int]] = defaultdict(list)
    for position, row in enumerate(other):
        places[row].append(position)
    cursor = rows = missed = 0
    for block in one:
        found = [place for row in block if (place := _next(places.get(row, []), cursor)) is not None]
        rows += len(block)
        missed += len(block) - len(found)
        cursor = min(found, default=cursor)
    return Fraction(missed, rows) if rows else Fraction(0)


def _next(positions: list[int], start: int) -> int | None:
    at = bisect_left(positions, start)
    return positions[at] if at < len(positions) else None


def are_comparable(outputs: Mapping[str, Blocks[Element]], most: Fraction) -> bool:
    """Tell whether no engine misses more than the share `most` of any other's rows (comp)."""
    flat = {name: list(chain.from_iterable(blocks)) for name, blocks in outputs.items()}
    return all(mismatch(outputs[one], flat[other]) <= most for one, other in permutations(outputs, 2))


@dataclass(frozen=True, slots=True)
class Executions:
    """Number of executions of a query by an engine that got the next input after each execution."""

    count: int
    seconds: float

    @property
    def throughput(self) -> float:
        """Executions a second: cmet, if the engines compared are comparable."""
        return self.count / self.seconds
