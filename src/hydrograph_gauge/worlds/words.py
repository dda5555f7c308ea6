"""Words and names for texts: made of syllables, so that no list has to be shipped.

>>> words()[:5], names()[:4]
(('ba', 'be', 'bi', 'bo', 'bu'), ('Baba', 'Babe', 'Babi', 'Babo'))
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

_CONSONANTS = "bcdfghjklmnprstvwz"
_VOWELS = "aeiou"
_WORDS = 1_024
_NAMES = 256


def _syllables() -> list[str]:
    return [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]


@lru_cache(1)
def words() -> tuple[str, ...]:
    """Return 1,024 different words, short ones first."""
    one = _syllables()
    return tuple([*one, *map("".join, product(one, one))][:_WORDS])


@lru_cache(1)
def names() -> tuple[str, ...]:
    """Return 256 different names."""
    two = map("".join, product(_syllables(), _syllables()))
    return tuple(name.capitalize() for name, _ in zip(two, range(_NAMES), strict=False))
