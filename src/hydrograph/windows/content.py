"""SECRET's *content*: the elements of a window, at a close or at an instant (S7, S10, S11, S31, A5).

Every function returns elements in canonical order; `hydrograph.windows.stream.merged` makes them a graph.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias, assert_never

from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.temporal import Duration, Instant
from hydrograph.windows.scope import Align, Grid
from hydrograph.windows.stream import Element, canonical, delayed
from hydrograph.windows.tick import Moment, Tick

Elements: TypeAlias = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class WindowedStream:
    """One window of a query over its stream, placed in time.

    `elements` are those since t0, in canonical order. A past window is a time window over the stream delayed by
    `delay` (A5): its elements and its grid are shifted, so that every other rule stays as it is.
    """

    definition: WindowDefinition
    elements: Elements
    stream: int = 0
    grid: Grid | None = None
    delay: Duration = 0


def place(
    definition: WindowDefinition,
    elements: Sequence[Element],
    *,
    t0: Instant = 0,
    align: Align = Align.OPEN,
    stream: int = 0,
) -> WindowedStream:
    """Lay a window over a stream; `stream` is the stream's rank among those of the query, which breaks ties (A5)."""
    since = canonical(element for element in elements if element.t >= t0)
    match definition:
        case TimeWindow():
            return WindowedStream(definition, since, stream, Grid.of(definition, t0, align))
        case PastWindow(start, end, slide):
            grid = Grid(start - end, slide, t0 + end, align)
            return WindowedStream(definition, delayed(since, end), stream, grid, end)
        case CountWindow() | NowWindow() | AllWindow():
            return WindowedStream(definition, since, stream)
        case _:
            assert_never(definition)


def of_window(grid: Grid, k: int, elements: Sequence[Element]) -> Elements:
    """Return the content of window k: `open <= τ < close` and `τ >= t0` (S7); the elements come in canonical order."""
    first = bisect_left(elements, max(grid.open(k), grid.t0), key=_time)
    end = bisect_left(elements, grid.close(k), key=_time)
    return tuple(elements[first:end])


def of_count(window: CountWindow, elements: Sequence[Element], n: int) -> Elements:
    """Return the content after the first `n` elements: the newest ones that hold `size` elements or triples (S11, A5).

    Triples never split an element: elements are taken, newest first, until there are enough triples.
    """
    seen = elements[:n]
    if not window.triples:
        return tuple(seen[-window.size :])
    taken, triples = 0, 0
    while triples < window.size and taken < len(seen):
        taken += 1
        triples += len(seen[-taken].triples)
    return tuple(seen[len(seen) - taken :])


def count_ranks(window: CountWindow, elements: Sequence[Element]) -> list[int]:
    """Return the numbers of elements after which a count window reports: at every further `slide` of them (S11).

    Triples are counted since t0; an element that passes a multiple of `slide` reports, once, after it is whole (A5).

    >>> count_ranks(CountWindow(size=3, slide=2), [Element.of(t, t) for t in range(5)])
    [2, 4]
    """
    counts = accumulate((len(element.triples) if window.triples else 1 for element in elements), initial=0)
    passed = [count // window.slide for count in counts]
    return [n for n in range(1, len(passed)) if passed[n] > passed[n - 1]]


def entered(windowed: WindowedStream, moment: Moment) -> Elements:
    """Return the elements that have entered at a moment."""
    end = bisect_right(windowed.elements, moment, key=lambda e: Moment.arrival(e.t, windowed.stream, e.seq))
    return windowed.elements[:end]


def newest(elements: Sequence[Element], tick: Tick) -> Elements:
    """Return the elements of the newest instant (A5: NOW): all of one time, or one alone where each is an instant."""
    if not elements:
        return ()
    last = elements[-1]
    if tick is Tick.TUPLE:
        return (last,)
    return tuple(elements[bisect_left(elements, last.t, key=_time) :])


def at_close(windowed: WindowedStream, moment: Moment, tick: Tick = Tick.TIME) -> Elements:
    """Return what a window contributes to window-close reporting: its last closed window (S31).

    Nothing before the first close. A count window closes where it reports; NOW and ALL close at every instant.
    """
    match windowed.definition:
        case TimeWindow() | PastWindow():
            assert windowed.grid is not None
            k = windowed.grid.last_closed(moment.t)
            return () if k is None else of_window(windowed.grid, k, windowed.elements)
        case CountWindow() as window:
            seen = entered(windowed, moment)
            ranks = count_ranks(window, seen)
            return of_count(window, seen, ranks[-1]) if ranks else ()
        case NowWindow():
            return newest(entered(windowed, moment), tick)
        case AllWindow():
            return entered(windowed, moment)
        case _:
            assert_never(windowed.definition)


def at_instant(windowed: WindowedStream, moment: Moment, tick: Tick = Tick.TIME) -> Elements:
    """Return what is visible at a moment: of the active window, the elements that have entered (S10).

    A count window shows its last elements, whatever its slide.
    """
    seen = entered(windowed, moment)
    match windowed.definition:
        case TimeWindow() | PastWindow():
            assert windowed.grid is not None
            return of_window(windowed.grid, windowed.grid.active(moment.t), seen)
        case CountWindow() as window:
            return of_count(window, seen, len(seen))
        case NowWindow():
            return newest(seen, tick)
        case AllWindow():
            return seen
        case _:
            assert_never(windowed.definition)


def _time(element: Element) -> Instant:
    return element.t
