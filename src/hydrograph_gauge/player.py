"""Player of recorded streams: hands over each element when it is due, and records when that really was.

Clock and random seed are arguments. Due times are milliseconds since the start.
"""

from __future__ import annotations

import heapq
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Instant
from hydrograph.windows.stream import Element

Item = TypeVar("Item")


class Pace(Protocol):
    """Due times of the elements of one stream."""

    def due(self, elements: Sequence[Element], first: Instant) -> Iterable[float]:
        """Return the due time of each element; `first` is the earliest event time of all streams."""


@dataclass(frozen=True, slots=True)
class ByEventTime:
    """As the stream was recorded, `speed` times as fast."""

    speed: float = 1.0

    def due(self, elements: Sequence[Element], first: Instant) -> Iterator[float]:
        """Return the distance of each event from the first."""
        return ((element.t - first) / self.speed for element in elements)


@dataclass(frozen=True, slots=True)
class AsFastAsTaken:
    """Without a pause: only the receiver limits the rate."""

    def due(self, elements: Sequence[Element], first: Instant) -> Iterator[float]:  # noqa: ARG002
        """Return 0 for every element."""
        return (0.0 for _ in elements)


@dataclass(frozen=True, slots=True)
class AtRate:
    """At the elements a second that `rate` returns for each moment, in milliseconds since the start."""

    rate: Callable[[float], float]

    def due(self, elements: Sequence[Element], first: Instant) -> Iterator[float]:  # noqa: ARG002
        """Return due times whose distance follows from the rate at the earlier one."""
        at = 0.0
        for _ in elements:
            yield at
            at += 1000 / self.rate(at)


def constant(rate: float) -> Callable[[float], float]:
    """Return the same rate at all times."""
    return lambda _: rate


def ramp(start: float, end: float, over: float) -> Callable[[float], float]:
    """Return a rate that goes evenly from `start` to `end` in `over` milliseconds and stays there."""
    return lambda at: start + (end - start) * min(at / over, 1.0)


def burst(base: float, peak: float, period: float, length: float) -> Callable[[float], float]:
    """Return a rate that is `peak` for the first `length` milliseconds of every period, and `base` for the rest."""
    return lambda at: peak if at % period < length else base


@dataclass(frozen=True, slots=True)
class AtRandom:
    """With random distances (exponential), on average so many elements a second."""

    rate: float
    seed: int

    def due(self, elements: Sequence[Element], first: Instant) -> Iterator[float]:  # noqa: ARG002
        """Return due times that are the same for the same seed."""
        draw = random.Random(self.seed)
        at = 0.0
        for _ in elements:
            at += draw.expovariate(self.rate / 1000)
            yield at


@dataclass(frozen=True, slots=True)
class Handed:
    """Element with the time at which the engine took it, and when that was due."""

    stream: Iri
    element: Element
    due: float
    at: float
    told: float | None = None
    """Time at which the adapter was told; None if the engine did not acknowledge, so that `at` is this time."""

    @property
    def sent(self) -> float:
        """Time at which the adapter was told: delays count from here, since a slow engine lets elements wait."""
        return self.at if self.told is None else self.told


class Clock(Protocol):
    """Clock in milliseconds that can wait for a time."""

    def now(self) -> float:
        """Return the time."""

    def wait(self, until: float) -> None:
        """Return at that time."""


class WallClock:
    """The time since it was made."""

    def __init__(self) -> None:
        """Start at 0."""
        self._start = time.monotonic()

    def now(self) -> float:
        """Return the milliseconds since the start."""
        return (time.monotonic() - self._start) * 1000

    def wait(self, until: float) -> None:
        """Sleep, if that time is to come."""
        if (left := until - self.now()) > 0:
            time.sleep(left / 1000)


def schedule(streams: Mapping[Iri, Sequence[Element]], paces: Mapping[Iri, Pace]) -> Iterator[Handed]:
    """Return all elements in the order in which they are due, `at` being that time; ties go by event time."""
    first = min((elements[0].t for elements in streams.values() if elements), default=0)

    def timed(name: Iri, elements: Sequence[Element]) -> Iterator[tuple[float, Instant, int, Handed]]:
        place = list(streams).index(name)
        for element, due in zip(elements, paces[name].due(elements, first), strict=True):
            yield due, element.t, place, Handed(name, element, due, due)

    lists = [timed(name, elements) for name, elements in streams.items()]
    yield from (handed for *_, handed in heapq.merge(*lists, key=lambda each: each[:3]))


def pace(items: Iterable[Item], due: Callable[[Item], float], clock: Clock) -> Iterator[tuple[Item, float]]:
    """Yield each item when it is due, with the time at which it really was; times are milliseconds of the clock."""
    for item in items:
        clock.wait(due(item))
        yield item, clock.now()


def play(
    streams: Mapping[Iri, Sequence[Element]],
    paces: Mapping[Iri, Pace],
    hand_over: Callable[[Iri, Element], None],
    clock: Clock,
    played: list[Handed] | None = None,
) -> list[Handed]:
    """Hand over every element when it is due, and return when each was.

    `hand_over` comes back when the element has been taken; for one execution after the other, when that is finished.
    Pass `played` to keep the record of a play that fails.
    """
    played = [] if played is None else played
    for each, at in pace(schedule(streams, paces), lambda handed: handed.due, clock):
        hand_over(each.stream, each.element)
        played.append(Handed(each.stream, each.element, each.due, at))
    return played
