"""SECRET's *report*: the instants at which a query is evaluated (S13, S31, A1), in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import gcd
from typing import assert_never

from hydrograph.algebra.windows import CountWindow
from hydrograph.errors import UnsupportedError
from hydrograph.temporal import Duration, Instant, Interval
from hydrograph.windows.content import Elements, WindowedStream, at_close, at_instant, count_ranks
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Moment, Tick, border, entry


class When(StrEnum):
    """What makes an instant reported."""

    WINDOW_CLOSE = "window-close"
    CONTENT_CHANGE = "content-change"
    PERIODIC = "periodic"


class Multi(StrEnum):
    """Which closes of several windows count (S31)."""

    ANY = "any"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Policy:
    """A report strategy (S13)."""

    when: When = When.WINDOW_CLOSE
    expiry: bool = False
    """Content change: report also where an element leaves."""
    non_empty: bool = False
    """Report only where some window has content (A13)."""
    period: Duration | None = None
    """Periodic: report every so often, counted from t0."""
    multi: Multi = Multi.ANY


ON_CLOSE = Policy()


@dataclass(frozen=True, slots=True)
class Range:
    """The reported part `(after, until]` of time; None leaves an end to the data (A1)."""

    after: Instant | None = None
    until: Instant | None = None


EVERYTHING = Range()


@dataclass(frozen=True, slots=True)
class Reported:
    """One report instant; `scope` where it is the close of one time window (A11)."""

    moment: Moment
    scope: Interval | None = None


def content_at(windowed: WindowedStream, moment: Moment, policy: Policy, tick: Tick = Tick.TIME) -> Elements:
    """Return what a window contributes at a report: its last closed content, or what is visible (S10, S31).

    `tick` is the one in force, see `domain_tick`.
    """
    if policy.when is When.WINDOW_CLOSE:
        return at_close(windowed, moment, tick)
    return at_instant(windowed, moment, tick)


def domain_tick(windows: Iterable[WindowedStream], tick: Tick) -> Tick:
    """Return the tick in force: count windows live on single arrivals, whatever the profile says (S11, A5)."""
    return Tick.TUPLE if any(isinstance(windowed.definition, CountWindow) for windowed in windows) else tick


def reports(
    windows: Sequence[WindowedStream],
    policy: Policy,
    tick: Tick = Tick.TIME,
    within: Range = EVERYTHING,
    t0: Instant = 0,
) -> list[Reported]:
    """Return the report instants of a query over these windows, in order."""
    tick = domain_tick(windows, tick)
    match policy.when:
        case When.WINDOW_CLOSE:
            moments = _closes(windows, policy.multi, tick, within)
        case When.CONTENT_CHANGE:
            moments = [m for windowed in windows for m in _changes(windowed, tick, expiry=policy.expiry)]
        case When.PERIODIC:
            moments = _periods(windows, policy.period, within, t0)
        case _:
            assert_never(policy.when)
    after, until = within.after, within.until
    kept = sorted({m for m in moments if (after is None or m.t > after) and (until is None or m.t <= until)})
    found = [
        Reported(moment, scope_at(windows, moment.t) if policy.when is When.WINDOW_CLOSE else None) for moment in kept
    ]
    if policy.non_empty:
        found = [report for report in found if _has_content(windows, report.moment, policy, tick)]
    return found


def _has_content(windows: Iterable[WindowedStream], moment: Moment, policy: Policy, tick: Tick) -> bool:
    return any(element.triples for windowed in windows for element in content_at(windowed, moment, policy, tick))


def scope_at(windows: Sequence[WindowedStream], t: Instant) -> Interval | None:
    """Return the one scope all windows of the query close at `t`, None where there is no such one (A11)."""
    found = set()
    for windowed in windows:
        k = windowed.grid.last_closed(t) if windowed.grid is not None else None
        if windowed.grid is None or k is None or windowed.grid.close(k) != t:
            return None
        scope = windowed.grid.scope(k)
        found.add(Interval(scope.start - windowed.delay, scope.end - windowed.delay))
    return found.pop() if len(found) == 1 else None


def _closes(windows: Sequence[WindowedStream], multi: Multi, tick: Tick, within: Range) -> list[Moment]:
    """Return the closes of the windows; by default from the first that holds an element to the last (A1)."""
    if multi is Multi.ALL:
        _require_meeting(windows)
    grids = [windowed.grid for windowed in windows if windowed.grid is not None]
    if any(grid.slide is None for grid in grids):
        raise UnsupportedError("a continuously sliding window never closes; give it a slide, or report content change")
    held = [k for windowed in windows for k in _held(windowed)]
    first = min(held, default=None) if within.after is None else within.after + 1
    last = max(held, default=None) if within.until is None else within.until
    if first is None or last is None:
        return _ranked(windows, tick)
    sets = [{border(t, tick) for t in _closes_between(grid, first, last)} for grid in grids]
    if not sets:
        return _ranked(windows, tick)
    combine: Callable[..., set[Moment]] = set.union if multi is Multi.ANY else set.intersection
    return [*combine(*sets), *_ranked(windows, tick)]


def _held(windowed: WindowedStream) -> list[Instant]:
    """Return the first and the last close of the windows that hold an element."""
    grid = windowed.grid
    if grid is None:
        return []
    ranks = [grid.ranks(element.t) for element in windowed.elements]
    return [grid.close(k) for rank in ranks if rank for k in (rank[0], rank[-1])]


def _closes_between(grid: Grid, first: Instant, last: Instant) -> Iterable[Instant]:
    k_first = grid.lo(first - 1)
    k_last = grid.last_closed(last)
    return (grid.close(k) for k in range(k_first, -1 if k_last is None else k_last + 1))


def _ranked(windows: Iterable[WindowedStream], tick: Tick) -> list[Moment]:
    """Return where the windows without a grid close: count windows at their ranks, NOW and ALL at every entry (A5)."""
    moments = []
    for windowed in windows:
        if windowed.grid is not None:
            continue
        if isinstance(windowed.definition, CountWindow):
            elements = [windowed.elements[n - 1] for n in count_ranks(windowed.definition, windowed.elements)]
        else:
            elements = list(windowed.elements)
        moments += [entry(element, windowed.stream, tick) for element in elements]
    return moments


def _require_meeting(windows: Sequence[WindowedStream]) -> None:
    """Refuse `multi=all` where the closes never meet: by the Chinese remainder theorem, pairs decide."""
    grids = [windowed.grid for windowed in windows]
    for number, left in enumerate(grids):
        for right in grids[number:]:
            if left is None or right is None:
                raise UnsupportedError("reports where all windows close need time windows only")
            if (left.first_close - right.first_close) % gcd(left.step, right.step):
                raise UnsupportedError("these windows never close together; report where any of them closes")


def _changes(windowed: WindowedStream, tick: Tick, *, expiry: bool) -> Iterable[Moment]:
    """Return where elements enter the window, and leave it if asked for; what lies in a gap does neither (S13)."""
    for element in windowed.elements:
        if windowed.grid is None:
            yield entry(element, windowed.stream, tick)
        elif (seen := windowed.grid.visible(element.t)) is not None:
            yield entry(element, windowed.stream, tick)
            if expiry:
                yield border(seen.end, tick)


def _periods(windows: Iterable[WindowedStream], period: Duration | None, within: Range, t0: Instant) -> list[Moment]:
    """Return the multiples of the period after t0; by default from the first element to the last visible one (A1)."""
    if period is None or period <= 0:
        raise UnsupportedError(f"periodic reporting needs a period above zero, got {period}")
    entries = [element.t for windowed in windows for element in windowed.elements]
    ends = []
    for windowed in windows:
        for element in windowed.elements:
            seen = windowed.grid.visible(element.t) if windowed.grid is not None else None
            ends.append(seen.end - 1 if seen is not None else element.t + period - 1)
    first = min(entries, default=None) if within.after is None else within.after + 1
    last = max(ends, default=None) if within.until is None else within.until
    if first is None or last is None:
        return []
    numbers = range(max(1, -((t0 - first) // period)), (last - t0) // period + 1)
    return [Moment.whole(t0 + n * period) for n in numbers]
