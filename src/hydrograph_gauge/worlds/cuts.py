"""Which file a time belongs to, as a column whose size does not grow with the number of files.

Times are cut into cells of one width, many more than there are files. A table says in which file each cell begins; only
files that begin inside of a cell have to be compared, seldom more than one.

>>> cuts = Cuts.of([0, 10, 1000])
>>> [cuts.value(t) for t in (-5, 0, 9, 10, 999, 1000, 5000)]
[0, 0, 0, 1, 1, 2, 2]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.draws import numbers

if TYPE_CHECKING:
    from pyspark.sql import Column

_CELLS = 16
"""Cells for each file."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """The first times of files, in order, and for each cell of time the file it begins in."""

    starts: tuple[int, ...]
    width: int
    cells: tuple[int, ...]
    most: int
    """How many files begin inside of one cell, after its beginning."""

    @classmethod
    def of(cls, starts: Sequence[int]) -> Cuts:
        """Return the cuts of files that start at these times, of which there is at least one."""
        first = starts[0]
        span = starts[-1] - first + 1
        width = -(-span // (_CELLS * len(starts)))
        ends = range(first, first + span + width, width)
        held = [bisect_right(starts, end) - 1 for end in ends]
        inside = (bisect_right(starts, end + width - 1) - 1 - begun for end, begun in zip(ends, held, strict=True))
        return cls(tuple(starts), width, tuple(held), max(inside))

    def value(self, t: int) -> int:
        """Return the number of the last file that starts at or before `t`; times before all files are in the first."""
        cell = min(max((t - self.starts[0]) // self.width, 0), len(self.cells) - 1)
        begun = self.cells[cell]
        later = self.starts[begun + 1 : begun + 1 + self.most]
        return begun + sum(start <= t for start in later)

    def column(self, t: Column) -> Column:
        """Return the same for each row."""
        from pyspark.sql import functions as F  # noqa: N812

        if len(self.starts) == 1:
            return F.lit(0)
        cell = F.floor((t - F.lit(self.starts[0])) / F.lit(self.width))
        within = F.greatest(F.least(cell, F.lit(len(self.cells) - 1)), F.lit(0)).cast("int")
        begun = F.get(numbers(self.cells, "int"), within)
        known = numbers(self.starts, "bigint")
        result = begun
        for place in range(1, self.most + 1):
            result = result + F.when(F.get(known, begun + place) <= t, F.lit(1)).otherwise(F.lit(0))
        return result
