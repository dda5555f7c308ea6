"""Blocks of seeds as test parameters: the first ones run in `make test`, the others in `make test-slow`."""

from __future__ import annotations

from typing import Any

import pytest


def seed_blocks(seeds: range, quick: int) -> list[Any]:
    """Return one parameter per seed in `seeds`, which is the first of its block; all but `quick` of them are slow.

    >>> [block.id for block in seed_blocks(range(0, 30, 10), quick=1)]
    ['seeds-from-0', 'seeds-from-10', 'seeds-from-20']
    """
    return [
        pytest.param(first, id=f"seeds-from-{first}", marks=[] if number < quick else [pytest.mark.slow])
        for number, first in enumerate(seeds)
    ]
