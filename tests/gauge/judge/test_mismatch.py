"""Mismatch on sequences made by hand, with both ways to cut an output into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_DATE_TIME, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
from hydrograph_gauge.judge.mismatch import Executions, are_comparable, blocks_of_rows, mismatch
from hydrograph_gauge.judge.row_compare import RowNumbers

OUTPUTS = st.text("abc", max_size=8)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        (blocks_of_rows("abcd"), "abcd", Fraction(0)),
        # Said again and again by an engine whose windows overlap: nothing is missed, one way or the other.
        (["ab", "abc", "bcd"], "abcd", Fraction(0)),
        (blocks_of_rows("abcd"), "ababcbcd", Fraction(0)),
        # The order of rows inside an execution does not count, between executions it does.
        (["ba", "dc"], "abcd", Fraction(0)),
        (blocks_of_rows("badc"), "abcd", Fraction(2, 4)),
        (["cd", "ab"], "abcd", Fraction(2, 4)),
        # A block of which nothing is found leaves the cursor where it was.
        (["x", "a"], "ab", Fraction(1, 2)),
        (["", "a"], "a", Fraction(0)),
        ([], "abc", Fraction(0)),
        (blocks_of_rows("abc"), "", Fraction(1)),
    ],
)
def test_by_hand(one: list[str], other: str, share: Fraction) -> None:
    assert mismatch(one, other) == share


def by_the_words(one: list[str], other: str) -> Fraction:
    """Return mm worked out as the metric is told: positions from 1, one block after the other."""
    j, missed, total = 1, 0, 0
    for block in one:
        rest = other[j - 1 :]
        found = [element for element in block if element in rest]
        if found:
            j = min(position for position in range(j, len(other) + 1) if other[position - 1] in found)
        missed += len(block) - len(found)
        total += len(block)
    return Fraction(missed, total) if total else Fraction(0)


@given(st.lists(OUTPUTS, max_size=5), OUTPUTS)
def test_as_the_metric_is_told(one: list[str], other: str) -> None:
    assert mismatch(one, other) == by_the_words(one, other)


@given(OUTPUTS)
def test_an_output_does_not_miss_itself(output: str) -> None:
    assert mismatch(blocks_of_rows(output), output) == 0
    assert mismatch([output], output) == 0


def test_engines_are_comparable_if_every_pair_is() -> None:
    outputs: dict[str, Sequence[Sequence[str]]] = {
        "one": blocks_of_rows("abcd"),
        "two": ["ab", "cd"],
        "three": blocks_of_rows("abc"),
    }
    assert mismatch(outputs["one"], "abc") == Fraction(1, 4)
    assert are_comparable(outputs, Fraction(1, 4))
    assert not are_comparable(outputs, Fraction(24, 100))
    assert are_comparable({"alone": blocks_of_rows("a")}, Fraction(0))


def test_throughput() -> None:
    assert Executions(300, 1.5).throughput == 200


@pytest.mark.parametrize(
    ("one", "other", "datatype", "equal"),
    [
        ("1.50", "1.5", XSD_DECIMAL, True),
        ("01", "1", XSD_INTEGER, True),
        ("1", "2", XSD_INTEGER, False),
        ("1e0", "1.0", XSD_DOUBLE, True),
        ("0.1", "0.10000000000000002", XSD_DOUBLE, True),  # the next double
        ("0.1", "0.1000000000000003", XSD_DOUBLE, False),
        ("3.333333333333333333", "3.333333333333333334", XSD_DECIMAL, True),  # 10/3 as two engines round it
        ("3.33", "3.34", XSD_DECIMAL, False),
        ("1", "true", XSD_BOOLEAN, True),
        ("2024-01-01T01:00:00+01:00", "2024-01-01T00:00:00Z", XSD_DATE_TIME, True),
    ],
)
def test_rows_are_equal_by_value(one: str, other: str, datatype: str, equal: bool) -> None:
    values = RowNumbers()
    numbers = [values.number(("<urn:x>", None, f'"{text}"^^<{datatype}>')) for text in (one, other)]
    assert (mismatch(blocks_of_rows(numbers[:1]), numbers[1:]) == 0) is equal


def test_blank_nodes_have_no_names_and_types_count() -> None:
    values = RowNumbers()
    assert values.number(("_:a", "<urn:x>")) == values.number(("_:b", "<urn:x>")) != values.number(("_:a", "<urn:y>"))
    assert values.number((f'"1"^^<{XSD_INTEGER}>',)) != values.number((f'"1"^^<{XSD_DECIMAL}>',))
