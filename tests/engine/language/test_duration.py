from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.language.duration import parse_duration, print_duration


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT10S", 10_000), ("PT0.5S", 500), ("PT0.001S", 1), ("PT1.5000S", 1_500), ("P1DT2H", 93_600_000),
        ("P1D", 86_400_000), ("P1W", 604_800_000), ("pt1m", 60_000), ("10s", 10_000), ("100ms", 100), ("5m", 300_000),
        ("1h", 3_600_000), ("1D", 86_400_000), ("2000", 2_000), ("PT0S", 0), ("0", 0),
    ],
)  # fmt: skip
def test_durations(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PT100MS", "expected a duration such as PT10S"),
        ("P", "expected a duration such as PT10S"),
        ("PT", "expected a duration such as PT10S"),
        ("P1DT", "expected a duration such as PT10S"),
        ("", "expected a duration such as PT10S"),
        ("-PT1S", "expected a duration such as PT10S"),
        ("PT1.5M", "expected a duration such as PT10S"),
        ("5 s", "expected a duration such as PT10S"),
        ("1.5s", "expected a duration such as PT10S"),
        ("10\u017f", "expected a duration such as PT10S"),
        ("٣s", "expected a duration such as PT10S"),
        ("9" * 65, "expected a duration such as PT10S"),
        ("P1M", "months and years have no fixed length"),
        ("P1Y2DT3H", "months and years have no fixed length"),
        ("PT0.0005S", "expected whole milliseconds"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=10**12))
def test_what_is_printed_reads_the_same(duration: int) -> None:
    assert parse_duration(print_duration(duration)) == duration
