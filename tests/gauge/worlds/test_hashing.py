"""Texts in arrays: hashed as Spark hashes them, whatever their lengths, and wherever an array begins."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.rdf.encoding import term_id
from hydrograph_gauge.worlds.hashing import hash_text_array
from hydrograph_gauge.worlds.shop.encoding import factorize, join_numbers


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 8, 11, 12, 15, 16, 31, 32, 33, 36, 39, 40, 63, 64, 71, 100])
def test_many_texts_of_one_length_are_hashed_as_each_is(size: int) -> None:
    texts = [f"{number:0{size}d}"[-size:] if size else "" for number in range(0, 100_000, 997)]
    assert hash_text_array(pa.array(texts)).tolist() == [term_id(text) for text in texts]


@given(st.lists(st.text(max_size=80), max_size=200), st.integers(0, 3))
def test_texts_of_any_lengths_are_hashed(texts: list[str], before: int) -> None:
    array = pa.array([*["left out"] * before, *texts], pa.string())[before:]
    assert hash_text_array(array).tolist() == [term_id(text) for text in texts]


def test_numbers_stand_between_texts() -> None:
    before = pa.array(["<a", "<b"])
    assert join_numbers(before, np.array([12, 0]), ">").to_pylist() == ["<a12>", "<b0>"]


@given(st.lists(st.integers(-(2**62), 2**62) | st.integers(-9, 9), max_size=50))
def test_different_keys_are_found_with_their_places(keys: list[int]) -> None:
    found, which = factorize(np.array(keys, np.int64))
    assert found.tolist() == sorted(set(keys))
    assert found[which].tolist() == keys
