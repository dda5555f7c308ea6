"""Rows that came together stay together and leave together; small neighbours become one, so that they stay few."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")
_SHARE = 8
"""The largest part of all rows that one run grows to: about as much is kept for longer than it is needed."""


def merge_newest(runs: list[_T], size: Callable[[_T], int], both: Callable[[_T, _T], _T], least: int) -> None:
    """Make one of the newest runs as long as they are of like size and not too large.

    A run that is a share of all, and more than `least`, grows no more: else the oldest would take in one after the
    other and never leave.
    """
    most = max(least, sum(map(size, runs)) // _SHARE)
    while len(runs) > 1 and size(runs[-2]) <= 2 * size(runs[-1]) and size(runs[-2]) + size(runs[-1]) <= most:
        newest = runs.pop()
        runs.append(both(runs.pop(), newest))
