"""The checks of the social network hold for the published figures and fail for others."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hydrograph.rdf.vocab import RDF_TYPE
from tests.support.world_checks.social import (
    STATIC_COMPOSITION,
    STATIC_TRIPLES,
    STREAM_COMPOSITION,
    STREAM_TRIPLES,
    Census,
    Counts,
    figures,
    tails,
)
from tests.support.world_checks.tails import draw_power_law, fit_tail, zeta


def published(*, same_country: float = 0.4) -> Census:
    """Return a world that has exactly the published figures."""
    counts = Counter({("static", predicate): count for predicate, count in STATIC_COMPOSITION.items()})
    counts.update({place: count for place, (_, count) in STREAM_COMPOSITION.items()})
    for part, total in (("static", STATIC_TRIPLES), *STREAM_TRIPLES.items()):
        counts[part, RDF_TYPE] = total - sum(count for (where, _), count in counts.items() if where == part)
    return Census(1000, counts, same_country)


def test_the_published_figures_pass() -> None:
    made = list(figures([published()] * 3))
    assert len(made) == 2 + len(STATIC_COMPOSITION) + len(STREAM_TRIPLES) + len(STREAM_COMPOSITION) + 2 + 1
    assert [check.name for check in made if not check.passed] == []


def test_each_figure_fails_when_it_is_a_fifth_too_high() -> None:
    for place in (*(("static", predicate) for predicate in STATIC_COMPOSITION), *STREAM_COMPOSITION):
        wrong = published()
        wrong.triples[place] = wrong.triples[place] * 6 // 5 + 1
        assert not all(check.passed for check in figures([wrong])), place


def test_friends_drawn_by_chance_fail() -> None:
    failed = [check.name for check in figures([published(same_country=0.1)]) if not check.passed]
    assert failed == ["social: friends of one country"]


@pytest.mark.parametrize("exponent", [2.5, 3.0, 3.5])
def test_the_exponent_of_a_power_law_is_found_and_where_it_begins(exponent: float) -> None:
    rng = np.random.default_rng(3)
    bulk = rng.integers(1, 12, 2000)
    fit = fit_tail(np.concatenate([bulk, draw_power_law(exponent, 12, 3000, rng)]))
    assert fit.exponent == pytest.approx(exponent, abs=0.2)
    assert 10 <= fit.begins <= 16
    assert zeta(np.array([2.0, 4.0]), 1) == pytest.approx([np.pi**2 / 6, np.pi**4 / 90], rel=1e-4)


def test_bounded_counts_fail_and_a_power_law_passes() -> None:
    """Friends, posts and comments as the release draws them have no tail, whatever is fitted to them."""
    rng = np.random.default_rng(5)
    heavy = draw_power_law(3.0, 5, 1000, rng)
    right = Counts(heavy, heavy, heavy, 1, 0)
    assert [check.passed for check in tails(right, 20)] == [True] * 3
    bounded = {
        "degrees": np.floor(5 + 35 * np.sqrt(rng.random(1000))).astype(np.int64),
        "posts": rng.integers(0, 15, 1000),
        "comments": rng.integers(0, 20, 1000),
    }
    for place, (name, values) in enumerate(bounded.items()):
        found = [check.passed for check in tails(replace(right, **{name: values}), 20)]
        assert found == [at != place for at in range(3)], name
