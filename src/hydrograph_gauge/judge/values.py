"""Rows of several outputs made comparable by value (A12): they can be looked up instead of compared pair by pair."""

from __future__ import annotations

from collections.abc import Hashable

from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri
from hydrograph_gauge.oracle.compare import but_for_tolerance, row_value, rows_equal
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.results import RowText

_SOME = Iri("urn:hydrograph:some-blank-node")


class Values:
    """Gives equal rows one number; of numbers within the tolerances, all those near the first that came are one.

    A blank node is equal to any other: which of another output it is, nobody can say of a sequence.

    >>> values = Values()
    >>> one, two = ('"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>',), (
    ...     '"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>',
    ... )
    >>> values.number(one) == values.number(two)
    True
    """

    def __init__(self) -> None:
        """Start without rows."""
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
        row = tuple(_SOME if isinstance(term, BlankNode) else term for term in terms)
        exact = row_value(row)
        known = self._exact.get(exact)
        if known is None:
            near = self._near.setdefault(but_for_tolerance(row), [])
            known = next((number for other, number in near if rows_equal(row, other)), None)
            if known is None:
                known = len(self._exact)
                near.append((row, known))
            self._exact[exact] = known
        return known
