"""Input batches: encoded rows of one partition of a stream, with their offsets in its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hydrograph.rdf.terms import Iri

Partition: TypeAlias = str
"""Name of a partition: the IRI of its stream, followed by a space and its number unless that is 0."""

_TIME_LIMIT = 2**60
"""Times beyond it are invalid: sums with the widths of windows have to fit into 64 bits."""


def partition_of(stream: Iri, number: int = 0) -> Partition:
    """Return the name of a partition.

    >>> partition_of(Iri("urn:s")), partition_of(Iri("urn:s"), 2)
    ('urn:s', 'urn:s 2')
    """
    return f"{stream.value} {number}" if number else stream.value


def stream_of(partition: Partition) -> Iri:
    """Return the stream of a partition.

    >>> stream_of("urn:s 2")
    Iri(value='urn:s')
    """
    return Iri(partition.partition(" ")[0])


@dataclass(frozen=True, slots=True)
class InputBatch:
    """Whole elements of one partition, as rows of the encoded schema in the order of the log.

    `seq` orders the elements of all partitions of the stream and is unique among them. `end` is the offset behind them.
    """

    stream: Iri
    events: pa.Table
    start: int
    end: int
    partition: int = 0
    rejected: int = 0
    """Elements of this part of the log that could not be read and were skipped."""

    @property
    def name(self) -> Partition:
        """The name of the partition."""
        return partition_of(self.stream, self.partition)

    def drop_invalid_times(self) -> InputBatch:
        """Return the batch without elements whose times are out of range; they count as rejected."""
        t = self.events.column("t").to_numpy()
        if not len(t) or (t.min() > -_TIME_LIMIT and t.max() < _TIME_LIMIT):
            return self
        events = self.events.filter(pa.array((t > -_TIME_LIMIT) & (t < _TIME_LIMIT)))
        dropped = len(distinct_elements(self.events)[1]) - len(distinct_elements(events)[1])
        return replace(self, events=events, rejected=self.rejected + dropped)


def start_offsets(batches: Sequence[InputBatch]) -> dict[Partition, int]:
    """Return the first offset of each partition in some batches."""
    found: dict[Partition, int] = {}
    for batch in batches:
        found[batch.name] = min(found.get(batch.name, batch.start), batch.start)
    return found


def end_offsets(batches: Sequence[InputBatch]) -> dict[Partition, int]:
    """Return the offset behind the last row of each partition in some batches."""
    found: dict[Partition, int] = {}
    for batch in batches:
        found[batch.name] = max(found.get(batch.name, batch.end), batch.end)
    return found


def distinct_elements(events: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Return time and `seq` of each element, once, however many rows it has."""
    seq = events.column("seq").to_numpy()
    steps = np.diff(seq)
    if (steps >= 0).all():  # in the order of the log, as rows are unless they were in quarantine
        at = np.concatenate((np.zeros(min(1, len(seq)), np.int64), np.flatnonzero(steps) + 1))
    else:
        _, at = np.unique(seq, return_index=True)
    return events.column("t").to_numpy()[at], seq[at]
