"""In-memory source with partitions, for tests of everything that reads sources: `memory:TOPIC`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.sources.source import PartitionReader, PartitionSpec, Source, Wake
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.schema import encode_events


@dataclass(slots=True)
class Topic:
    """Partitions by key, each a list of elements that only grows; an offset is a number of elements."""

    partitions: dict[str, list[tuple[int, tuple[str, str, str]]]] = field(default_factory=dict)
    ended: bool = False
    wakes: list[Wake] = field(default_factory=list)

    def send(self, key: str, t: int, s: str, p: str, o: str) -> None:
        """Append an element of one triple."""
        self.partitions[key].append((t, (s, p, o)))
        self.wake()

    def end(self) -> None:
        """End all partitions."""
        self.ended = True
        self.wake()

    def wake(self) -> None:
        """Tell the readers that something has changed."""
        for wake in self.wakes:
            wake()


TOPICS: dict[str, Topic] = {}
"""Topics by name; they outlive the queries that read them."""


class TestingSource(Source):
    """All partitions of a topic."""

    __test__ = False

    def list_partitions(self) -> Sequence[str]:
        """Return the keys of the topic."""
        return [*self._topic.partitions]

    def open(self, partition: PartitionSpec) -> TestingPartition:
        """Return the reader of one partition."""
        return TestingPartition(partition, self._topic)

    @property
    def _topic(self) -> Topic:
        return TOPICS[self.spec.url.removeprefix("memory:")]


@dataclass(slots=True)
class TestingPartition(PartitionReader):
    """One partition of a topic."""

    __test__ = False
    partition: PartitionSpec
    topic: Topic
    divisible = True

    @property
    def _elements(self) -> list[tuple[int, tuple[str, str, str]]]:
        return self.topic.partitions[self.partition.key]

    def resume(self, lease: Lease, known: int) -> None:  # noqa: ARG002 - it writes nothing
        """Check that the topic holds what was read."""
        if len(self._elements) < known:
            raise DataError(f"{self.partition.key} has {len(self._elements)} elements, expected {known}")

    def start(self, wake: Wake) -> None:
        """Be woken by the topic."""
        self.topic.wakes.append(wake)

    def end(self) -> int:
        """Return the number of elements."""
        return len(self._elements)

    def has_ended(self) -> bool:
        """Return True if the topic has ended."""
        return self.topic.ended

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Yield a chunk for each element."""
        for number in range(start, end):
            t, triple = self._elements[number]
            row = (t, self.partition.first_seq + number + 1, *triple)
            yield Chunk(pa.Table.from_batches([encode_events([row])]), number, number + 1)
