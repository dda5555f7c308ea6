"""Properties of users: each is a draw from the user's number, so no join is needed to look it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING

from hydrograph_gauge.worlds.draws import Draws
from hydrograph_gauge.worlds.social.dictionaries import (
    AGENTS,
    BROWSER_SHARES,
    BROWSERS,
    INTEREST_EXPONENT,
    Dictionaries,
    dictionaries,
)
from hydrograph_gauge.worlds.social.settings import MOST_COMMENTS, WEEK, SocialSettings
from hydrograph_gauge.worlds.social.triples import MICRO
from hydrograph_gauge.worlds.spark import constant_numbers

if TYPE_CHECKING:
    from pyspark.sql import Column

_HOME_OFFSET = 2.0
_CITY_OFFSET = 0.1
_SUMMER = (6, 7)
_SQUARE = 2
_ROUNDED_DOWN = 0.5


@lru_cache(8)
def first_users_by_country(users: int) -> tuple[int, ...]:
    """Return the first user of each country: numbers go by country, in proportion to the populations.

    >>> first_users_by_country(1000)[:3]
    (0, 200, 376)
    """
    populations = [country.population for country in dictionaries().countries]
    total = sum(populations)
    before = [0, *accumulate(populations)][:-1]
    # User u is at the fraction (u + 1/2) / users of the world population.
    return tuple(max(0, -(-(2 * users * part - total) // (2 * total))) for part in before)


@dataclass(frozen=True, slots=True)
class People:
    """The users of one world; `u` is always the number of a user."""

    settings: SocialSettings
    draws: Draws

    @property
    def known(self) -> Dictionaries:
        """The dictionaries."""
        return dictionaries()

    def country(self, u: Column) -> Column:
        """Return the number of the user's country: numbers go by country, in proportion to the populations."""
        from pyspark.sql import functions as F  # noqa: N812

        firsts = constant_numbers(first_users_by_country(self.settings.users), "bigint")
        return F.size(F.filter(firsts, lambda first: first <= u)) - 1

    def created(self, u: Column) -> Column:
        """Return when the user joined, in ms."""
        from pyspark.sql import functions as F  # noqa: N812

        seconds = (self.settings.last - self.settings.first) // 1000
        return F.lit(self.settings.first) + self.draws.below("user created", seconds).column(u) * 1000

    def weeks(self, since: Column) -> Column:
        """Return the whole weeks from `since` to the end of the period, at least one."""
        from pyspark.sql import functions as F  # noqa: N812

        return F.greatest(F.lit(1), F.floor((F.lit(self.settings.last) - since) / WEEK))

    def wanted(self, u: Column) -> Column:
        """Return how many friends the user would like: by a power law, or bounded as in the release of 2012.

        There a share of x**alpha lies below x of the range, which is skewed towards its end and has no tail.
        """
        asked = self.settings
        if asked.skew == "bounded":
            return asked.min_friends + (asked.max_friends - asked.min_friends) * self.power("friends wanted", u)
        return self.heavy("friends wanted", asked.mean_friends, asked.most_friends, u)

    def attempted_comments(self, post: Column) -> Column:
        """Return how many comments on a post are tried."""
        from pyspark.sql import functions as F  # noqa: N812

        asked = self.settings
        if asked.skew == "bounded":
            return self.draws.below("comments", asked.max_comments).column(post)
        if asked.mean_comments == 0:
            return F.lit(0).cast("bigint")
        return F.floor(self.heavy("comments", asked.mean_comments, MOST_COMMENTS - 1, post))

    def heavy(self, purpose: str, mean: float, most: int, *keys: Column) -> Column:
        """Return a draw with a power-law tail, to be rounded down: its whole part has this mean."""
        return self.draws.pareto(purpose, mean + _ROUNDED_DOWN, self.settings.tail_exponent, most).column(*keys)

    def power(self, purpose: str, *keys: Column) -> Column:
        """Return a draw from [0, 1) of which a share of x**alpha lies below x."""
        from pyspark.sql import functions as F  # noqa: N812

        drawn, alpha = self.draws.uniform(purpose).column(*keys), self.settings.alpha
        # A square root is the same to the last bit everywhere; a power need not be.
        return F.sqrt(drawn) if alpha == _SQUARE else F.pow(drawn, F.lit(1 / alpha))

    def meets(self, pass_: int) -> bool:
        """Tell whether friends meet in a pass; the original asks only friends of a pass that has none."""
        return self.settings.faithful or self.settings.friend_shares[pass_] > 0

    def interest(self, u: Column, country: Column, i: Column | int) -> Column:
        """Return the user's interest number `i`, drawn from what its country likes."""
        from pyspark.sql import functions as F  # noqa: N812

        likes = [interest for country_ in self.known.countries for interest in country_.interests]
        size = len(self.known.interests)
        weights = [rank**-INTEREST_EXPONENT for rank in range(1, size + 1)]
        rank = self.draws.weighted("interest", weights).column(u, i)
        return F.get(constant_numbers(likes, "int"), (country * size + rank).cast("int"))

    def interests(self, u: Column, country: Column) -> Column:
        """Return the user's interests, the first one first, each once."""
        from pyspark.sql import functions as F  # noqa: N812

        count = self.draws.below("number of interests", self.settings.max_interests).column(u)
        return F.array_distinct(F.transform(F.sequence(F.lit(0), count), lambda i: self.interest(u, country, i)))

    def home(self, u: Column, country: Column) -> tuple[Column, Column]:
        """Return where the user lives, in millionths of a degree.

        The original adds the same number to both coordinates of the middle of the country; a faithful copy does so too.
        By default people live near one of the places of their country.
        """
        from pyspark.sql import functions as F  # noqa: N812

        east, north = self.draws.uniform("home"), self.draws.uniform("home, north")
        if self.settings.faithful:
            offset = F.floor(east.column(u) * (_HOME_OFFSET * MICRO))
            return (
                self._looked_up([_millionths(item.latitude) for item in self.known.countries], country) + offset,
                self._looked_up([_millionths(item.longitude) for item in self.known.countries], country) + offset,
            )
        latitude, longitude = self.position(self.place(country, self.draws.uniform("home town").column(u)))
        size = _CITY_OFFSET * MICRO
        return latitude + F.floor(north.column(u) * size), longitude + F.floor(east.column(u) * size)

    def place(self, country: Column, draw: Column) -> Column:
        """Return one of the places of a country, by a draw from [0, 1)."""
        from pyspark.sql import functions as F  # noqa: N812

        firsts = [item.places[0] for item in self.known.countries]
        counts = [len(item.places) for item in self.known.countries]
        return self._looked_up(firsts, country) + F.floor(draw * self._looked_up(counts, country))

    def position(self, place: Column) -> tuple[Column, Column]:
        """Return where a place lies, in millionths of a degree."""
        return (
            self._looked_up([_millionths(item.latitude) for item in self.known.places], place),
            self._looked_up([_millionths(item.longitude) for item in self.known.places], place),
        )

    def place_name(self, place: Column) -> Column:
        """Return the name of a place."""
        return pick_word([item.name for item in self.known.places], place)

    def country_name(self, country: Column) -> Column:
        """Return the name of a country."""
        return pick_word([item.name for item in self.known.countries], country)

    def browser(self, u: Column) -> Column:
        """Return the user's browser."""
        return pick_word(BROWSERS, self.draws.weighted("browser", BROWSER_SHARES).column(u))

    def used_browser(self, u: Column, key: Column, what: str) -> Column:
        """Return the browser with which thing `key` was made: seldom another one."""
        from pyspark.sql import functions as F  # noqa: N812

        other = self.draws.chance(f"other browser, {what}", self.settings.other_browser_probability).column(key)
        shown = pick_word(BROWSERS, self.draws.weighted(f"browser, {what}", BROWSER_SHARES).column(key))
        return F.when(other, shown).otherwise(self.browser(u))

    def has_agent(self, u: Column, key: Column, what: str) -> Column:
        """Tell whether thing `key` names the phone it was sent from."""
        owns = self.draws.chance("smartphone", self.settings.smartphone_probability).column(u)
        return owns & self.draws.chance(f"agent, {what}", self.settings.agent_probability).column(key)

    def agent(self, u: Column) -> Column:
        """Return the user's phone."""
        return pick_word(AGENTS, self.draws.below("phone", len(AGENTS)).column(u))

    def address(self, u: Column, country: Column) -> Column:
        """Return the user's IP address; the first two numbers tell the country."""
        from pyspark.sql import functions as F  # noqa: N812

        bits = self.draws.bits("address").column(u)
        low, high = F.pmod(bits, F.lit(256)), F.pmod(F.shiftright(bits, 8), F.lit(256))
        return F.concat_ws(".", F.lit("10"), country.cast("string"), high.cast("string"), low.cast("string"))

    def used_address(self, u: Column, country: Column, key: Column, t: Column, what: str) -> Column:
        """Return the address from which thing `key` was sent at `t`: another country's if the user travels."""
        from pyspark.sql import functions as F  # noqa: N812

        asked = self.settings
        draw = self.draws.uniform(f"travel, {what}").column(key)
        often = self.draws.chance("traveller", asked.traveller_probability).column(u)
        date = F.date_from_unix_date(F.floor(t / 86_400_000).cast("int"))
        season = F.month(date).isin(*_SUMMER) | ((F.month(date) == 12) & (F.dayofmonth(date) >= 24))
        likely = (
            F.when(often, F.lit(asked.traveller_travel_probability))
            .when(season, F.lit(asked.season_travel_probability))
            .otherwise(F.lit(asked.travel_probability))
        )
        abroad = self.draws.below(f"travel to, {what}", len(self.known.countries)).column(key)
        return self.address(u, F.when(draw < likely, abroad).otherwise(country))

    def _looked_up(self, values: Sequence[int], at: Column) -> Column:
        from pyspark.sql import functions as F  # noqa: N812

        return F.get(constant_numbers(values, "bigint"), at.cast("int"))


def pick_word(words: Sequence[str], at: Column) -> Column:
    """Return one of `words`, none of which holds a line end."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.get(F.split(F.lit("\n".join(words)), "\n"), at.cast("int"))


def _millionths(degrees: float) -> int:
    return round(degrees * MICRO)
