"""SECRET's *scope*: which windows hold an instant (S6-S10), in closed form and whole milliseconds.

Window k = 0, 1, 2, … closes at `first_close + k·slide` and holds `close - width <= τ < close`, for τ >= t0.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hydrograph.algebra.windows import TimeWindow
from hydrograph.errors import QueryError
from hydrograph.temporal import Duration, Instant, Interval


class Align(StrEnum):
    """Alignment at t0 (S6): t0 is the opening of the first window, or one slide before the first close."""

    OPEN = "open"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Grid:
    """The windows of one definition, placed in time (S6).

    A slide of None slides continuously: the limit of S10, one window for each millisecond.

    >>> Grid(width=10, slide=5).scope(2)
    Interval(start=10, end=20)
    >>> Grid(width=10, slide=5, align=Align.CLOSE).scope(0)
    Interval(start=-5, end=5)
    """

    width: Duration
    slide: Duration | None
    t0: Instant = 0
    align: Align = Align.OPEN

    def __post_init__(self) -> None:
        """Refuse widths and slides that are not above zero."""
        if self.width <= 0:
            raise QueryError(f"expected a window width above zero, got {self.width} ms")
        if self.slide is not None and self.slide <= 0:
            raise QueryError(f"expected a window slide above zero, got {self.slide} ms")

    @classmethod
    def of(cls, window: TimeWindow, t0: Instant = 0, align: Align = Align.OPEN) -> Grid:
        """Return the grid of a definition."""
        return cls(window.width, window.slide, t0, align)

    @property
    def step(self) -> Duration:
        """The distance of two closes."""
        return 1 if self.slide is None else self.slide

    @property
    def first_close(self) -> Instant:
        """The close of window 0."""
        return self.t0 + (self.width if self.align is Align.OPEN else self.step)

    def close(self, k: int) -> Instant:
        """Return the first instant after window k."""
        return self.first_close + k * self.step

    def open(self, k: int) -> Instant:
        """Return the first instant of window k."""
        return self.close(k) - self.width

    def scope(self, k: int) -> Interval:
        """Return window k as `[open, close)`; it may begin before t0, its content does not (S7)."""
        return Interval(self.open(k), self.close(k))

    def lo(self, t: Instant) -> int:
        """Return the first window that closes after `t` (S8)."""
        return max(0, (t - self.first_close) // self.step + 1)

    def hi(self, t: Instant) -> int:
        """Return the first window that opens after `t` (S8)."""
        return max(0, (t - self.first_close + self.width) // self.step + 1)

    def ranks(self, t: Instant) -> range:
        """Return the windows that hold `t`: `lo(t) <= k < hi(t)`, none before t0 or in a gap between windows.

        >>> Grid(width=10, slide=5).ranks(13), len(Grid(width=2, slide=5).ranks(3))
        (range(1, 3), 0)
        """
        return range(self.lo(t), self.hi(t)) if t >= self.t0 else range(0)

    def active(self, t: Instant) -> int:
        """Return the active window at `t`: the oldest one not yet closed (S10)."""
        return self.lo(t)

    def last_closed(self, t: Instant) -> int | None:
        """Return the newest window with `close <= t`, None before the first close (S31)."""
        k = (t - self.first_close) // self.step
        return k if k >= 0 else None

    def visible(self, t: Instant) -> Interval | None:
        """Return when content-change reporting sees an event of `t`: from `t` to its last window's close (S10).

        >>> Grid(width=10, slide=5).visible(13), Grid(width=10, slide=None).visible(13)
        (Interval(start=13, end=20), Interval(start=13, end=23))
        """
        ranks = self.ranks(t)
        return Interval(t, self.close(ranks[-1])) if ranks else None


def scopes(grid: Grid, t: Instant) -> list[Interval]:
    """Return the windows that hold `t`, newest first.

    >>> scopes(Grid(width=10, slide=5), t=13)
    [Interval(start=10, end=20), Interval(start=5, end=15)]
    """
    return [grid.scope(k) for k in reversed(grid.ranks(t))]
