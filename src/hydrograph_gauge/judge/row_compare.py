"""Comparing answers that are texts: only what differs as text is read and compared by value (A12)."""

from __future__ import annotations

from collections import Counter

from hydrograph.rdf.encoding import decode
from hydrograph_gauge.judge.score import Score
from hydrograph_gauge.oracle.compare import Difference, compare
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.results import RowText


def score_texts(expected: Counter[RowText], actual: Counter[RowText]) -> Score:
    """Compare an answer with the expected one."""
    if expected == actual:
        return Score(expected.total(), actual.total(), Difference())
    # Blank nodes are equal up to one renaming of the whole answer, so rows that hold some are compared together.
    left, right = _apart(expected, actual), _apart(actual, expected)
    return Score(expected.total(), actual.total(), compare(terms_of(left), terms_of(right)))


def _apart(one: Counter[RowText], other: Counter[RowText]) -> Counter[RowText]:
    blank = Counter({row: count for row, count in one.items() if _has_blank(row)})
    return blank + Counter({row: n for row, count in one.items() if row not in blank and (n := count - other[row]) > 0})


def _has_blank(row: RowText) -> bool:
    return any(text is not None and text.startswith("_:") for text in row)


def terms_of(rows: Counter[RowText]) -> Counter[Row]:
    """Return rows of texts as rows of terms."""
    found: Counter[Row] = Counter()
    for row, count in rows.items():
        found[tuple(None if text is None else decode(text) for text in row)] += count
    return found
