"""Friendships: a pass keeps to its window and its quotas, and prefers those who have much in common."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.hashing import SPARK_SEED, NumberArray, chain_hash, hash_longs
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.social.friendships import FriendshipPass, Longs, befriend
from hydrograph_gauge.worlds.social.settings import SocialSettings
from tests.support.world_checks.tails import fit_tail, goodness, top_share

NO_FRIENDS = np.array([], dtype=np.int64)


def longs(values: list[int]) -> Longs:
    return np.array(values, dtype=np.int64)


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(-(2**63), 2**63 - 1))
def test_hashes_are_those_of_spark(values: list[int], key: int) -> None:
    first = chain_hash(np.array([SPARK_SEED], np.uint64), longs(values))
    second = chain_hash(first, np.full(len(values), key))
    assert second.astype(np.int64).tolist() == [hash_longs(value, key) for value in values]


@st.composite
def passes(draw: st.DrawFn) -> tuple[FriendshipPass, Longs, Longs, Longs, list[Longs]]:
    users = draw(st.integers(0, 60))
    ids = draw(st.permutations(range(users)))
    values = sorted(draw(st.lists(st.integers(0, 9), min_size=users, max_size=users)))
    wanted = draw(st.lists(st.integers(0, 8), min_size=users, max_size=users))
    known = draw(st.sets(st.tuples(st.integers(0, 59), st.integers(0, 59))))
    friends = [longs([b for a, b in known if a == one] + [a for a, b in known if b == one]) for one in ids]
    slide = FriendshipPass(draw(st.integers(1, 9)), draw(st.integers(1, 4)), 0.8, 0.8, draw(st.integers(-9, 9)))
    return slide, longs(list(ids)), longs(values), longs(wanted), friends


@settings(max_examples=200, deadline=None)
@given(passes())
def test_a_pass_keeps_its_promises(given_: tuple[FriendshipPass, Longs, Longs, Longs, list[Longs]]) -> None:
    slide, ids, values, wanted, friends = given_
    left, right = befriend(slide, ids, values, wanted, friends)
    place = {int(one): at for at, one in enumerate(ids)}
    pairs = [(place[int(a)], place[int(b)]) for a, b in zip(left, right, strict=True)]
    assert len(set(pairs)) == len(pairs)
    for a, b in pairs:
        assert a < b < (a // slide.cell + slide.cells) * slide.cell
        assert int(ids[b]) not in friends[a]
    counts = np.bincount([at for pair in pairs for at in pair], minlength=len(ids))
    assert (counts <= wanted).all()


def test_without_any_distance_all_offers_are_taken_until_everybody_has_enough() -> None:
    #      0-1 0-2, then 1 and 2 need one more and find 3 and 4
    slide = FriendshipPass(cell=10, cells=1, probability=1.0, decay=0.8, base=1)
    left, right = befriend(slide, longs([0, 1, 2, 3, 4]), longs([5] * 5), longs([2] * 5), [NO_FRIENDS] * 5)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 2), (3, 4)]


def test_probability_falls_with_the_distance_of_values() -> None:
    users = 4000
    values = longs([at // 1000 for at in range(users)])
    slide = FriendshipPass(cell=users, cells=1, probability=0.08, decay=0.5, base=7)
    left, right = befriend(slide, longs(list(range(users))), values, np.full(users, users), [NO_FRIENDS] * users)
    distances = np.bincount(values[right] - values[left], minlength=4)
    pairs = [4 * 1000 * 999 / 2, 3e6, 2e6, 1e6]
    shares = distances / pairs
    assert np.allclose(shares, [0.08, 0.04, 0.02, 0.01], rtol=0.03)


def test_enough_users_of_a_random_value_find_each_other_by_chance() -> None:
    """The random pass of the preset `cloud`: 133 friends each are wanted of those whose values are near."""
    known = read_settings(SocialSettings, None, {"preset": "cloud", "users": 2000})
    users, rng = known.users, np.random.default_rng(1)
    wanted = np.full(users, round(0.4 * 333))

    def mean(random_values: int) -> float:
        values = np.sort(rng.integers(0, random_values, users))
        slide = FriendshipPass(
            known.cell_size, known.cells_per_window, known.random_friend_probability, known.friend_decay, 1
        )
        left, _ = befriend(slide, np.arange(users), values, wanted, [NO_FRIENDS] * users)
        return 2 * len(left) / users

    assert mean(known.random_values) > 0.95 * 133
    assert mean(1000) < 0.1 * 133


def chance_degrees(**given: object) -> NumberArray:
    """Return the numbers of friends of 1,000 users who meet by chance alone: one pass, over random values."""
    known = read_settings(SocialSettings, None, {"friend_shares": [0, 0, 1], **given})
    draws, users = Draws(known.seed), range(known.users)
    law = draws.pareto("friends wanted", known.mean_friends, known.tail_exponent, known.most_friends)
    wanted = longs([math.floor(law.value(user)) for user in users])
    values = longs([draws.below("random value", known.random_values).value(user) for user in users])
    order = np.lexsort((np.arange(known.users), values))
    slide = FriendshipPass(
        known.cell_size, known.cells_per_window, known.random_friend_probability, known.random_decay, 1
    )
    left, right = befriend(slide, order, values[order], wanted[order], [NO_FRIENDS] * known.users)
    degrees: NumberArray = np.bincount(np.concatenate([left, right]), minlength=known.users)
    return degrees


def test_without_correlation_as_many_friends_are_found_with_the_same_tail() -> None:
    degrees = chance_degrees()
    assert degrees.mean() == pytest.approx(read_settings(SocialSettings, None, {}).mean_friends, rel=0.1)
    fit = fit_tail(degrees)
    assert 2.7 < fit.exponent < 3.4
    assert goodness(degrees, fit, np.random.default_rng(1), 20) >= 0.1
    assert top_share(degrees) > 0.04
    # In the release who is far by a random number is no friend: hardly any are found where no other pass finds some.
    assert chance_degrees(random_decay=0.8).mean() < 0.25 * degrees.mean()


def test_a_pass_without_users_makes_no_friends() -> None:
    left, right = befriend(FriendshipPass(1, 1, 1.0, 1.0, 1), NO_FRIENDS, NO_FRIENDS, NO_FRIENDS, [])
    assert len(left) == len(right) == 0
