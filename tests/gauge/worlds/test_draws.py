"""Draws on rows and draws on the driver are the same numbers, and have the distributions they are named after."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrograph_gauge.worlds.draws import Draws, draw_uniform_array, map_to_normal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@given(st.integers(-(2**63), 2**63 - 1), st.integers(1, 10**9), st.integers(-(2**63), 2**63 - 1))
def test_a_number_below_n_is_below_n(seed: int, n: int, key: int) -> None:
    assert 0 <= Draws(seed).below("x", n).value(key) < n


def test_purposes_seeds_and_keys_make_draws_different() -> None:
    values = {
        Draws(seed).bits(purpose).value(*keys) for seed in (1, 2) for purpose in "ab" for keys in ((0,), (1,), (0, 1))
    }
    assert len(values) == 12


@pytest.mark.parametrize("n", [1, 2, 3, 10, 100, 129, 1000])
def test_weights_are_the_frequencies(n: int) -> None:
    rows = 20_000
    draw = Draws(7).zipf("z", n)
    seen = Counter(draw.value(key) for key in range(rows))
    total = sum(1 / rank for rank in range(1, n + 1))
    for number in range(n):
        p = 1 / (number + 1) / total
        assert abs(seen[number] - rows * p) <= 5 * math.sqrt(rows * p * (1 - p)) + 1e-9


def test_normal_draws_have_mean_and_deviation() -> None:
    rows = 20_000
    values = [Draws(3).normal("n").value(key) for key in range(rows)]
    mean = sum(values) / rows
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / rows)
    assert abs(mean - 0.5) < 0.005
    assert abs(deviation - 1 / 6) < 0.003
    assert 0 <= min(values) <= max(values) <= 1


@pytest.mark.parametrize("exponent", [2.5, 3.0])
def test_a_power_law_has_its_mean_its_tail_and_its_end(exponent: float) -> None:
    rows, least = 20_000, 20 * (exponent - 2) / (exponent - 1)
    values = np.array([Draws(3).pareto("p", 20, exponent, 400).value(key) for key in range(rows)])
    assert (values.min() >= least, values.max()) == (True, 400)
    for place in (1.5, 3.0, 9.0):
        p = place ** (1 - exponent)
        assert abs((values > place * least).sum() - rows * p) <= 5 * math.sqrt(rows * p * (1 - p))
    beyond = 400 * (least / 400) ** (exponent - 1) / (exponent - 2)  # what the end cuts off the mean
    assert values.mean() == pytest.approx(20 - beyond, rel=0.02)


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_arrays_draw_what_the_driver_draws(seed: int, keys: list[int]) -> None:
    draws, given_ = Draws(seed), np.array(keys, np.int64)
    base = draws.bits("x").base
    assert isinstance(base, int)
    shares = draw_uniform_array(base, given_, 2)
    assert shares.tolist() == [draws.uniform("x").value(key, 2) for key in keys]
    assert map_to_normal(shares).tolist() == [draws.normal("x").value(key, 2) for key in keys]


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="not negative"):
        Draws(1).weighted("w", [1.0, -1.0]).value(0)


@pytest.mark.spark
def test_rows_draw_what_the_driver_draws(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    draws = Draws(-5)
    kinds: list[Any] = [
        draws.bits("b"),
        draws.uniform("u"),
        draws.below("l", 1000),
        draws.chance("c", 0.3),
        draws.normal("n"),
        draws.zipf("z", 5000),
        draws.weighted("w", [0.2, 0.0, 5]),
        draws.pareto("p", 20, 3, 400),
    ]
    columns = [kind.column(F.col("id"), F.lit(2)).alias(f"c{at}") for at, kind in enumerate(kinds)]
    for row in spark.range(-500, 500, 1, 3).select("id", *columns).collect():
        assert list(row[1:]) == [kind.value(row[0], 2) for kind in kinds]
