"""Confidence intervals against published tables and worked examples."""

from __future__ import annotations

import math

import pytest

from hydrograph_gauge.intervals import MeanInterval, format_interval, incomplete_beta, mean_interval, t_quantile

# Critical values of Student's t distribution, upper tail, as NIST/SEMATECH's e-Handbook of Statistical Methods
# (section 1.3.6.7.2) prints them.
TABLE = {
    1: (3.078, 6.314, 12.706, 31.821, 63.657),
    2: (1.886, 2.920, 4.303, 6.965, 9.925),
    3: (1.638, 2.353, 3.182, 4.541, 5.841),
    4: (1.533, 2.132, 2.776, 3.747, 4.604),
    5: (1.476, 2.015, 2.571, 3.365, 4.032),
    9: (1.383, 1.833, 2.262, 2.821, 3.250),
    10: (1.372, 1.812, 2.228, 2.764, 3.169),
    19: (1.328, 1.729, 2.093, 2.539, 2.861),
    29: (1.311, 1.699, 2.045, 2.462, 2.756),
    60: (1.296, 1.671, 2.000, 2.390, 2.660),
    100: (1.290, 1.660, 1.984, 2.364, 2.626),
}
PROBABILITIES = (0.90, 0.95, 0.975, 0.99, 0.995)


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_are_those_of_the_published_table(freedom: int) -> None:
    assert tuple(round(t_quantile(probability, freedom), 3) for probability in PROBABILITIES) == TABLE[freedom]


def test_quantiles_tend_to_those_of_the_normal_distribution() -> None:
    assert t_quantile(0.975, 10**6) == pytest.approx(1.959964, abs=1e-5)


def test_one_and_two_degrees_of_freedom_have_closed_forms() -> None:
    for p in (0.6, 0.8, 0.975, 0.999):
        assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9)
        assert t_quantile(p, 2) == pytest.approx((2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p))), rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [(2, 3), (5, 1), (4, 7)])
def test_the_incomplete_beta_function_is_a_binomial_tail(a: int, b: int) -> None:
    n = a + b - 1
    for x in (0.1, 0.35, 0.6, 0.95):
        tail = sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1))
        assert incomplete_beta(x, a, b) == pytest.approx(tail, rel=1e-12)


def test_a_mean_with_its_interval() -> None:
    found = mean_interval([10.0, 12.0, 14.0, 12.0, 12.0])
    # s = sqrt(8 / 4), so that the half is 2.776 · sqrt(2) / sqrt(5)
    assert (found.mean, found.count) == (12.0, 5)
    assert found.half == pytest.approx(2.7764451 * math.sqrt(2) / math.sqrt(5))


def test_one_value_has_no_interval() -> None:
    assert mean_interval([7.5]) == MeanInterval(7.5, None, 1)
    assert format_interval(mean_interval([7.5, 7.5])) == "7.5 ± 0"


@pytest.mark.parametrize(("probability", "freedom"), [(0.4, 3), (1.0, 3), (0.9, 0)])
def test_values_outside_of_the_distribution_are_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="expected a probability of 1/2 to 1"):
        t_quantile(probability, freedom)
