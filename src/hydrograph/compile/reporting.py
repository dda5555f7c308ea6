"""How reports are found where they form no grid: what makes an instant, and when an element is seen (S10-S13, S31, A5).

Records only. `instants` makes steps of them; `hydrograph.windows` is what they are checked against.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from hydrograph.temporal import Duration, Instant
from hydrograph.windows.report import Policy
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Tick


@dataclass(frozen=True, slots=True)
class Timed:
    """A time window: its grid, which a past window has `delay` later than its elements."""

    grid: Grid
    delay: Duration = 0


class Unit(Enum):
    """What a window counts."""

    ELEMENTS = "elements"
    TRIPLES = "triples"
    TIMES = "times"
    """Different times: the instants of the time tick."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The last `size` units, every `slide` of them; NOW is the last one (A5)."""

    size: int
    slide: int
    unit: Unit


@dataclass(frozen=True, slots=True)
class Everything:
    """All elements since t0."""


Sight: TypeAlias = Timed | Counted | Everything
"""When a window shows an element."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The reports of a query, to be found in its data."""

    policy: Policy
    tick: Tick
    t0: Instant
    closes: str
    """The table of the instants `t` that are known before any data is read: closes of time windows, or periods."""
    after: Instant | None = None
    until: Instant | None = None
    bucket: Duration = 1
    """Running sums are taken bucket by bucket of so many milliseconds, because one over all rows would be one task."""
    shared: bool = True
    """Whether several patterns read what a window shows, so that it is computed once."""
    moving: bool = False
    """Whether `after`, `until` and what windows have counted before are parameters of every run, and not fixed here."""
