"""Orders of rows in arrays: the quick ways give what sorting by all columns gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrograph_gauge.worlds.shop.ordering import _order, _packed, find_successors

# Few values, so that many are equal; and numbers that need all 64 bits together.
_SMALL, _LARGE = st.integers(-1, 3), st.sampled_from([-1, 0, 2**40, 2**40 + 1, 2**62])


@settings(deadline=None)
@given(st.lists(st.tuples(_SMALL, _SMALL, _SMALL)))
def test_equal_keys_are_in_the_order_of_their_ties(rows: list[tuple[int, int, int]]) -> None:
    columns = [np.array([row[place] for row in rows], np.int64) for place in range(3)]
    order = _order(columns[0], columns[1:])
    assert [rows[at] for at in order] == sorted(rows)


@settings(deadline=None)
@given(st.one_of(st.lists(st.tuples(_SMALL, _SMALL)), st.lists(st.tuples(_LARGE, _LARGE))), st.randoms())
def test_the_next_row_of_a_group_is_found(groups: list[tuple[int, int]], random: object) -> None:
    places = list(range(len(groups)))
    random.shuffle(places)  # type: ignore[attr-defined]
    columns = [np.array([group[at] for group in groups], np.int64) for at in range(2)]
    found = find_successors(np.array(places, np.int64), *columns).to_pylist()
    for at, group in enumerate(groups):
        later = [place for place, other in zip(places, groups, strict=True) if other == group and place > places[at]]
        assert found[at] == min(later, default=None)


def test_columns_that_need_more_than_64_bits_are_not_packed() -> None:
    wide = np.array([0, 2**40])
    assert _packed([wide, wide]) is None
    assert _packed([wide, wide >> 20]) is not None
    lowest = np.array([-(2**63), 2**63 - 1])
    packed = _packed([lowest])
    assert packed is not None
    assert packed.tolist() == [0, 2**64 - 1]
