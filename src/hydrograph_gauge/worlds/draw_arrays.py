"""The draws of `draws.py` for arrays: the same numbers to the bit, for rows that have left Spark."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from hydrograph_gauge.worlds.draws import quantiles

Numbers: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[Any]]"

SEED = np.uint64(42)
P1, P2, P3, P4, P5 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_ULP = 2.0**-53
_WIDEST = 4
"""How wide a range of keys may be, for each key."""


def long_hashes(*values: Numbers | int) -> Numbers:
    """Return what Spark's `xxhash64` gives for columns of the type BIGINT; at least one value is an array.

    >>> from hydrograph_gauge.worlds.draws import long_hash
    >>> long_hashes(-7, np.array([3, 4])).tolist() == [long_hash(-7, 3), long_hash(-7, 4)]
    True
    """
    running: Any = np.array([SEED])
    for value in values:
        bits = np.atleast_1d(np.asarray(value, np.int64)).view(np.uint64)
        mixed = rotated(bits * P2, 31) * P1
        running = rotated((running + P5 + np.uint64(8)) ^ mixed, 27) * P1 + P4
        running = finished(running)
    result: Numbers = running.view(np.int64)
    return result


def different(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Return the different keys in their order, and which of them each row has.

    >>> [part.tolist() for part in different(np.array([7, 5, 7]))]
    [[5, 7], [1, 0, 1]]
    """
    if not len(keys):
        return keys, keys
    low = keys.min()
    width = int(keys.max()) - int(low) + 1
    if width > _WIDEST * len(keys):
        found, which = np.unique(keys, return_inverse=True)
        return found, which
    # A table of all keys that could be there is a third of the time of sorting those that are.
    there = np.zeros(width, bool)
    there[keys - low] = True
    found = np.flatnonzero(there)
    places = np.empty(width, np.int64)
    places[found] = np.arange(len(found))
    return found + low, places[keys - low]


def finished(running: Any) -> Any:
    """Return the bits of a hash, mixed a last time."""
    running = (running ^ (running >> np.uint64(33))) * P2
    running = (running ^ (running >> np.uint64(29))) * P3
    return running ^ (running >> np.uint64(32))


def rotated(bits: Any, by: int) -> Any:
    """Return 64 bits turned to the left."""
    return (bits << np.uint64(by)) | (bits >> np.uint64(64 - by))


def uniforms(*keys: Numbers | int) -> Numbers:
    """Return a number from [0, 1) for each row; the first key is the base of the draw."""
    shares: Numbers = (long_hashes(*keys).view(np.uint64) >> np.uint64(11)).astype(np.float64) * _ULP
    return shares


def normals(u: Numbers) -> Numbers:
    """Return the normal numbers from [0, 1] that uniform ones stand for."""
    knots = np.array(quantiles())
    place = u * float(len(knots) - 1)
    cell = np.floor(place).astype(np.int64)
    result: Numbers = knots[cell] + (knots[cell + 1] - knots[cell]) * (place - cell.astype(np.float64))
    return result
