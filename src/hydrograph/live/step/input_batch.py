"""What comes into a step: encoded rows of one partition of a stream, with where they stand in its log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from hydrograph.rdf.terms import Iri

Partition: TypeAlias = str
"""The name of a partition: the IRI of its stream, and after a space its number where there are several."""


def partition_of(stream: Iri, number: int = 0) -> Partition:
    """Return the name of a partition.

    >>> partition_of(Iri("urn:s")), partition_of(Iri("urn:s"), 2)
    ('urn:s', 'urn:s 2')
    """
    return f"{stream.value} {number}" if number else stream.value


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
    """Elements of this part of the log that could not be read and were left out."""

    @property
    def name(self) -> Partition:
        """The name of the partition."""
        return partition_of(self.stream, self.partition)


def offsets_of(arrivals: Sequence[InputBatch], *, behind: bool) -> dict[Partition, int]:
    """Return for each partition the offset behind its last arrival, or that of its first one."""
    found: dict[Partition, int] = {}
    for arrival in arrivals:
        if behind:
            found[arrival.name] = max(found.get(arrival.name, arrival.end), arrival.end)
        else:
            found[arrival.name] = min(found.get(arrival.name, arrival.start), arrival.start)
    return found
