"""SECRET's *report*: the instants at which a query is evaluated (S13, S31, A1), in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import gcd
from typing import TypeAlias, assert_never

from hydrograph.algebra.windows import CountWindow
from hydrograph.errors import UnsupportedError
from hydrograph.temporal import Duration, Instant, Interval
from hydrograph.windows.content import Elements, WindowedStream, at_close, at_instant, count_ranks
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Moment, Tick, border, entry


class When(StrEnum):
    """Event that makes an instant reported."""

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
    """Return the tick in force: count windows live on single arrivals, whatever the profile (S11, A5)."""
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
    """Return where the windows close: time windows on their grids, the others as elements come (A5)."""
    check_closing([windowed.grid for windowed in windows], multi)
    grids = [(windowed.grid, _held(windowed)) for windowed in windows if windowed.grid is not None]
    return [*(border(t, tick) for t in closing_times(grids, multi, within)), *_ranked(windows, tick)]


Held: TypeAlias = tuple[Instant, Instant] | None
"""The times of the first and of the last element that lies in some window; None where there is none."""


def check_closing(grids: Sequence[Grid | None], multi: Multi) -> None:
    """Refuse windows that never close, and those that never do together where all have to."""
    if multi is Multi.ALL:
        _require_meeting(grids)
    if any(grid is not None and grid.slide is None for grid in grids):
        raise UnsupportedError("a continuously sliding window never closes; give it a slide, or report content change")


def closing_times(grids: Sequence[tuple[Grid, Held]], multi: Multi, within: Range) -> list[Instant]:
    """Return the closes of time windows; by default from the first that holds an element to the last (A1)."""
    found = [(grid, held) for grid, held in grids if held is not None]
    first = min((grid.close(grid.ranks(held[0])[0]) for grid, held in found), default=None)
    last = max((grid.close(grid.ranks(held[1])[-1]) for grid, held in found), default=None)
    first = first if within.after is None else within.after + 1
    last = last if within.until is None else within.until
    if first is None or last is None or not grids:
        return []
    sets = [set(_closes_between(grid, first, last)) for grid, _ in grids]
    return sorted(set.union(*sets) if multi is Multi.ANY else set.intersection(*sets))


def _held(windowed: WindowedStream) -> Held:
    grid = windowed.grid
    held = [element.t for element in windowed.elements if grid is None or grid.ranks(element.t)]
    return (held[0], held[-1]) if held else None


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


def _require_meeting(grids: Sequence[Grid | None]) -> None:
    """Refuse `multi=all` where the closes never meet: by the Chinese remainder theorem, pairs decide."""
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
    held = [(windowed.grid, _held(windowed)) for windowed in windows]
    return [Moment.whole(t) for t in period_times(held, period, within, t0)]


def period_times(
    windows: Iterable[tuple[Grid | None, Held]], period: Duration | None, within: Range, t0: Instant
) -> list[Instant]:
    """Return the multiples of the period after t0; by default from the first element to the last visible one (A1).

    What counts is seen for ever, so one period behind the last element is enough there.
    """
    if period is None or period <= 0:
        raise UnsupportedError(f"periodic reporting needs a period above zero, got {period}")
    found = [(grid, held) for grid, held in windows if held is not None]
    first = min((held[0] for _, held in found), default=None)
    last = max((last_seen(grid, held[1], period) for grid, held in found), default=None)
    first = first if within.after is None else within.after + 1
    last = last if within.until is None else within.until
    if first is None or last is None:
        return []
    return [t0 + n * period for n in range(max(1, -((t0 - first) // period)), (last - t0) // period + 1)]


def last_seen(grid: Grid | None, t: Instant, period: Duration) -> Instant:
    """Return the last instant at which periods may see an event of `t`, or one period behind it (A1)."""
    seen = None if grid is None else grid.visible(t)
    return t + period - 1 if seen is None else seen.end - 1
