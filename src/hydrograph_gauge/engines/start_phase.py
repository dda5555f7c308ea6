"""Start of a session by the clock: when queries are registered, and when their streams begin.

Engines that go by the clock begin their windows at the registration of a query or at its first element, and some round
that down to a whole second. If neither is controlled, elements fall on either side of a border by chance. Here a query
is registered at the beginning of a second of the clock. Its streams begin at the beginning of a second, too, and a
whole number of slides later; the first element is one that no query asks for. Whatever an engine takes for the origin
of its windows, it lies at the same place of the slide, and all other elements keep their distance from every border.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from hydrograph.rdf.terms import Iri
from hydrograph.temporal import SECOND, Duration, Instant
from hydrograph.windows.stream import Element

REGISTER_WITHIN = 200.0
"""Milliseconds after the beginning of a second in which queries are registered."""


@dataclass(frozen=True, slots=True)
class StartPhase:
    """Queries and streams whose start is controlled."""

    periods: Mapping[str, Duration]
    """By query: the milliseconds after which its windows repeat."""
    readers: Mapping[Iri, str]
    """By stream: the query that reads it. No stream begins at the right place for several of them."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Unix times in milliseconds at which the registration of a query began and was confirmed."""

    told: float
    heard: float

    def is_within(self, phase: Duration) -> bool:
        """Tell whether the query was registered in the first `phase` milliseconds of a second."""
        return self.told // SECOND == self.heard // SECOND and self.heard % SECOND < phase


@dataclass(frozen=True, slots=True)
class Delayed:
    """Pace by event time that begins after a delay of its own, whenever other streams begin."""

    delay: float

    def due(self, elements: Sequence[Element], first: Instant) -> Iterator[float]:  # noqa: ARG002
        """Return the distance of each event from the first of its stream, behind the delay."""
        return (self.delay + element.t - elements[0].t for element in elements)


def wait_to_register(now: float) -> float:
    """Return the milliseconds to wait before a query may be registered.

    >>> wait_to_register(5_150.0), wait_to_register(5_250.0)
    (0.0, 750.0)
    """
    passed = now % SECOND
    return 0.0 if passed <= REGISTER_WITHIN else SECOND - passed


def stream_paces(start: StartPhase, registered: Mapping[str, Registration], now: float) -> dict[Iri, Delayed]:
    """Return the pace of each stream whose query is registered, for a play that begins now; others begin at once."""
    paces = {}
    for stream, query in start.readers.items():
        delay = 0.0
        if (registration := registered.get(query)) is not None:
            origin = registration.heard - registration.heard % SECOND
            period = start.periods[query]
            delay = origin + ceil((now - origin) / period) * period - now
        paces[stream] = Delayed(delay)
    return paces
