"""Sequence numbers of the elements of a directory's files, and the names of blank nodes that depend on them.

`seq` is the number of the partition, shifted by `PARTITION_BITS`, plus that of the file, shifted by `bits`, plus that
of the element in its file. A stream of one partition is numbered as replay numbers the files of a directory. Where it
has several, a file has fewer numbers, so that many files fit before the next partition begins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.errors import DataError
from hydrograph.live.sources.source import PARTITION_BITS
from hydrograph.rdf.encoding import skolem, term_id
from hydrograph.streams.schema import FILE_BITS

_SHARED_BITS = 28
_SEQ_BITS = 63
_OWN = re.compile(r"_:e(-?[0-9]+)x[0-9a-f]+x(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Numbering:
    """How the elements of a directory are numbered, from its first file on."""

    bits: int = FILE_BITS
    """Bits for the number of an element in its file."""
    recorded: bool = False
    """Whether all files are one recorded stream, whose elements have their numbers already."""

    @classmethod
    def of(cls, *, shared: bool, recorded: bool) -> Numbering:
        """Return how to number the elements of a directory; `shared` if its stream has other partitions."""
        return cls(_SHARED_BITS if shared else FILE_BITS, recorded=recorded)

    def most_files(self, *, shared: bool) -> int:
        """Return how many files fit before the next partition begins, or numbers end."""
        return 1 << ((PARTITION_BITS if shared else _SEQ_BITS) - self.bits)


@dataclass(frozen=True, slots=True)
class FileNumbers:
    """Numbers of one file: what is added to those of its elements, and how many there may be."""

    base: int
    most: int
    salt: str
    common: bool = False
    """Whether other files share the range, so that elements cannot be numbered again."""

    @classmethod
    def of(cls, numbering: Numbering, partition: int, file: int, salt: str) -> FileNumbers:
        """Return the place of a file in a partition."""
        base = partition << PARTITION_BITS
        if numbering.recorded:
            alone = numbering.bits == FILE_BITS and not partition
            return cls(base, 1 << (_SEQ_BITS if alone else PARTITION_BITS), salt, common=True)
        return cls(base + (file << numbering.bits), 1 << numbering.bits, salt)


def number_rows(events: pa.Table, place: FileNumbers) -> pa.Table:
    """Return the rows of a file with the numbers and blank nodes of its place; raise DataError if they do not fit.

    Elements keep their numbers in the file; where these are too large, as in a file cut from a larger record, they are
    numbered in their order.
    """
    if not events.num_rows:
        return events
    old = events.column("seq").to_numpy()
    new = old
    if old.min() < 1 or old.max() >= place.most:
        if place.common:
            raise DataError(
                f"expected numbers of elements from 1 to {place.most - 1}, got {old.min()} to {old.max()}, which "
                "belong to other partitions of the stream: convert it again, from fewer files"
            )
        _, rank = np.unique(old, return_inverse=True)
        new = rank + 1
        if new.max() >= place.most:
            raise DataError(f"expected less than {place.most} elements in a file, got {new.max()}: cut it into several")
    if place.base == 0 and new is old:
        return events
    new = new + place.base
    for name in ("s", "o"):
        events = _rescoped(events, name, old, new, place)
    return _with(events, "seq", pa.array(new, pa.int64()))


def _rescoped(events: pa.Table, name: str, old: np.ndarray, new: np.ndarray, place: FileNumbers) -> pa.Table:
    """Return rows in which the blank nodes of a column are named after the new numbers of their elements."""
    mask = pc.starts_with(events.column(name), "_:").combine_chunks()
    at = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    if not len(at):
        return events
    texts = events.column(name).take(pa.array(at)).to_pylist()
    named = [_named(text, int(old[row]), int(new[row]), place) for row, text in zip(at, texts, strict=True)]
    ids = pa.array([term_id(text) for text in named], pa.int64())
    events = _with(events, name, pc.replace_with_mask(events.column(name), mask, pa.array(named, pa.string())))
    return _with(events, f"{name}_id", pc.replace_with_mask(events.column(f"{name}_id"), mask, ids))


def _named(text: str, old: int, new: int, place: FileNumbers) -> str:
    found = _OWN.fullmatch(text)
    if found is not None and int(found[1]) == old:
        return skolem(place.salt, new, found[2])
    return skolem(place.salt, place.base, text[2:])  # a label without an element is one of the whole file


def _with(events: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    return events.set_column(events.schema.get_field_index(name), events.schema.field(name), column)
