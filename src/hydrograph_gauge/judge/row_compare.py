"""Row comparison: score, precision and recall of an answer (YABench), and numbers for equal rows.

Answers are texts; only rows that differ as texts are parsed and compared by value, by the policy of the experiment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri
from hydrograph_gauge.oracle.compare import Comparison, Difference, but_for_tolerance, compare, row_value, rows_equal
from hydrograph_gauge.oracle.dataset import Row, terms_of
from hydrograph_gauge.run_records import RowText


@dataclass(frozen=True, slots=True)
class Score:
    """Comparison of an answer with the expected one; both are bags, each row counts once (A12 defines equality)."""

    expected: int
    actual: int
    difference: Difference
    comparison: Comparison = Comparison.EXACT

    @property
    def hits(self) -> int:
        """Number of rows that were expected and came."""
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


def score_rows(expected: Counter[Row], actual: Counter[Row], by: Comparison = Comparison.EXACT) -> Score:
    """Compare an answer with the expected one."""
    return Score(expected.total(), actual.total(), compare(expected, actual, by), by)


def _share(hits: int, of: int, *, empty: bool) -> Fraction:
    if of == 0:
        return Fraction(int(empty))
    return Fraction(hits, of)


def score_texts(expected: Counter[RowText], actual: Counter[RowText], by: Comparison = Comparison.EXACT) -> Score:
    """Compare an answer with the expected one."""
    if expected == actual:
        return Score(expected.total(), actual.total(), Difference(), by)
    # Blank nodes are equal up to one renaming of the whole answer, so rows that hold some are compared together.
    left, right = _apart(expected, actual), _apart(actual, expected)
    return Score(expected.total(), actual.total(), compare(terms_of(left), terms_of(right), by), by)


def _apart(one: Counter[RowText], other: Counter[RowText]) -> Counter[RowText]:
    blank = Counter({row: count for row, count in one.items() if _has_blank(row)})
    return blank + Counter({row: n for row, count in one.items() if row not in blank and (n := count - other[row]) > 0})


def _has_blank(row: RowText) -> bool:
    return any(text is not None and text.startswith("_:") for text in row)


_SOME_BLANK_NODE = Iri("urn:hydrograph:some-blank-node")


class RowNumbers:
    """Numbering of rows: equal rows have one number, and so have all within the tolerances of the first that came.

    A blank node is equal to any other, because labels of two outputs cannot be matched in a sequence.

    >>> values = RowNumbers()
    >>> one, two = ('"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>',), (
    ...     '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
    ... )
    >>> values.number(one) == values.number(two)
    True
    """

    def __init__(self, by: Comparison = Comparison.EXACT) -> None:
        """Start without rows; `by` tells which rows are equal."""
        self._by = by
        self._texts: dict[RowText, int] = {}
        self._exact: dict[Hashable, int] = {}
        self._near: dict[Hashable, list[tuple[Row, int]]] = {}

    def number(self, text: RowText) -> int:
        """Return the number of a row."""
        known = self._texts.get(text)
        if known is None:
            known = self._texts[text] = self._of(text)
        return known

    def _of(self, text: RowText) -> int:
        terms = (None if each is None else decode(each) for each in text)
        row = tuple(_SOME_BLANK_NODE if isinstance(term, BlankNode) else term for term in terms)
        exact = row_value(row, self._by)
        known = self._exact.get(exact)
        if known is None:
            near = self._near.setdefault(but_for_tolerance(row, self._by), [])
            known = next((number for other, number in near if rows_equal(row, other, self._by)), None)
            if known is None:
                known = len(self._exact)
                near.append((row, known))
            self._exact[exact] = known
        return known

    def numbers(self, rows: Counter[RowText]) -> Counter[int]:
        """Return a bag of rows as a bag of their numbers."""
        found: Counter[int] = Counter()
        for row, count in rows.items():
            found[self.number(row)] += count
        return found
