"""Faults that show in the rows alone: said several times, or with other numbers than they should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Protocol

from hydrograph.rdf.terms import Literal, Term
from hydrograph.rdf.xsd import Kind as Datatype
from hydrograph.rdf.xsd import kind_of
from hydrograph_gauge.judge.faults import Fault, Kind
from hydrograph_gauge.judge.judge_input import Due, Said, texts_of
from hydrograph_gauge.judge.score import Score
from hydrograph_gauge.oracle.dataset import Row

_NUMBERS = {Datatype.INTEGER, Datatype.DECIMAL, Datatype.DOUBLE, Datatype.FLOAT}
_PLACES = range(17, -7, -1)
_WAYS = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN, ROUND_FLOOR, ROUND_CEILING)


class Judged(Protocol):
    """A report that was answered."""

    @property
    def due(self) -> Due:
        """The report."""

    @property
    def said(self) -> Said:
        """Its answer."""

    @property
    def score(self) -> Score:
        """How they compare."""


def repeats(wrong: Sequence[Judged]) -> Fault | None:
    """Tell whether all that is wrong is that rows come more often than they should."""
    for each in wrong:
        difference = each.score.difference
        if difference.missing or not texts_of(difference.extra).keys() <= each.due.rows.keys():
            return None
    times = {
        each.said.rows[row] // count for each in wrong for row, count in each.due.rows.items() if each.said.rows[row]
    }
    return Fault(Kind.REPEATS, f"rows come up to {max(times)} times" if max(times) > 1 else "some rows come twice")


def rounds(wrong: Sequence[Judged]) -> Fault | None:
    """Tell whether all that is wrong is the precision of numbers: one way of rounding explains every window."""
    if any(each.score.difference.missing.total() != each.score.difference.extra.total() for each in wrong):
        return None
    # Most numbers of places are ruled out by a single row.
    first = wrong[0].score.difference
    one, came = next(iter(first.missing)), {tuple(map(_value, row)) for row in first.extra}
    for places in _PLACES:
        for way in _WAYS:
            if _rounded(one, places, way) in came and all(_same(each, places, way) for each in wrong):
                digits = f"to {places} digits after the point" if places >= 0 else f"to multiples of {10**-places}"
                return Fault(Kind.ROUNDS, digits)
    return None


def _same(each: Judged, places: int, way: str) -> bool:
    difference = each.score.difference
    return Counter(_rounded(row, places, way) for row in difference.missing.elements()) == Counter(
        tuple(map(_value, row)) for row in difference.extra.elements()
    )


def _rounded(row: Row, places: int, way: str) -> tuple[object, ...]:
    return tuple(_value(term, places, way) for term in row)


def _value(term: Term | None, places: int | None = None, way: str = ROUND_HALF_UP) -> object:
    """Return a number as its value, other terms as they are; numbers of several types may be told as one another."""
    if not isinstance(term, Literal) or kind_of(term) not in _NUMBERS:
        return term
    try:
        number = Decimal(term.lexical)
        return number if places is None else number.quantize(Decimal(1).scaleb(-places), way).normalize()
    except InvalidOperation:  # infinite, or with more digits than there are
        return term
