"""Blocks of seeds as test parameters: some run in `make test`, more in `make test-slow`, all in `make test-nightly`.

HYDROGRAPH_ALL_SEEDS=1 gives all of them.
"""

from __future__ import annotations

import os
from typing import Any

import pytest


def seed_blocks(seeds: range, quick: int, *, every: bool = False) -> list[Any]:
    """Return a parameter for the first seed of each block: `quick` ones and twice as many slow ones.

    `every` makes all others slow ones too.

    >>> [block.id for block in seed_blocks(range(0, 30, 10), quick=1)]
    ['seeds-from-0', 'seeds-from-10', 'seeds-from-20']
    """
    parameters = []
    limit = len(seeds) if every or os.environ.get("HYDROGRAPH_ALL_SEEDS") else 3 * quick
    for number, first in enumerate(seeds[:limit]):
        marks = [] if number < quick else [pytest.mark.slow]
        parameters.append(pytest.param(first, id=f"seeds-from-{first}", marks=marks))
    return parameters
