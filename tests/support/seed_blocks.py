"""Blocks of seeds as test parameters: the first ones run in `make test`, the others in `make test-slow`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest


def seed_blocks(seeds: range, quick: int, known_failures: Mapping[int, str] | None = None) -> list[Any]:
    """Return one parameter per seed in `seeds`, which is the first of its block; all but `quick` of them are slow.

    `known_failures` gives the reason why a block fails, by its first seed; one that passes after all is a failure.

    >>> [block.id for block in seed_blocks(range(0, 30, 10), quick=1)]
    ['seeds-from-0', 'seeds-from-10', 'seeds-from-20']
    """
    reasons = known_failures or {}
    parameters = []
    for number, first in enumerate(seeds):
        marks = [] if number < quick else [pytest.mark.slow]
        if first in reasons:
            marks.append(pytest.mark.xfail(strict=True, reason=reasons[first]))
        parameters.append(pytest.param(first, id=f"seeds-from-{first}", marks=marks))
    return parameters
