"""Content: S7, S10, S11, S31, A5."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow
from hydrograph.windows.content import Elements, at_close, at_instant, count_ranks, of_count, of_window, place
from hydrograph.windows.scope import Align, Grid
from hydrograph.windows.stream import Element, canonical, delayed, merged
from hydrograph.windows.tick import Moment, Tick
from tests.support.oracle_experiments import FOUR_MOVERS, ROOM_CHANGES, detected

LENGTHS = st.integers(1, 20)
GRIDS = st.builds(Grid, LENGTHS, LENGTHS, st.integers(-30, 30), st.sampled_from(Align))
STREAMS = st.lists(st.tuples(st.integers(-40, 60), st.sampled_from("abcd")), max_size=20).map(
    lambda events: stream(*events)
)
MOMENTS = st.integers(-40, 80)


def stream(*events: tuple[int, str]) -> Elements:
    """Return elements of one triple each: `stream((3, "a"), (5, "b"))`."""
    return tuple(Element.of(t, seq, detected(name, "r")) for seq, (t, name) in enumerate(events))


def times(elements: Elements) -> list[int]:
    return [element.t for element in elements]


@pytest.mark.parametrize(
    ("t0", "first", "second"),
    [
        (0, [1, 3], [12, 15]),
        (1, [1, 3], [12, 15]),
        (2, [3], [12, 15]),
        (3, [3, 12], [15]),
        (4, [12], [15]),
        (5, [12], [15]),
        (6, [12, 15], []),
    ],
)
def test_experiment_1_at_every_t0(t0: int, first: list[int], second: list[int]) -> None:
    #  1 3        12 15
    # [0--------)[10-------)        t0 = 0
    #       [6--------)[16-------)  t0 = 6
    grid = Grid(10, 10, t0)
    assert [times(of_window(grid, k, ROOM_CHANGES)) for k in (0, 1)] == [first, second]


def test_experiment_2_no_window_holds_two_movers() -> None:
    grid = Grid(3, 3)
    assert [times(of_window(grid, k, FOUR_MOVERS)) for k in range(6)] == [[0], [5], [], [10], [], [15]]


def test_a_triple_that_comes_twice_is_there_once() -> None:
    # S3
    assert merged(stream((1, "a"), (2, "a"))) == {detected("a", "r")}


def test_arrival_order_does_not_matter() -> None:
    elements = (Element.of(9, 0), Element.of(2, 1), Element.of(5, 2))
    assert times(place(TimeWindow(10, 10), elements).elements) == [2, 5, 9]


def test_the_active_content_holds_what_has_come_and_not_left() -> None:
    # S10     7
    # [0---------10)
    #      [5---------15)
    # 1 3 6    9         the oldest open window at 7 is [0, 10)
    windowed = place(TimeWindow(10, 5), stream((1, "a"), (3, "b"), (6, "c"), (9, "d")))
    assert times(at_instant(windowed, Moment.whole(7))) == [1, 3, 6]
    assert times(at_instant(windowed, Moment.whole(10))) == [6, 9]


def test_a_continuous_slide_holds_the_last_width() -> None:
    # (3, 13] at 13
    windowed = place(TimeWindow(10, None), stream((3, "a"), (4, "b"), (13, "c"), (14, "d")))
    assert times(at_instant(windowed, Moment.whole(13))) == [4, 13]


def test_one_after_the_other_events_of_one_time_enter_singly() -> None:
    # S12
    windowed = place(TimeWindow(10, 10), stream((5, "a"), (5, "b"), (5, "c")))
    assert [len(at_instant(windowed, Moment.arrival(5, 0, seq))) for seq in range(3)] == [1, 2, 3]
    assert len(at_instant(windowed, Moment.before(5))) == 0
    assert len(at_instant(windowed, Moment.whole(5))) == 3


def test_the_last_closed_window_before_any_closed_is_empty() -> None:
    windowed = place(TimeWindow(10, 5), stream((1, "a")))
    assert [len(at_close(windowed, Moment.whole(t))) for t in (9, 10, 14, 15)] == [0, 1, 1, 0]


def test_a_count_window_holds_the_last_elements_not_distinct_triples() -> None:
    # S11; a a a b: the last two elements are a, b
    elements = stream((1, "a"), (2, "a"), (3, "a"), (4, "b"))
    assert times(of_count(CountWindow(size=2), elements, 4)) == [3, 4]
    assert times(of_count(CountWindow(size=2), elements, 1)) == [1]


def test_a_count_of_triples_never_splits_an_element() -> None:
    # A5: | a b | c | d e f |   the last 2 triples are the last element, the last 4 the last two
    elements = (
        Element.of(1, 0, detected("a", "r"), detected("b", "r")),
        Element.of(2, 1, detected("c", "r")),
        Element.of(3, 2, *(detected(name, "r") for name in "def")),
    )
    sizes = {1: [3], 2: [3], 3: [3], 4: [2, 3], 5: [1, 2, 3], 9: [1, 2, 3]}
    for size, expected in sizes.items():
        assert times(of_count(CountWindow(size, triples=True), elements, 3)) == expected


def test_a_count_of_triples_reports_where_it_passes_the_slide() -> None:
    # triples after each element: 2, 3, 6
    elements = (
        Element.of(1, 0, detected("a", "r"), detected("b", "r")),
        Element.of(2, 1, detected("c", "r")),
        Element.of(3, 2, *(detected(name, "r") for name in "def")),
    )
    assert count_ranks(CountWindow(5, slide=2, triples=True), elements) == [1, 3]
    assert count_ranks(CountWindow(5, slide=1, triples=True), elements) == [1, 2, 3]


def test_between_its_reports_a_count_window_shows_its_last_closed_content() -> None:
    windowed = place(CountWindow(size=2, slide=2), stream((1, "a"), (2, "b"), (3, "c"), (4, "d")))
    assert [times(at_close(windowed, Moment.whole(t))) for t in (1, 2, 3, 4)] == [[], [1, 2], [1, 2], [3, 4]]
    assert times(at_instant(windowed, Moment.whole(3))) == [2, 3]


def test_now_holds_the_newest_instant() -> None:
    windowed = place(NowWindow(), stream((1, "a"), (4, "b"), (4, "c")))
    assert times(at_instant(windowed, Moment.whole(3))) == [1]
    assert times(at_instant(windowed, Moment.whole(4))) == [4, 4]
    assert times(at_instant(windowed, Moment.arrival(4, 0, 1), Tick.TUPLE)) == [4]
    assert times(at_instant(windowed, Moment.before(9), Tick.TUPLE)) == [4], "each element alone, at any tick"
    assert times(at_instant(windowed, Moment.whole(0))) == []


def test_all_holds_everything_since_t0() -> None:
    windowed = place(AllWindow(), stream((1, "a"), (4, "b"), (9, "c")), t0=2)
    assert times(at_instant(windowed, Moment.whole(8))) == [4]


def test_a_past_window_is_the_window_closed_so_much_earlier() -> None:
    # A5: [NOW-10 TO NOW-4 SLIDE 5] at 15 is [5, 11)
    windowed = place(PastWindow(10, 4, 5), stream((4, "a"), (5, "b"), (10, "c"), (11, "d")))
    assert times(delayed(at_close(windowed, Moment.whole(15)), -4)) == [5, 10]


@given(GRIDS, STREAMS, st.integers(0, 60))
def test_content_is_what_the_scope_holds(grid: Grid, elements: Elements, k: int) -> None:
    held = [e for e in canonical(elements) if k in grid.ranks(e.t)]
    assert list(of_window(grid, k, canonical(elements))) == held


@given(GRIDS, STREAMS, STREAMS, st.integers(0, 60))
def test_the_content_of_two_streams_is_the_union(grid: Grid, one: Elements, other: Elements, k: int) -> None:
    both = merged(of_window(grid, k, canonical([*one, *other])))
    assert both == merged(of_window(grid, k, canonical(one))) | merged(of_window(grid, k, canonical(other)))


@given(GRIDS, STREAMS, MOMENTS)
def test_an_element_is_seen_at_an_instant_while_it_is_visible(grid: Grid, elements: Elements, t: int) -> None:
    windowed = place(TimeWindow(grid.width, grid.slide), elements, t0=grid.t0, align=grid.align)
    seen = [e for e in windowed.elements if (visible := grid.visible(e.t)) is not None and t in visible]
    assert list(at_instant(windowed, Moment.whole(t))) == seen


@given(STREAMS, st.integers(1, 6), st.integers(1, 4))
def test_an_element_is_in_a_count_window_for_as_many_ranks_as_it_holds(elements: Elements, size: int, n: int) -> None:
    # S11: event i (1-based) on the ranks [i, i + N), as far as there are ranks
    n = min(n, len(elements))
    held = [e for i, e in enumerate(elements, 1) if i <= n < i + size]
    assert list(of_count(CountWindow(size), elements, n)) == held
