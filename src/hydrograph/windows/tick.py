"""SECRET's *tick*: which instants exist (S12)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hydrograph.temporal import Instant
from hydrograph.windows.stream import Element


class Tick(StrEnum):
    """Granularity of time: events of one time enter together, or one after the other."""

    TIME = "time"
    TUPLE = "tuple"


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """An instant of a query, ordered as (time, stream, place in the log): the merged domain of S12 and A5.

    >>> Moment.before(5) < Moment.arrival(5, 0, 3) < Moment.arrival(5, 1, 0) < Moment.whole(5) < Moment.before(6)
    True
    """

    t: Instant
    stream: int
    seq: int

    @classmethod
    def before(cls, t: Instant) -> Moment:
        """Return the border at `t`: whatever ends at `t` has ended, nothing of `t` has entered."""
        return cls(t, -1, -1)

    @classmethod
    def arrival(cls, t: Instant, stream: int, seq: int) -> Moment:
        """Return the moment at which one event has just entered."""
        return cls(t, stream, seq)

    @classmethod
    def whole(cls, t: Instant) -> Moment:
        """Return the moment at which all events of `t` have entered."""
        return cls(t, sys.maxsize, sys.maxsize)

    @property
    def is_arrival(self) -> bool:
        """True where one event alone makes the instant."""
        return 0 <= self.stream < sys.maxsize


def entry(element: Element, stream: int, tick: Tick) -> Moment:
    """Return the instant at which an element enters."""
    return Moment.whole(element.t) if tick is Tick.TIME else Moment.arrival(element.t, stream, element.seq)


def border(t: Instant, tick: Tick) -> Moment:
    """Return the instant at which something ends or closes at `t`.

    The time tick has one instant for each time, so an end and the entries of that time fall together.
    """
    return Moment.whole(t) if tick is Tick.TIME else Moment.before(t)


def instants(streams: Sequence[Sequence[Element]], tick: Tick) -> list[Moment]:
    """Return the instants at which elements of these streams enter, in order."""
    return sorted({entry(element, stream, tick) for stream, elements in enumerate(streams) for element in elements})
