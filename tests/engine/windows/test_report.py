"""Report: S12, S13, S31, A1, A11, A13."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow
from hydrograph.errors import UnsupportedError
from hydrograph.temporal import Interval
from hydrograph.windows.content import WindowedStream, place
from hydrograph.windows.report import Multi, Policy, Range, Reported, When, content_at, reports
from hydrograph.windows.scope import Align, Grid
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Tick, instants
from tests.support.oracle_experiments import FOUR_MOVERS, ROOM_CHANGES

CLOSE = Policy()
CLOSE_NON_EMPTY = Policy(non_empty=True)
CHANGE = Policy(When.CONTENT_CHANGE)
CHANGE_AND_EXPIRY = Policy(When.CONTENT_CHANGE, expiry=True)

LENGTHS = st.integers(1, 20)
TIMES = st.lists(st.integers(-30, 60), max_size=12)


def at(*times: int) -> tuple[Element, ...]:
    """Return an empty element for each time."""
    return tuple(Element.of(t, seq) for seq, t in enumerate(times))


def ts(found: list[Reported]) -> list[int]:
    return [report.moment.t for report in found]


def test_window_close_reports_every_close() -> None:
    # 2        12
    # [0--)[5--)[10--)
    windowed = place(TimeWindow(5, 5), at(2, 12))
    found = reports([windowed], CLOSE)
    assert ts(found) == [5, 10, 15]
    assert [report.scope for report in found] == [Interval(0, 5), Interval(5, 10), Interval(10, 15)]


def test_nothing_is_reported_before_the_first_window_with_an_event_nor_after_the_last() -> None:
    # A1, with t0 at the epoch
    assert ts(reports([place(TimeWindow(5, 5), at(1002, 1012))], CLOSE)) == [1005, 1010, 1015]


def test_from_and_until_narrow_and_extend() -> None:
    # A1: (from, until]
    windowed = place(TimeWindow(5, 5), at(12))
    assert ts(reports([windowed], CLOSE, within=Range(5, 25))) == [10, 15, 20, 25]
    assert ts(reports([windowed], CLOSE, within=Range(until=14))) == []
    assert ts(reports([windowed], CLOSE, within=Range(-100, 10))) == [5, 10], "window 0 is the first there is"
    assert ts(reports([place(TimeWindow(5, 5), ())], CLOSE)) == []
    assert ts(reports([place(TimeWindow(5, 5), ())], CLOSE, within=Range(0, 10))) == [5, 10]


@pytest.mark.parametrize(
    ("t0", "until", "closes"),
    [(0, None, [10, 20]), (2, None, [12, 22]), (6, None, [16]), (6, 26, [16, 26])],
)
def test_experiment_1_reports(t0: int, until: int | None, closes: list[int]) -> None:
    windowed = place(TimeWindow(10, 10), ROOM_CHANGES, t0=t0)
    assert ts(reports([windowed], CLOSE, within=Range(until=until))) == closes


def test_experiment_2_non_empty_is_silent_about_empty_windows() -> None:
    # C-SPARQL 3 6 - 12 - 18, SPARQLstream 3 6 9 12 15 18
    windowed = place(TimeWindow(3, 3), FOUR_MOVERS)
    assert ts(reports([windowed], CLOSE)) == [3, 6, 9, 12, 15, 18]
    assert ts(reports([windowed], CLOSE_NON_EMPTY)) == [3, 6, 12, 18]


def test_content_change_reports_every_entry_even_of_the_same_triple() -> None:
    windowed = place(TimeWindow(10, None), at(1, 1, 4))
    assert ts(reports([windowed], CHANGE)) == [1, 4]
    assert ts(reports([windowed], CHANGE, Tick.TUPLE)) == [1, 1, 4]


def test_expiry_reports_where_an_element_leaves() -> None:
    # [1----------11)
    #    [4----------14)
    windowed = place(TimeWindow(10, None), at(1, 4))
    assert ts(reports([windowed], CHANGE_AND_EXPIRY)) == [1, 4, 11, 14]


def test_an_end_and_an_entry_of_one_time_are_one_instant_of_the_time_tick_and_two_of_the_tuple_tick() -> None:
    # S12: an event ends at (end, -1), before whatever enters then
    windowed = place(TimeWindow(10, None), at(1, 11))
    assert ts(reports([windowed], CHANGE_AND_EXPIRY, Tick.TIME)) == [1, 11, 21]
    assert ts(reports([windowed], CHANGE_AND_EXPIRY, Tick.TUPLE)) == [1, 11, 11, 21]
    sizes = [
        len(content_at(windowed, report.moment, CHANGE))
        for report in reports([windowed], CHANGE_AND_EXPIRY, Tick.TUPLE)
    ]
    assert sizes == [1, 0, 1, 0]


def test_an_event_in_a_gap_enters_no_content() -> None:
    # [0--)  3  [5--)
    assert ts(reports([place(TimeWindow(2, 5), at(1, 3, 6))], CHANGE)) == [1, 6]


def test_content_change_has_no_window() -> None:
    assert reports([place(TimeWindow(10, 10), at(1))], CHANGE)[0].scope is None


def test_periodic_reports_count_from_t0() -> None:
    #   2 3 4 5 6 7 8 9 10 11 12 13         the event of 4 is visible until 12
    #       |-----------------------)
    windowed = place(TimeWindow(10, 10), at(4), t0=2)
    policy = Policy(When.PERIODIC, period=3)
    assert ts(reports([windowed], policy, t0=2)) == [5, 8, 11]
    assert ts(reports([windowed], policy, within=Range(2, 14), t0=2)) == [5, 8, 11, 14]


def test_periodic_reports_need_a_period() -> None:
    with pytest.raises(UnsupportedError, match="period above zero"):
        reports([place(TimeWindow(10, 10), at(4))], Policy(When.PERIODIC))


def test_a_continuous_slide_never_closes() -> None:
    with pytest.raises(UnsupportedError, match="never closes"):
        reports([place(TimeWindow(10, None), at(4))], CLOSE)


def test_several_windows_report_where_any_closes() -> None:
    # S31  [0----4)[4----8)[8----12)
    #      [0-------6)[6-------12)
    left, right = place(TimeWindow(4, 4), at(1, 9)), place(TimeWindow(6, 6), at(1), stream=1)
    found = reports([left, right], CLOSE)
    assert ts(found) == [4, 6, 8, 12]
    assert [report.scope for report in found] == [None] * 4
    assert [len(content_at(left, report.moment, CLOSE)) for report in found] == [1, 1, 0, 1]
    assert [len(content_at(right, report.moment, CLOSE)) for report in found] == [0, 1, 1, 0]


def test_several_windows_report_where_all_close() -> None:
    left, right = place(TimeWindow(4, 4), at(1, 20)), place(TimeWindow(6, 6), at(1), stream=1)
    assert ts(reports([left, right], Policy(multi=Multi.ALL))) == [12, 24]


def test_windows_that_never_close_together_are_refused() -> None:
    left, right = place(TimeWindow(3, 2), at(1)), place(TimeWindow(4, 2), at(1), stream=1)
    with pytest.raises(UnsupportedError, match="never close together"):
        reports([left, right], Policy(multi=Multi.ALL))


def test_windows_of_one_grid_share_their_scope() -> None:
    # A11
    windows = [place(TimeWindow(5, 5), at(1), stream=number) for number in (0, 1)]
    assert reports(windows, CLOSE)[0].scope == Interval(0, 5)


def test_non_empty_with_several_windows_asks_for_content_in_one() -> None:
    # A13
    left, right = place(TimeWindow(5, 5), ROOM_CHANGES), place(TimeWindow(5, 5), (), stream=1)
    assert ts(reports([left, right], CLOSE_NON_EMPTY)) == [5, 15, 20]


def test_count_windows_report_every_slide_at_single_arrivals() -> None:
    # S11: also under the time tick
    windowed = place(CountWindow(size=3, slide=2), at(1, 1, 1, 5))
    assert ts(reports([windowed], CLOSE)) == [1, 5]
    assert reports([windowed], CLOSE)[0].moment.seq == 1


def test_a_count_window_beside_a_time_window() -> None:
    # A5: one merged domain; at the close of [0, 5) nothing of 5 has entered
    counted, timed = place(CountWindow(size=1), at(2, 5)), place(TimeWindow(5, 5), at(2), stream=1)
    found = reports([counted, timed], CLOSE)
    assert ts(found) == [2, 5, 5]
    newest = [content_at(counted, report.moment, CLOSE)[0].t for report in found]
    assert newest == [2, 2, 5]


def test_now_and_all_report_at_every_entry() -> None:
    for definition in (NowWindow(), AllWindow()):
        assert ts(reports([place(definition, at(1, 1, 4))], CLOSE)) == [1, 4]


def test_a_past_window_is_reported_late() -> None:
    # A5: [NOW-10 TO NOW-4 SLIDE 5], t0 = 0: the first report at 10 is [0, 6)
    found = reports([place(PastWindow(10, 4, 5), at(3))], CLOSE)
    assert [(report.moment.t, report.scope) for report in found] == [(10, Interval(0, 6))]


def test_ticks() -> None:
    streams = [at(1, 4, 4), at(4)]
    assert [moment.t for moment in instants(streams, Tick.TIME)] == [1, 4]
    assert [(m.t, m.stream, m.seq) for m in instants(streams, Tick.TUPLE)] == [
        (1, 0, 0),
        (4, 0, 1),
        (4, 0, 2),
        (4, 1, 0),
    ]


@given(TIMES, LENGTHS, LENGTHS, st.integers(-20, 20), st.sampled_from(Align))
def test_the_reports_hold_every_window_that_holds_an_event(
    times: list[int], width: int, slide: int, t0: int, align: Align
) -> None:
    grid = Grid(width, slide, t0, align)
    found = ts(reports([place(TimeWindow(width, slide), at(*times), t0=t0, align=align)], CLOSE))
    holding = sorted({grid.close(k) for t in times for k in grid.ranks(t)})
    assert set(holding) <= set(found)
    assert found == (list(range(holding[0], holding[-1] + 1, slide)) if holding else [])


@given(TIMES, LENGTHS, st.one_of(LENGTHS, st.none()), st.sampled_from(Tick), st.booleans())
def test_content_changes_only_at_reports(
    times: list[int], width: int, slide: int | None, tick: Tick, expiry: bool
) -> None:
    windowed = place(TimeWindow(width, slide), at(*times), t0=-50)
    policy = Policy(When.CONTENT_CHANGE, expiry=expiry)
    found = reports([windowed], policy, tick)
    assert found == sorted(found, key=lambda report: report.moment)
    everywhere = reports([windowed], Policy(When.PERIODIC, period=1), within=Range(-50, 120), t0=-50)
    reported = set(ts(found))
    previous: tuple[Element, ...] = ()
    for report in everywhere:
        content = content_at(windowed, report.moment, policy)
        entered, left = set(content) - set(previous), set(previous) - set(content)
        if entered or (left and expiry):
            assert report.moment.t in reported
        previous = content


@given(TIMES, LENGTHS, LENGTHS, st.integers(-300, 300), st.sampled_from((CLOSE, CHANGE, CHANGE_AND_EXPIRY)))
def test_shifted_time_shifts_the_reports(times: list[int], width: int, slide: int, by: int, policy: Policy) -> None:
    def found(shift: int) -> list[int]:
        elements = at(*(t + shift for t in times))
        windowed: WindowedStream = place(TimeWindow(width, slide), elements, t0=-10 + shift)
        return [t - shift for t in ts(reports([windowed], policy))]

    assert found(by) == found(0)
