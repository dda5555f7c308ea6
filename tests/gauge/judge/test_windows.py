"""Judging windows: YABench's example, its rules for empty answers, and the borders that gracious mode finds again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.rdf.terms import Literal
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_INTEGER
from hydrograph.temporal import Instant, Interval
from hydrograph_gauge.engines.outcome import AnswerBlock
from hydrograph_gauge.judge.gracious_mode import AnswerOver, recover_borders
from hydrograph_gauge.judge.row_compare import score_rows
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.judge_answers import judge_answers


def rows(texts: Iterable[str]) -> Counter[Row]:
    return Counter((Literal(text),) for text in texts)


def report(close: Instant, texts: str) -> Report:
    return Report(close, close - 5000, close, rows(texts))


def test_the_shifted_window_of_the_paper() -> None:
    """Three statements are relevant; the engine's window holds two, one relevant (Kolchin et al. 2016, Fig. 5)."""
    rated = score_rows(rows("abc"), rows("cx"))
    assert (rated.precision, rated.recall) == (Fraction(1, 2), Fraction(1, 3))
    assert (rated.difference.missing, rated.difference.extra) == (rows("ab"), rows("x"))


@pytest.mark.parametrize(
    ("expected", "actual", "precision", "recall"),
    [
        ("", "", 1, 1),
        ("a", "", 0, 0),
        ("", "a", 0, 0),
        ("aab", "ab", 1, Fraction(2, 3)),
        ("ab", "aab", Fraction(2, 3), 1),
    ],
)
def test_empty_answers_and_repeated_rows(expected: str, actual: str, precision: Fraction, recall: Fraction) -> None:
    rated = score_rows(rows(expected), rows(actual))
    assert (rated.precision, rated.recall) == (precision, recall)
    assert rated.right == (expected == actual)


def test_numbers_are_compared_by_value() -> None:
    one: Counter[Row] = Counter([(Literal("1.0E0", XSD_DOUBLE),), (Literal("01", XSD_INTEGER),)])
    other: Counter[Row] = Counter([(Literal("1", XSD_DOUBLE),), (Literal("1", XSD_INTEGER),)])
    assert score_rows(one, other).right


def test_answers_that_name_their_window_are_paired_by_it() -> None:
    reports = [report(5000, "a"), report(6000, "b"), report(7000, "")]
    blocks = [AnswerBlock(7010, rows(""), 7000), AnswerBlock(5020, rows("a"), 5000), AnswerBlock(8001, rows("z"), 8000)]
    found = judge_answers(reports, blocks)
    assert [(each.t, each.precision == each.recall == 1, each.delay) for each in found.windows] == [
        (5000, True, 20),
        (6000, False, None),
        (7000, True, 10),
        (None, False, None),
    ]
    whole = found.outcome
    assert (whole.windows, whole.non_empty, whole.right) == (4, 2, 2)
    assert (whole.precision, whole.recall, whole.missing, whole.extra) == (0.5, 0.5, 1, 1)


def test_answers_without_a_time_are_paired_by_turns() -> None:
    found = judge_answers(
        [report(5000, "a"), report(10_000, "b")], [AnswerBlock(2510, rows("a")), AnswerBlock(4900, rows("b"))], speed=2
    )
    assert [(each.t, each.recall, each.delay) for each in found.windows] == [(5000, 1.0, 10), (10_000, 1.0, -100)]


TIMES = [0, 1031, 2031, 3031, 4031, 5031, 6031, 7031, 8031, 9031, 10_031]


def content(window: Interval) -> Counter[Row]:
    return rows(str(time) for time in TIMES if time in window)


def test_the_borders_of_yabenchs_fourth_experiment() -> None:
    """C-SPARQL's first window began at 1031, so that of five elements four were there."""
    seen = content(Interval(1031, 5000))
    found = recover_borders(Interval(0, 5000), TIMES, seen, content)
    assert (found.window, found.score.right) == (Interval(1031, 5000), True)


@given(st.integers(0, 4), st.integers(0, 4))
def test_a_shift_is_recovered_to_one_timestamp(late_start: int, late_end: int) -> None:
    first, last = TIMES[late_start], TIMES[4 + late_end]
    found = recover_borders(Interval(0, 4032), TIMES, content(Interval(first, last + 1)), content)
    assert found.score.right
    assert found.window == Interval(first, last + 1)


def test_an_answer_of_other_rows_keeps_the_borders_that_were_expected() -> None:
    found = recover_borders(Interval(0, 5000), TIMES, rows("x"), content)
    assert found.window == Interval(0, 5000)
    assert found.score.hits == 0


WINDOW = Interval(3000, 7000)
MOVED = {
    "early start: stale content": Interval(1031, 7000),
    "late start": Interval(4031, 7000),
    "early end: the newest content is missing": Interval(3000, 5032),
    "late end": Interval(3000, 9032),
    "both earlier": Interval(1031, 5032),
    "both later": Interval(5031, 9032),
    "wider": Interval(1031, 9032),
    "narrower": Interval(4031, 5032),
}


def pairs(window: Interval) -> Counter[Row]:
    """A join: each element with each."""
    times = [str(time) for time in TIMES if time in window]
    return Counter((Literal(one), Literal(other)) for one in times for other in times)


def count(window: Interval) -> Counter[Row]:
    """An aggregate, whose one row is right for few borders only."""
    return Counter([(Literal(" ".join(str(time) for time in TIMES if time in window)),)])


@pytest.mark.parametrize("moved", MOVED.values(), ids=MOVED)
@pytest.mark.parametrize("answer", [content, pairs], ids=["rows", "join"])
def test_borders_are_recovered_in_both_directions(moved: Interval, answer: AnswerOver) -> None:
    found = recover_borders(WINDOW, TIMES, answer(moved), answer)
    assert (found.window, found.score.right) == (moved, True)


@pytest.mark.parametrize("moved", [*MOVED.values(), Interval(1000, 5000), Interval(5000, 9000)], ids=str)
def test_borders_of_an_aggregate_are_recovered(moved: Interval) -> None:
    found = recover_borders(WINDOW, TIMES, count(moved), count)
    assert found.score.right
    assert [time for time in TIMES if time in found.window] == [time for time in TIMES if time in moved]


def test_the_search_for_borders_asks_only_as_long_as_it_may() -> None:
    asked: list[Interval] = []

    def answer(window: Interval) -> Counter[Row]:
        asked.append(window)
        return content(window)

    times = range(0, 100_000, 10)
    window, used = Interval(40_000, 60_000), Interval(38_000, 58_001)
    seen = rows(str(time) for time in times if time in used)
    stopped = recover_borders(window, times, seen, answer, lambda: len(asked) < 50)
    assert len(asked) <= 50
    assert stopped.window == window or stopped.score.hits > 0
    assert len(set(asked)) == len(asked)


def test_of_borders_that_fit_as_well_the_nearest_to_those_due_are_taken() -> None:
    """Elements at 5031 and 6031 make no row, so that the window may have ended before or after them."""

    def some(window: Interval) -> Counter[Row]:
        return Counter(
            {row: n for row, n in content(window).items() if row[0] not in (Literal("5031"), Literal("6031"))}
        )

    found = recover_borders(WINDOW, TIMES, some(Interval(1031, 4500)), some)
    assert found.window == Interval(1031, 7000)
