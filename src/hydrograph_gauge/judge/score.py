"""Precision and recall of one answer, as YABench defines them, with the rows to blame."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from hydrograph_gauge.oracle.compare import Difference, compare
from hydrograph_gauge.oracle.dataset import Row


@dataclass(frozen=True, slots=True)
class Score:
    """How an answer compares with the expected one; both are bags, each row counts once (A12 says what is equal)."""

    expected: int
    actual: int
    difference: Difference

    @property
    def hits(self) -> int:
        """How many rows were expected and came."""
        return self.expected - self.difference.missing.total()

    @property
    def precision(self) -> Fraction:
        """The share of what came that was expected; 1 if nothing was expected and nothing came."""
        return _share(self.hits, self.actual, empty=self.expected == 0)

    @property
    def recall(self) -> Fraction:
        """The share of what was expected that came; 1 if nothing was expected and nothing came."""
        return _share(self.hits, self.expected, empty=self.actual == 0)

    @property
    def right(self) -> bool:
        """Whether the answer is the expected one."""
        return not self.difference


def score(expected: Counter[Row], actual: Counter[Row]) -> Score:
    """Compare an answer with the expected one."""
    return Score(expected.total(), actual.total(), compare(expected, actual))


def _share(hits: int, of: int, *, empty: bool) -> Fraction:
    if of == 0:
        return Fraction(int(empty))
    return Fraction(hits, of)
