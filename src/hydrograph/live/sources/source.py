"""What a source is: a log that can be read from one offset to another, again and again (S38)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from hydrograph.live.step.input_batch import partition_of
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.encoding import salt_of
from hydrograph.rdf.terms import Iri
from hydrograph.streams.event_time import EventTime

Wake = Callable[[], None]
"""Called when there is something new."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Rows of whole elements, and the offsets `[start, end)` they stand at."""

    events: pa.Table
    start: int
    end: int
    rejected: int = 0


class Source(Protocol):
    """One partition of a stream. Offsets grow from 0; what lies before `end` stays readable until it is forgotten.

    A source that is not opened writes nothing that counts, and gives what the driver that opened it has found: so it is
    read in other processes.
    """

    def open(self, lease: Lease, known: int) -> None:
        """Take up what is there, for the driver with this lease; raise DataError if it ends before `known`.

        What is written from here on stands beside what drivers before this one may still write, and counts.
        """
        ...

    def start(self, wake: Wake) -> None:
        """Begin to take what comes."""
        ...

    def end(self) -> int:
        """Return the offset behind what can be read now."""
        ...

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return what lies between two offsets, the same each time; raise DataError if it is gone."""
        ...

    def finished(self) -> bool:
        """Tell whether nothing will come behind `end` any more."""
        ...

    def forget(self, before: int) -> None:
        """Allow what lies before an offset to be removed."""
        ...

    def stop(self) -> None:
        """Take nothing more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a source is opened with."""

    stream: Iri
    url: str
    partition: int = 0
    shared: bool = False
    """Whether the stream has other partitions."""
    format: str | None = None
    times: EventTime
    log: Files
    """Where to keep what can't be read again from its origin."""
    bad: str = "skip"
    """What happens to elements that can't be read: `skip` counts them, `fail` stops the query."""
    options: dict[str, str]

    @property
    def salt(self) -> str:
        """What keeps the blank nodes of this partition apart from others."""
        return salt_of(partition_of(self.stream, self.partition))
