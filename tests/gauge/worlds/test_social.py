"""The social network without Spark: settings, dictionaries, places in a stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from hydrograph.errors import UsageError
from hydrograph.temporal import HOUR
from hydrograph_gauge.worlds.settings import read_settings
from hydrograph_gauge.worlds.social.dictionaries import ARTICLES, dictionaries
from hydrograph_gauge.worlds.social.event_time import _Hours, _starts
from hydrograph_gauge.worlds.social.people import first_users_by_country
from hydrograph_gauge.worlds.social.settings import DAY, PRESETS, SocialSettings
from tests.support.world_checks.social import STATIC_COMPOSITION, STATIC_TRIPLES, chance_of_same_country


def known_settings(**given: object) -> SocialSettings:
    return read_settings(SocialSettings, None, given)


def test_defaults_are_those_of_the_original_release() -> None:
    known = known_settings()
    assert (known.users, known.cell_size, known.cells_per_window, known.max_friends) == (1000, 100, 4, 40)
    assert (known.last - known.first) // DAY == 10
    assert known.quotas == (0.3, 0.6, 1.0)


def test_a_preset_is_where_settings_start() -> None:
    paper = known_settings(preset="paper", users=500)
    assert (paper.faithful, paper.users, paper.max_friends) == (True, 500, PRESETS["paper"]["max_friends"])
    assert known_settings(preset="paper", faithful=False).faithful is False


def test_the_cloud_has_as_many_users_of_a_random_value_at_any_size() -> None:
    assert known_settings(preset="cloud").random_values == 1000
    assert known_settings(preset="cloud", users="2000").random_values == 20
    assert known_settings(preset="cloud", users=60).random_values == 1
    assert known_settings(preset="cloud", users=2000, random_values=7).random_values == 7
    assert known_settings(users=2000).random_values == 1000
    with pytest.raises(UsageError, match="users: input should be a valid integer"):
        known_settings(preset="cloud", users="many")


def test_heavy_tails_are_the_default_and_the_release_has_none() -> None:
    assert (known_settings().skew, known_settings().random_decay) == ("power-law", 1.0)
    assert (known_settings(faithful=True).skew, known_settings(faithful=True).random_decay) == ("bounded", 0.8)
    assert known_settings(faithful=True, skew="power-law").skew == "power-law"
    paper = known_settings(preset="paper")
    assert (paper.faithful, paper.skew, paper.most_friends, paper.thread_size) == (True, "power-law", 400, 1000)
    assert known_settings(preset="cloud", faithful=False).most_friends == 497


def test_settings_from_toml_and_from_options(tmp_path: Path) -> None:
    file = tmp_path / "social.toml"
    file.write_text("users = 50\nend = 2010-03-01\nfriend_shares = [0.5, 0.25, 0.25]\n[rate]\nposts = 10\n")
    given = {"rate": ("posts=1000", "gps=5"), "member_levels": ("0.1,0.2,1",)}
    known = read_settings(SocialSettings, file, given)
    assert known.rate == {"posts": 1000.0, "gps": 5.0}
    assert known.friend_shares == (0.5, 0.25, 0.25)
    assert known.member_levels == (0.1, 0.2, 1.0)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"rate": {"tweets": 1}}, "expected rates of streams (gps, posts, post_likes"),
        ({"rate": {"posts": 0}}, "expected a rate above 0 and up to 1e9, got 0.0 for posts"),
        ({"end": "2010-01-01"}, "expected an end on or after the start 2010-02-01"),
        ({"min_friends": 50}, "expected min_friends up to max_friends (40), got 50"),
        ({"min_attendees": 120}, "expected min_attendees below max_attendees"),
        ({"friend_shares": [0.3, 0.3, 0.3]}, "expected friend_shares that add up to 1"),
        ({"member_levels": [0.8, 0.5, 1]}, "expected member_levels that rise up to 1"),
        ({"end": "2500-01-01"}, "expected at most 100000 posts or albums a user"),
        ({"element": "star"}, "element: input should be 'object' or 'triple', got 'star'"),
        ({"alpha": 0}, "alpha: input should be greater than 0, got 0"),
        ({"userz": 1}, "unknown setting 'userz'"),
        ({"gps_probability": 1.5}, "gps_probability: input should be less than or equal to 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(given: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError) as error:
        read_settings(SocialSettings, None, given)
    assert complaint in str(error.value)


def test_dictionaries_have_the_sizes_of_the_original() -> None:
    known = dictionaries()
    assert (len(known.countries), len(known.interests)) == (118, 35)
    assert {country.names for country in known.countries} == {group for group, _ in known.names}
    for kind in ("male", "female", "last"):
        assert len({len(names) for (_, of), names in known.names.items() if of == kind}) == 1, kind
    assert all(country.places for country in known.countries)
    assert {place.country for place in known.places} == set(range(118))
    assert all(sorted(country.interests) == list(range(35)) for country in known.countries)
    assert sorted(country.z for country in known.countries) == list(range(118))


def test_no_text_of_a_dictionary_needs_an_escape() -> None:
    known = dictionaries()
    words = [country.name for country in known.countries]
    words += [place.name for place in known.places]
    words += [*known.interests, *known.universities, *known.companies, *(tag for a in known.articles for tag in a.tags)]
    words += [name for names in known.names.values() for name in names]
    assert all(word.isprintable() and word.isascii() and not set(word) & set('"\\<>') for word in words)


def test_titles_have_three_words_on_average_and_never_twice_the_same() -> None:
    articles = dictionaries().articles
    assert len(articles) == (118 + 35) * ARTICLES
    lengths = [len(article.tags) for article in articles]
    assert all(len(set(article.tags)) == len(article.tags) for article in articles)
    assert sum(lengths) / len(lengths) == pytest.approx(3.16, rel=0.03)
    assert max(set(lengths), key=lengths.count) == 2
    assert max(lengths) <= 11


def test_users_are_spread_over_countries_by_population() -> None:
    for users in (1, 7, 1000, 123_456):
        firsts = first_users_by_country(users)
        assert firsts[0] == 0
        assert sorted(firsts) == list(firsts)
        assert firsts[-1] <= users
    india = dictionaries().countries[1].population / sum(country.population for country in dictionaries().countries)
    assert first_users_by_country(100_000)[2] - first_users_by_country(100_000)[1] == pytest.approx(
        india * 100_000, abs=1
    )
    assert 0.05 < chance_of_same_country(1000) < 0.1


def test_published_static_figures_add_up() -> None:
    """Two types and two places of 1,000 persons and users, years of work, ties, groups: what is not in the table."""
    rest = 3_000 + 2_000 + 798 + 95 + 39 * (2 + 1 + 2 + 1) + 78 * 2
    assert sum(STATIC_COMPOSITION.values()) + rest == pytest.approx(STATIC_TRIPLES, abs=50)


def test_files_are_cut_between_hours() -> None:
    hours = _Hours(100, (10, 0, 20, 5), (600_000, 0, 700_000, 900_000))
    assert hours.cut(hours.triples, 1_000_000) == [0, 0, 0, 1]
    assert _starts(hours, None, 0, each=False) == (100 * HOUR, 103 * HOUR)
    assert _starts(hours, 10.0, 5, each=False) == (5, 5 + 3000)
    assert _starts(hours, 1000.0, 5, each=True) == (5, 5 + 1_300_000)
    assert _starts(_Hours(0, (), ()), None, 7, each=False) == (7,)
