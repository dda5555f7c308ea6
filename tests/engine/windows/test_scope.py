"""Scope: S6-S10."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.errors import QueryError
from hydrograph.temporal import Instant, Interval
from hydrograph.windows.scope import Align, Grid, scopes

LENGTHS = st.integers(1, 30)
GRIDS = st.builds(Grid, LENGTHS, st.one_of(LENGTHS, st.none()), st.integers(-50, 50), st.sampled_from(Align))
INSTANTS = st.integers(-150, 150)
FAR = 500  # more windows than reach any of these instants


def test_overlapping_windows() -> None:
    #              13
    # [0---------)
    #      [5---------)
    #           [10--------)
    assert scopes(Grid(10, 5), t=13) == [Interval(10, 20), Interval(5, 15)]


def test_a_window_does_not_hold_its_close() -> None:
    # S7      10
    # [0------)[10------)
    assert scopes(Grid(10, 10), t=9) == [Interval(0, 10)]
    assert scopes(Grid(10, 10), t=10) == [Interval(10, 20)]


def test_a_gap_between_windows_holds_nothing() -> None:
    #        3
    # [0--)     [5--)
    assert scopes(Grid(2, 5), t=3) == []


def test_aligned_by_close_the_first_windows_are_partial() -> None:
    # S6   t0=0
    #  [-5----|---5)
    #       [0|--------10)
    grid = Grid(10, 5, align=Align.CLOSE)
    assert [grid.close(k) for k in range(3)] == [5, 10, 15]
    assert scopes(grid, t=3) == [Interval(0, 10), Interval(-5, 5)]
    assert scopes(grid, t=-1) == [], "nothing counts before t0, though the first window begins there"


def test_aligned_by_open_the_first_window_opens_at_t0() -> None:
    assert Grid(10, 5, t0=-7).scope(0) == Interval(-7, 3)


def test_the_active_window_is_the_oldest_one_not_yet_closed() -> None:
    # S10          13
    # [0---------)
    #      [5---------)    <- closes at 15, still open at 13
    #           [10--------)
    grid = Grid(10, 5)
    assert grid.scope(grid.active(13)) == Interval(5, 15)
    assert grid.scope(grid.active(15)) == Interval(10, 20)


def test_a_continuous_slide_keeps_an_event_for_the_width() -> None:
    assert Grid(10, None).visible(13) == Interval(13, 23)


def test_an_event_in_a_gap_is_never_visible() -> None:
    assert Grid(2, 5).visible(3) is None


def test_before_the_first_close_no_window_is_closed() -> None:
    grid = Grid(10, 5, t0=3)
    assert [grid.last_closed(t) for t in (12, 13, 17, 18)] == [None, 0, 0, 1]


@pytest.mark.parametrize(("width", "slide"), [(0, 5), (-1, 5), (5, 0), (5, -1)])
def test_lengths_must_be_above_zero(width: int, slide: int) -> None:
    with pytest.raises(QueryError, match="above zero, got"):
        Grid(width, slide)


@given(GRIDS, INSTANTS)
def test_an_instant_is_inside_each_of_its_scopes(grid: Grid, t: Instant) -> None:
    assert all(t in scope for scope in scopes(grid, t))


@given(GRIDS, INSTANTS)
def test_lo_and_hi_name_exactly_the_windows_that_hold_an_instant(grid: Grid, t: Instant) -> None:
    holding = [k for k in range(FAR) if t >= grid.t0 and grid.open(k) <= t < grid.close(k)]
    assert list(grid.ranks(t)) == holding


@given(GRIDS, INSTANTS)
def test_the_active_window_by_counting(grid: Grid, t: Instant) -> None:
    assert grid.active(t) == next(k for k in range(FAR) if grid.close(k) > t)


@given(GRIDS, INSTANTS)
def test_the_last_closed_window_by_counting(grid: Grid, t: Instant) -> None:
    closed = [k for k in range(FAR) if grid.close(k) <= t]
    assert grid.last_closed(t) == (closed[-1] if closed else None)


@given(GRIDS, INSTANTS, INSTANTS)
def test_an_event_is_visible_while_the_active_window_holds_it(grid: Grid, t: Instant, now: Instant) -> None:
    in_active = t >= grid.t0 and grid.open(grid.active(now)) <= t <= now
    seen = grid.visible(t)
    assert in_active == (seen is not None and now in seen)


@given(GRIDS, INSTANTS, INSTANTS)
def test_lo_and_hi_never_fall(grid: Grid, t: Instant, later: Instant) -> None:
    t, later = sorted((t, later))
    assert grid.lo(t) <= grid.lo(later)
    assert grid.hi(t) <= grid.hi(later)


@given(GRIDS, INSTANTS, st.integers(-1000, 1000))
def test_shifted_time_shifts_everything(grid: Grid, t: Instant, by: int) -> None:
    shifted = Grid(grid.width, grid.slide, grid.t0 + by, grid.align)
    assert scopes(shifted, t + by) == [Interval(s.start + by, s.end + by) for s in scopes(grid, t)]


@given(st.integers(-(2**62), 2**62), LENGTHS, LENGTHS)
def test_large_times_stay_exact(t: Instant, width: int, slide: int) -> None:
    grid = Grid(width, slide, t0=t - 3)
    assert all(t in scope for scope in scopes(grid, t))
    assert scopes(grid, t) == [Interval(s.start + t, s.end + t) for s in scopes(Grid(width, slide, t0=-3), 0)]
