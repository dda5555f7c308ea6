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
from hydrograph_gauge.judge.gracious_mode import recover_borders
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
