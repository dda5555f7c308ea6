"""Relation to stream (S29): what a report adds to the output, given the previous *reported* answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeVar, assert_never

from hydrograph.algebra.queries import StreamOperator

Row = TypeVar("Row")


def rstream(_previous: Counter[Row], current: Counter[Row]) -> Counter[Row]:
    """Return the whole answer."""
    return +current


def istream(previous: Counter[Row], current: Counter[Row]) -> Counter[Row]:
    """Return the added rows: the bag difference keeps duplicates.

    >>> istream(Counter("a"), Counter("aab"))
    Counter({'a': 1, 'b': 1})
    """
    return current - previous


def dstream(previous: Counter[Row], current: Counter[Row]) -> Counter[Row]:
    """Return what has gone."""
    return previous - current


def as_set(bag: Counter[Row]) -> Counter[Row]:
    """Return each row once."""
    return Counter(set(+bag))


def difference(
    operator: StreamOperator, previous: Counter[Row], current: Counter[Row], *, sets: bool = False
) -> Counter[Row]:
    """Return the output of one report; `sets` takes the set difference instead of the bag difference."""
    match operator:
        case StreamOperator.RSTREAM:
            return rstream(previous, current)
        case StreamOperator.ISTREAM:
            return istream(as_set(previous), as_set(current)) if sets else istream(previous, current)
        case StreamOperator.DSTREAM:
            return dstream(as_set(previous), as_set(current)) if sets else dstream(previous, current)
        case _:
            assert_never(operator)


def streamed(
    operator: StreamOperator, answers: Iterable[Counter[Row]], *, sets: bool = False
) -> Iterator[Counter[Row]]:
    """Give the output of each report in turn; before the first one there was nothing."""
    previous: Counter[Row] = Counter()
    for current in answers:
        yield difference(operator, previous, current, sets=sets)
        previous = current
