"""Relation to stream: S29."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from hydrograph.algebra.queries import StreamOperator
from hydrograph.windows.r2s import as_set, difference, dstream, istream, rstream, streamed

BAGS = st.lists(st.sampled_from("abc"), max_size=6).map(Counter)
ANSWERS = st.lists(BAGS, max_size=8)


def test_the_bag_difference_keeps_duplicates() -> None:
    assert istream(Counter("a"), Counter("aaab")) == Counter("aab")
    assert dstream(Counter("aab"), Counter("ac")) == Counter("ab")


def test_the_set_difference_does_not() -> None:
    assert difference(StreamOperator.ISTREAM, Counter("a"), Counter("aaab"), sets=True) == Counter("b")
    assert difference(StreamOperator.DSTREAM, Counter("aab"), Counter("a"), sets=True) == Counter("b")


def test_before_the_first_report_there_was_nothing() -> None:
    assert list(streamed(StreamOperator.ISTREAM, [Counter("ab"), Counter("b")])) == [Counter("ab"), Counter()]
    assert list(streamed(StreamOperator.DSTREAM, [Counter("ab"), Counter("b")])) == [Counter(), Counter("a")]


@given(ANSWERS)
def test_istream_and_dstream_rebuild_rstream(answers: list[Counter[str]]) -> None:
    current: Counter[str] = Counter()
    inserted = streamed(StreamOperator.ISTREAM, answers)
    deleted = streamed(StreamOperator.DSTREAM, answers)
    for whole, plus, minus in zip(streamed(StreamOperator.RSTREAM, answers), inserted, deleted, strict=True):
        current = (current - minus) + plus
        assert current == whole


@given(BAGS, BAGS)
def test_nothing_is_both_inserted_and_deleted(previous: Counter[str], current: Counter[str]) -> None:
    assert not istream(previous, current) & dstream(previous, current)
    assert rstream(previous, current) == current


@given(BAGS, BAGS)
def test_set_differences_see_only_what_appears_and_vanishes(previous: Counter[str], current: Counter[str]) -> None:
    inserted = difference(StreamOperator.ISTREAM, previous, current, sets=True)
    assert inserted == Counter(set(current) - set(previous))
    assert as_set(current) - as_set(previous) == inserted
