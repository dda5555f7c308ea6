"""Contract of live sources: a source lists its partitions, and each partition is a log that is read by offsets (S38).

A connector is a `Source` and a `PartitionReader`, in one module of this package, with one line in `registry`.

```
driver      Source(spec) -> list_partitions() -> open(partition) -> resume(lease, known) -> start(wake)
                         -> end(), read(), has_ended(), forget() again and again -> stop()
executors   Source(spec) -> open(partition) -> read() again and again
```

**Offsets.** Whole numbers that grow from 0. A range `[start, end)` holds its start and not its end, so an offset is the
position of the next element to read: a reader that is resumed at `known` gives the element *at* `known` first, skips
nothing and repeats nothing. The engine passes only offsets that it got from this partition: 0, the value of `end()`,
and the bounds of chunks; between them it invents none, unless the reader is `divisible`.

**Determinism.** `read(start, end)` gives the same rows, `seq` and blank nodes included, in every process, after every
restart, and however the range is cut, until the range is forgotten. A crashed driver reads again what it had read, and
Spark tasks read ranges on other machines. So `seq` and offsets are derived from the origin or from the log, never from
a counter in memory.

**Durability.** What `end()` covers must survive this process. Either the origin keeps it (a directory, a topic), or the
reader writes it to `partition.log` first (see `logged.LoggedPartition`). Acknowledge to a sender when the write has
returned. An origin that keeps data until it is acknowledged is acknowledged in `forget`.

**Threads and blocking.** The driver calls one reader from one thread at a time. `end`, `has_ended` and `trouble` are
called many times a second and must not block: wait for data in a thread of your own, started by `start`, and call
`wake` when there is something new. `trouble` is read by other threads too. `read`, `resume` and `list_partitions` may
block on input and output. `stop` returns when the threads of the reader have ended, within about a second.

**Ends.** When `has_ended()` returns True, `end()` does not grow any more, and never will after a restart either: the
query records the end, closes the partition's windows, and calls `finish` at later starts.

**Errors.** The engine retries nothing. An exception from any call ends the query with that message; a later start
resumes from the checkpoint. What may pass by itself (no connection yet) is retried by the reader, which reports it in
`trouble`. Raise DataError for data that is gone or damaged, and name what to bring back. An element that cannot be
parsed is counted in `Chunk.rejected` if `partition.bad` is `skip`, and raises DataError if it is `fail`.

**Fencing.** A driver that was believed dead may still run. Files that a reader writes carry `lease.epoch` in their
names, or are written once with `Files.claim`; a reader never removes files of a later epoch. A reader that was not
resumed, as on an executor, writes nothing that counts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from hydrograph.live.step.records import Partition, partition_of
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.encoding import salt_of
from hydrograph.rdf.terms import Iri
from hydrograph.streams.event_time import EventTime

if TYPE_CHECKING:
    from hydrograph.live.sources.push import LiveStream

Wake = Callable[[], None]
"""Wakes the driver, from any thread, when there may be something new."""

PARTITION_BITS = 52
"""`seq` is the number of the partition, shifted by this, plus the number of the element in the partition, from 1."""
MOST_PARTITIONS = 1 << (63 - PARTITION_BITS)
"""Partitions that a stream may have, since `seq` has 63 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSpec:
    """A stream and its parsed URL; small and picklable."""

    stream: Iri
    url: str
    """The URL without its options."""
    format: str | None = None
    times: EventTime = field(default_factory=EventTime)
    bad: str = "skip"
    """Treatment of elements that cannot be parsed: `skip` counts them, `fail` ends the query."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of the URL that belong to the kind of source."""

    def option(self, name: str, default: str = "") -> str:
        """Return the value of an option."""
        return dict(self.options).get(name, default)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpec(SourceSpec):
    """One partition of a source, with the place for its files; made for the process that opens it."""

    key: str = ""
    """The name that `list_partitions` gives it."""
    number: int = 0
    """Its number among all partitions of the stream; the same at every start."""
    shared: bool = False
    """True if the stream has other partitions."""
    log: Files
    """Files in the checkpoint, for what cannot be read again from the origin."""

    @property
    def salt(self) -> str:
        """Prefix that keeps the blank nodes of this partition apart from others."""
        return salt_of(partition_of(self.stream, self.number))

    @property
    def first_seq(self) -> int:
        """The `seq` before the first element of this partition."""
        return self.number << PARTITION_BITS


