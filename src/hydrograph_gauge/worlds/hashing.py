"""xxHash64 as Spark computes it: for single values in Python, and for whole arrays in NumPy.

Spark's `xxhash64` chains its columns: the hash of one column is the seed of the next, and the first seed is 42.
The hash of a term's text is the id of the term.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from xxhash import xxh64_intdigest

NumberArray: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[Any]]"

SPARK_SEED = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
)
_MIN_BATCH = 64
"""Texts of one length from which on hashing them in arrays is faster than one by one."""
_WORD, _STRIPE = 8, 32
"""Bytes that xxHash64 reads at a time: at the end of an input, and in its main loop."""


def hash_longs(*values: int) -> int:
    """Return what Spark's `xxhash64` gives for columns of type BIGINT: a signed 64-bit number."""
    running = SPARK_SEED
    for value in values:
        running = xxh64_intdigest(struct.pack("<q", value), running)
    return running - 2**64 if running >= 2**63 else running


def hash_long_arrays(*values: NumberArray | int) -> NumberArray:
    """Return what Spark's `xxhash64` gives for columns of type BIGINT; at least one value is an array.

    >>> hash_long_arrays(-7, np.array([3, 4])).tolist() == [hash_longs(-7, 3), hash_longs(-7, 4)]
    True
    """
    running: NumberArray = np.array([SPARK_SEED], np.uint64)
    for value in values:
        running = chain_hash(running, np.atleast_1d(np.asarray(value, np.int64)))
    result: NumberArray = running.view(np.int64)
    return result


def chain_hash(seeds: NumberArray, values: NumberArray) -> NumberArray:
    """Return the unsigned hash of each value with its seed; a hash is the seed of the next key.

    >>> first = chain_hash(np.array([SPARK_SEED], np.uint64), np.array([7]))
    >>> int(chain_hash(first, np.array([-3])).view(np.int64)[0]) == hash_longs(7, -3)
    True
    """
    mixed = _rotate_left(values.view(np.uint64) * _P2, 31) * _P1
    result: NumberArray = _avalanche(_rotate_left((seeds + _P5 + np.uint64(_WORD)) ^ mixed, 27) * _P1 + _P4)
    return result


def hash_text_array(texts: pa.Array) -> NumberArray:
    """Return what Spark's `xxhash64` gives for a column of strings: the ids of terms.

    >>> from hydrograph.rdf.encoding import term_id
    >>> hash_text_array(pa.array(["<urn:é>"])).tolist() == [term_id("<urn:é>")]
    True
    """
    _, bounds, data = texts.buffers()
    offsets = np.frombuffer(bounds, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    bytes_ = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    lengths = np.diff(offsets)
    result = np.zeros(len(texts), np.uint64)
    sizes, counts = np.unique(lengths, return_counts=True)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        some = np.flatnonzero(lengths == size)
        if count >= _MIN_BATCH:
            result[some] = _hash_texts(bytes_, offsets[some], size)
        else:
            starts = offsets[some].tolist()
            result[some] = [xxh64_intdigest(bytes_[at : at + size].tobytes(), SPARK_SEED) for at in starts]
    return result.view(np.int64)


def _hash_texts(bytes_: NumberArray, starts: NumberArray, size: int) -> NumberArray:
    """Return the hashes of texts of one size."""
    seed = np.uint64(SPARK_SEED)
    padded = np.zeros((len(starts), -(-size // _WORD) * _WORD), np.uint8)
    padded[:, :size] = bytes_[starts[:, None] + np.arange(size)]
    words: Any = np.ascontiguousarray(padded.view("<u8").T)
    at = 0
    if size >= _STRIPE:
        with np.errstate(over="ignore"):
            lanes: list[Any] = [np.array([one]) for one in (seed + _P1 + _P2, seed + _P2, seed, seed - _P1)]
        while (at + 4) * _WORD <= size:
            lanes = [_rotate_left(lane + words[at + place] * _P2, 31) * _P1 for place, lane in enumerate(lanes)]
            at += 4
        running = sum(
            (_rotate_left(lane, by) for lane, by in zip(lanes[1:], (7, 12, 18), strict=True)),
            _rotate_left(lanes[0], 1),
        )
        for lane in lanes:
            running = (running ^ (_rotate_left(lane * _P2, 31) * _P1)) * _P1 + _P4
    else:
        running = np.array([seed + _P5])
    running = running + np.uint64(size)
    while (at + 1) * _WORD <= size:
        running = _rotate_left(running ^ (_rotate_left(words[at] * _P2, 31) * _P1), 27) * _P1 + _P4
        at += 1
    left = size - at * _WORD
    rest: Any = words[at] if left else None
    if left >= 4:
        running = _rotate_left(running ^ ((rest & np.uint64(0xFFFFFFFF)) * _P1), 23) * _P2 + _P3
    for place in range(4 if left >= 4 else 0, left):
        byte = (rest >> np.uint64(8 * place)) & np.uint64(0xFF)
        running = _rotate_left(running ^ (byte * _P5), 11) * _P1
    hashes: NumberArray = _avalanche(running)
    return hashes


def _avalanche(running: Any) -> Any:
    """Return the final mix of a hash."""
    running = (running ^ (running >> np.uint64(33))) * _P2
    running = (running ^ (running >> np.uint64(29))) * _P3
    return running ^ (running >> np.uint64(32))


def _rotate_left(bits: Any, by: int) -> Any:
    """Return 64-bit words rotated to the left."""
    return (bits << np.uint64(by)) | (bits >> np.uint64(64 - by))
