"""Window definitions as a query states them; what they mean is decided in `hydrograph.windows`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hydrograph.temporal import Duration


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The last `width` milliseconds, every `slide` milliseconds (S6); slide None slides continuously (S10)."""

    width: Duration
    slide: Duration | None


@dataclass(frozen=True, slots=True)
class CountWindow:
    """The last `size` elements, or triples, every `slide` of them (S11, A5)."""

    size: int
    slide: int = 1
    triples: bool = False


@dataclass(frozen=True, slots=True)
class PastWindow:
    """The elements between `start` and `end` milliseconds before each report, every `slide` (A5)."""

    start: Duration
    end: Duration
    slide: Duration


@dataclass(frozen=True, slots=True)
class NowWindow:
    """The elements of the newest instant (A5)."""


@dataclass(frozen=True, slots=True)
class AllWindow:
    """Everything since t0 (A5)."""


WindowDefinition: TypeAlias = TimeWindow | CountWindow | PastWindow | NowWindow | AllWindow