@dataclass(frozen=True, slots=True)
class PartitionLocator:
    """Picklable description of a partition, by which any process opens it; see `registry.reopen`."""

    source: SourceSpec
    """The source, with a URL that means the same in any working directory."""
    key: str = ""
    number: int = 0
    shared: bool = False
    log: str = ""
    """Directory or URL of the partition's files."""

    @property
    def name(self) -> Partition:
        """The name of the partition in records and messages."""
        return partition_of(self.source.stream, self.number)

    def spec(self, log: Files) -> PartitionSpec:
        """Return the partition for a process that has opened its files."""
        given = {each.name: getattr(self.source, each.name) for each in fields(SourceSpec)}
        return PartitionSpec(**given, key=self.key, number=self.number, shared=self.shared, log=log)


class PartitionReader(ABC):
    """Reader of one partition; the module's docstring is its contract."""

    divisible: bool = False
    """True if every number between two offsets is an offset too, because offsets count things such as files.

    Spark then cuts a long range at any number. Otherwise it cuts at the bounds of chunks, which it finds by reading.
    """

    @property
    def trouble(self) -> str | None:
        """Why nothing arrives at the moment, or what is left out, for the status; None if all is well."""
        return None

    @abstractmethod
    def resume(self, lease: Lease, known: int) -> None:
        """Become the reader of the driver that holds `lease`; called once, before `start`.

        `known` is the offset up to which the query has read: raise DataError if the partition ends before it. Whatever
        is written from here on must be kept apart from files of earlier drivers, which may still be running.
        """

    def start(self, wake: Wake) -> None:  # noqa: B027 - optional
        """Begin to receive or to poll, in threads of its own; return at once. Call `wake` when `end` has grown."""

    @abstractmethod
    def end(self) -> int:
        """Return the offset behind the last element that can be read now; never less than before.

        Only whole elements count: the end never lies inside a line or document that is still being written.
        """

    @abstractmethod
    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Yield the elements in `[start, end)` in order, as chunks whose offsets join without gaps.

        A chunk holds whole elements; many small chunks are better than one that does not fit in memory. Raise
        DataError if the range is gone or damaged. Works in any process, without `resume`.
        """

    @abstractmethod
    def has_ended(self) -> bool:
        """Return True if nothing will follow behind `end()`, now or after any restart."""

    def finish(self) -> None:  # noqa: B027 - optional
        """Accept nothing more: the query has recorded that this partition has ended."""

    def refuse(self, reason: str) -> None:  # noqa: B027 - optional
        """Answer senders with an error with the reason why nothing is accepted any more: the query has failed."""

    def forget(self, before: int) -> None:  # noqa: B027 - optional
        """Release everything before an offset: no recovery reads it again. Remove or acknowledge it, or do nothing."""

    def stop(self) -> None:  # noqa: B027 - optional
        """End all threads and close connections; `read` and `end` are not called any more."""

    def push_stream(self, name: Partition) -> LiveStream | None:  # noqa: ARG002 - for those that have one
        """Return the handle through which this program fills the partition; None if something else fills it."""
        return None


@dataclass(frozen=True, slots=True)
class Source(ABC):
    """A stream's input at one URL. The constructor parses the URL and contacts nothing; it may raise UsageError."""

    spec: SourceSpec

    @property
    def location(self) -> str:
        """The URL, without its options, as any process understands it; paths are absolute."""
        return self.spec.url

    @abstractmethod
    def list_partitions(self) -> Sequence[str]:
        """Return the keys of the partitions; called once, in the driver, before anything is opened.

        A key denotes the same partition at every start. Numbers are given to new keys in the order of the list, and
        kept in the checkpoint, so the order may change later and keys may be added. A key that the query has read must
        be listed at every later start. Partitions that appear while a query runs are read from its next start on.

        Check here that the origin can be used at all, and raise UsageError or DataError otherwise.
        """

    @abstractmethod
    def open(self, partition: PartitionSpec) -> PartitionReader:
        """Return the reader of a partition. Runs in the driver and on executors: cheap, and without side effects."""


class SinglePartitionSource(Source):
    """Base of sources with one partition; its key is empty, and its URL alone names it."""

    def list_partitions(self) -> Sequence[str]:
        """Return the one partition."""
        return ("",)
