"""Friendships by correlated passes: users sorted by what they may have in common, and a window that slides over them.

In each pass every user of the leading cell is offered the users after it in the window, nearest first. Two of them
become friends with a probability that falls with the distance of their values, as long as both still want friends in
this pass. What a user gets depends on those before it, so a pass is sequential; blocks of users are passes of their
own, which bounds the memory of a task and lets blocks run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

Longs: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
_Words: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_SPARK_SEED = 42


def long_hashes(running: _Words | np.uint64, values: Longs) -> _Words:
    """Return xxHash64 of each value with the seeds `running`: one more key of `draws.long_hash`, for many rows.

    >>> from hydrograph_gauge.worlds.draws import long_hash
    >>> first = long_hashes(np.uint64(42), np.array([7]))
    >>> int(long_hashes(first, np.array([-3])).astype(np.int64)[0]) == long_hash(7, -3)
    True
    """
    with np.errstate(over="ignore"):
        word = values.astype(np.uint64) * _P2
        found = (running + _P5 + np.uint64(8)) ^ (_rotate(word, 31) * _P1)
        found = _rotate(found, 27) * _P1 + _P4
        found = (found ^ (found >> np.uint64(33))) * _P2
        found = (found ^ (found >> np.uint64(29))) * _P3
        result: _Words = found ^ (found >> np.uint64(32))
    return result


def _rotate(words: _Words, bits: int) -> _Words:
    rotated: _Words = (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
    return rotated


@dataclass(frozen=True, slots=True)
class Slide:
    """How one pass goes: the window, and how likely users at a distance become friends."""

    cell: int
    cells: int
    probability: float
    decay: float
    base: int
    """The base of the draws of this pass."""


def befriend(slide: Slide, ids: Longs, values: Longs, wanted: Longs, friends: Sequence[Longs]) -> tuple[Longs, Longs]:
    """Return the pairs that become friends in one pass over users in order of `values`.

    `wanted` says how many more friends each user takes in this pass, `friends` who its friends are already.
    """
    room = wanted.copy()
    pairs: list[tuple[int, Longs]] = []
    seeds = long_hashes(long_hashes(np.uint64(_SPARK_SEED), np.full(1, slide.base))[0], ids)
    likely = slide.probability * slide.decay ** np.arange(_spread(values) + 1)
    # Compared as whole numbers of 53 bits, which is what a draw from [0, 1) is.
    bounds = np.ceil(likely * 2.0**53).astype(np.uint64)
    for i in range(len(ids)):
        if room[i] <= 0:
            continue
        end = (i // slide.cell + slide.cells) * slide.cell
        open_ = np.flatnonzero(room[i + 1 : end] > 0) + (i + 1)
        draws = long_hashes(seeds[i], ids[open_]) >> np.uint64(11)
        found = open_[draws < bounds[values[open_] - values[i]]]
        if len(friends[i]) and len(found):
            found = found[~np.isin(ids[found], friends[i])]
        found = found[: room[i]]
        room[found] -= 1
        room[i] -= len(found)
        pairs.append((i, found))
    left = np.repeat(ids[[i for i, _ in pairs]], [len(found) for _, found in pairs])
    right = ids[np.concatenate([found for _, found in pairs])] if pairs else ids[:0]
    return left, right


def _spread(values: Longs) -> int:
    return int(values[-1] - values[0]) if len(values) else 0
