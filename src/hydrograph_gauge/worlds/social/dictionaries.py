"""Dictionaries of the network: countries, places, names, interests, words, and data derived from them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from hydrograph.rdf.encoding import term_id
from hydrograph_gauge.worlds.draws import Draws, Weighted

ARTICLES = 30
"""Articles about each country and each interest, from which posts take their words."""
INTEREST_EXPONENT = 1.45
"""The interest at rank r of a country is as popular as r to the minus this: ten draws give about five interests."""
TITLE_LENGTHS = (0.14, 0.32, 0.22, 0.13, 0.075, 0.045, 0.03, 0.018, 0.011, 0.007, 0.004)
"""Shares of titles with 1, 2, … 11 words: 3.2 on average, most often 2."""
AGENTS = ("iPhone", "iPad", "HTC", "Samsung", "LG", "Nokia", "Motorola", "RIM BlackBerry", "Sony Ericsson")
BROWSERS = ("Chrome", "Internet Explorer", "Firefox", "Safari", "Opera")
BROWSER_SHARES = (0.279, 0.232, 0.422, 0.037, 0.024)
_TOPIC_WORDS = 40
_TEXT = 300
_GRID = 16


@dataclass(frozen=True, slots=True)
class Place:
    """A city or a sight."""

    name: str
    country: int
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class Country:
    """A country, its people and its place among others."""

    name: str
    population: int
    latitude: float
    longitude: float
    names: str
    """The group of names that are common there."""
    z: int
    """Its rank along a Z-shaped curve over the map: near countries have near ranks."""
    places: tuple[int, ...]
    interests: tuple[int, ...]
    """All interests, the most popular one first."""


@dataclass(frozen=True, slots=True)
class Article:
    """A text about a topic."""

    tags: tuple[str, ...]
    """The words of its title."""
    text: str


@dataclass(frozen=True, slots=True)
class Dictionaries:
    """All of them."""

    countries: tuple[Country, ...]
    places: tuple[Place, ...]
    interests: tuple[str, ...]
    names: dict[tuple[str, str], tuple[str, ...]]
    """By group and `male`, `female` or `last`."""
    universities: tuple[str, ...]
    """Known all over the world."""
    companies: tuple[str, ...]
    articles: tuple[Article, ...]
    """Article a of topic k has the index k * ARTICLES + a; topics are the countries, then the interests."""


@lru_cache(1)
def dictionaries() -> Dictionaries:
    """Return the dictionaries; they are the same in every world."""
    rows = _table("countries.csv")
    number = {row["country"]: at for at, row in enumerate(rows)}
    singers = _table("interests.csv")
    places = tuple(
        Place(row["place"], number[row["country"]], float(row["latitude"]), float(row["longitude"]))
        for row in _table("places.csv")
    )
    curve = [_z(float(row["latitude"]), float(row["longitude"])) for row in rows]
    order = {at: rank for rank, at in enumerate(sorted(range(len(rows)), key=lambda at: (curve[at], at)))}
    countries = tuple(
        Country(
            row["country"],
            int(row["population"]),
            float(row["latitude"]),
            float(row["longitude"]),
            row["names"],
            order[at],
            tuple(which for which, place in enumerate(places) if place.country == at),
            _by_taste(row, singers, {other["country"]: other["names"] for other in rows}),
        )
        for at, row in enumerate(rows)
    )
    names = {(row["group"], row["kind"]): tuple(row["names"].split()) for row in _table("names.csv")}
    return Dictionaries(
        countries,
        places,
        tuple(row["interest"] for row in singers),
        names,
        tuple(_lines("universities.txt")),
        tuple(_lines("companies.txt")),
        _articles(len(countries) + len(singers)),
    )


def _by_taste(country: dict[str, str], singers: list[dict[str, str]], groups: dict[str, str]) -> tuple[int, ...]:
    """Return the interests in order of popularity: its own, those of its language, then the others by a fixed draw."""

    def key(at: int) -> tuple[bool, bool, int]:
        home = singers[at]["country"]
        draw = term_id(f"{country['country']} {singers[at]['interest']}")
        return home != country["country"], groups[home] != country["names"], draw

    return tuple(sorted(range(len(singers)), key=key))


def _articles(topics: int) -> tuple[Article, ...]:
    """Return the articles of each topic; a topic has words of its own, so that its tags come again."""
    words = _lines("words.txt")
    draws = Draws(0)
    lengths = title_length()
    found = []
    for topic in range(topics):
        own = _shuffled(words, draws, topic)[:_TOPIC_WORDS]
        for number in range(ARTICLES):
            drawn = _shuffled(own, draws, topics + topic * ARTICLES + number)
            title = drawn[: 1 + lengths.value(topic, number)]
            text = " ".join(drawn + own)
            found.append(Article(tuple(title), text[:_TEXT]))
    return tuple(found)


def title_length() -> Weighted:
    """Return the draw of how many words beyond the first the title of an article has; its keys are topic and number."""
    return Draws(0).weighted("length of a title", TITLE_LENGTHS)


def _shuffled(words: list[str], draws: Draws, key: int) -> list[str]:
    bits = draws.bits("order of words")
    order = sorted(range(len(words)), key=lambda at: bits.value(key, at))
    return [words[at] for at in order]


def _z(latitude: float, longitude: float) -> int:
    """Return the place of a point along the curve: the bits of both coordinates in turn.

    >>> _z(-90, -180), _z(90, 180) == 2 ** (2 * _GRID) - 1
    (0, True)
    """
    steps = 2**_GRID - 1
    y, x = int((latitude + 90) / 180 * steps), int((longitude + 180) / 360 * steps)
    return sum((y >> bit & 1) << (2 * bit + 1) | (x >> bit & 1) << (2 * bit) for bit in range(_GRID))


def _lines(name: str) -> list[str]:
    return files(__package__).joinpath("data", name).read_text("utf-8").splitlines()


def _table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_lines(name)))
