"""The checks of the social network hold for the published figures and fail for others."""

from __future__ import annotations

from collections import Counter

from hydrograph.rdf.vocab import RDF_TYPE
from tests.support.world_checks.social import (
    STATIC_COMPOSITION,
    STATIC_TRIPLES,
    STREAM_COMPOSITION,
    STREAM_TRIPLES,
    Census,
    figures,
)


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
