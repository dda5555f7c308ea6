"""Texts in Arrow arrays, and their hashes in NumPy ones: many at once, because one by one takes longest of all.

The hash is xxHash64 in Spark's way, which makes the ids of terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh64_intdigest

from hydrograph_gauge.worlds.draw_arrays import P1, P2, P3, P4, P5, SEED, Numbers, finished, rotated

_MANY = 64
"""Texts of one length that are worth a round of arrays."""
_WORD, _STRIPE = 8, 32


def numbered(before: pa.Array | str, numbers: Numbers, after: str) -> pa.Array:
    """Return texts: what stands before, the number, what stands after.

    >>> numbered("<urn:", np.array([7, -8]), ">").to_pylist()
    ['<urn:7>', '<urn:-8>']
    """
    return pc.binary_join_element_wise(before, pa.array(numbers).cast(pa.string()), after, "")


def text_hashes(texts: pa.Array) -> Numbers:
    """Return what Spark's `xxhash64` gives for a column of texts: the ids of terms.

    >>> from hydrograph.rdf.encoding import term_id
    >>> text_hashes(pa.array(["<urn:é>"])).tolist() == [term_id("<urn:é>")]
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
        if count >= _MANY:
            result[some] = _hashes(bytes_, offsets[some], size)
        else:
            seed = int(SEED)
            result[some] = [xxh64_intdigest(bytes_[at : at + size].tobytes(), seed) for at in offsets[some].tolist()]
    return result.view(np.int64)


def _hashes(bytes_: Numbers, starts: Numbers, size: int) -> Numbers:
    """Return the hashes of texts of one size."""
    padded = np.zeros((len(starts), -(-size // _WORD) * _WORD), np.uint8)
    padded[:, :size] = bytes_[starts[:, None] + np.arange(size)]
    words: Any = np.ascontiguousarray(padded.view("<u8").T)
    at = 0
    if size >= _STRIPE:
        with np.errstate(over="ignore"):
            lanes: list[Any] = [np.array([one]) for one in (SEED + P1 + P2, SEED + P2, SEED, SEED - P1)]
        while (at + 4) * _WORD <= size:
            lanes = [rotated(lane + words[at + place] * P2, 31) * P1 for place, lane in enumerate(lanes)]
            at += 4
        running = sum(
            (rotated(lane, by) for lane, by in zip(lanes[1:], (7, 12, 18), strict=True)), rotated(lanes[0], 1)
        )
        for lane in lanes:
            running = (running ^ (rotated(lane * P2, 31) * P1)) * P1 + P4
    else:
        running = np.array([SEED + P5])
    running = running + np.uint64(size)
    while (at + 1) * _WORD <= size:
        running = rotated(running ^ (rotated(words[at] * P2, 31) * P1), 27) * P1 + P4
        at += 1
    left = size - at * _WORD
    rest: Any = words[at] if left else None
    if left >= 4:
        running = rotated(running ^ ((rest & np.uint64(0xFFFFFFFF)) * P1), 23) * P2 + P3
    for place in range(4 if left >= 4 else 0, left):
        byte = (rest >> np.uint64(8 * place)) & np.uint64(0xFF)
        running = rotated(running ^ (byte * P5), 11) * P1
    hashes: Numbers = finished(running)
    return hashes
