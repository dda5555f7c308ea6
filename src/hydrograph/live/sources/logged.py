"""Partitions whose origin cannot be read again: elements are decoded and logged, and only then count as received."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from hydrograph.errors import RunError, UsageError
from hydrograph.live.sources.decoder import Decoder, Feed
from hydrograph.live.sources.source import PartitionReader, PartitionSpec, Wake
from hydrograph.live.storage.input_log import Chunk, InputLog, log_end, read_log
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.event_time import Texts
from hydrograph.streams.format_registry import PARQUET
from hydrograph.streams.schema import EVENTS, Row, encode_events
from hydrograph.temporal import Instant

_LOG = "log"
_JOIN_SECONDS = 0.5
"""Seconds that a thread is given to end."""


@dataclass(slots=True)
class LoggedPartition(PartitionReader):
    """A partition with a write-ahead log in the checkpoint.

    `receive` fills it in a thread of its own, until `stopping` is set. It logs what arrives with `take_all`, `send`,
    `send_payload`, `send_table` or `send_lines`; when one of them returns, the elements are durable and may be
    acknowledged. It sets `trouble` while it retries, calls `finish` at the end of the stream, and raises what is to end
    the query.
    """

    partition: PartitionSpec
    receive: Callable[[LoggedPartition], None] | None = None
    failure: Exception | None = field(init=False, default=None)
    """The error that has ended `receive`; `end` raises it."""
    trouble: str | None = field(init=False, default=None)
    stopping: threading.Event = field(init=False, default_factory=threading.Event)
    _ended: bool = field(init=False, default=False)
    _refused: str | None = field(init=False, default=None)
    _wake: Wake = field(init=False, default=lambda: None)
    _thread: threading.Thread | None = field(init=False, default=None)
    _writer: tuple[InputLog, Decoder] | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    """Held while elements are numbered and logged, so that the log is in the order of their numbers."""

    def __post_init__(self) -> None:
        """Refuse formats that exist only as whole files."""
        if self.partition.format == PARQUET:
            raise UsageError(f"{self.partition.url}: expected a format that can be streamed, got {PARQUET}")

    def resume(self, lease: Lease, known: int) -> None:
        """Open the log for appending."""
        log = InputLog(self.partition.log, _LOG, lease, known)
        self._writer = log, Decoder(self.partition, log.number)

    @property
    def log(self) -> InputLog:
        """The write-ahead log."""
        return self._writing[0]

    @property
    def _writing(self) -> tuple[InputLog, Decoder]:
        if self._writer is None:
            raise RunError(f"{self.partition.url} accepts nothing yet: start the query first")
        return self._writer

    def start(self, wake: Wake) -> None:
        """Start the thread that receives."""
        self._wake = wake
        if self.receive is not None and not self._ended:
            self._thread = threading.Thread(target=self._run, name=f"source {self.partition.url}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        assert self.receive is not None
        try:
            self.receive(self)
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends the query
            self.failure = error
            self._wake()

    def end(self) -> int:
        """Return the end of the log; raise the error that has ended `receive`."""
        if self.failure is not None:
            raise self.failure
        return log_end(self.partition.log, _LOG) if self._writer is None else self.log.end

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Yield the frames of the log between two offsets."""
        return read_log(self.partition.log, _LOG, start, end) if self._writer is None else self.log.read(start, end)

    def has_ended(self) -> bool:
        """Return True if the stream was finished."""
        return self._ended

    def finish(self) -> None:
        """End the stream: nothing more is accepted."""
        self._ended = True
        self._wake()

    def forget(self, before: int) -> None:
        """Truncate the log."""
        self.log.forget(before)

    def stop(self) -> None:
        """Stop receiving; a thread that is blocked in a read of its own is left behind."""
        self.stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_SECONDS)
        self.refuse("the query has stopped")

    def refuse(self, reason: str) -> None:
        """Answer all later senders with an error; nothing is written to the log any more."""
        with self._lock:
            self._refused = self._refused or reason

    def _check_open(self) -> None:
        if self._refused is not None:
            raise RunError(f"{self.partition.url} accepts nothing any more: {self._refused}")
        if self._ended:
            raise UsageError(f"{self.partition.url} has ended, nothing can follow: use a new checkpoint to start over")

    def send_lines(self, data: bytes) -> None:
        """Log the elements of text lines in one step, the last one too: what follows is another element."""

        def decode(decoder: Decoder) -> tuple[list[Row], int]:
            rows, rejected = decoder.lines(data)
            more, bad = decoder.rest()
            return rows + more, rejected + bad

        self.log_decoded(decode)

    def take_rest(self) -> None:
        """Log an element that might have continued, since nothing follows."""
        self.log_decoded(lambda decoder: decoder.rest())

    def take_all(self, feed: Feed) -> None:
        """Log elements as they arrive, until the feed ends; an element that was cut off is counted as rejected."""
        self._writing[1].decode_feed(feed, lambda decode: self.log_decoded(lambda _: decode()))

    def send(self, t: Instant, triples: list[Texts]) -> None:
        """Log one element."""
        self.log_decoded(lambda decoder: (decoder.element(t, triples), 0))

    def send_payload(self, data: bytes) -> None:
        """Log the elements of a text or document in the format of this partition, all of them or none."""
        self.log_decoded(lambda decoder: (decoder.payload(data), 0))

    def send_table(self, events: pa.Table) -> None:
        """Log encoded rows; their `seq` is numbered again, in their order."""
        log, decoder = self._writing
        with self._lock:
            self._check_open()
            log.append(decoder.renumber(events), decoder.number)
        self._wake()

    def log_decoded(self, decode: Callable[[Decoder], tuple[list[Row], int]]) -> None:
        """Decode and log in one step: `decode` returns rows and the number of rejected elements."""
        log, decoder = self._writing
        with self._lock:
            rows, rejected = decode(decoder)
            if not rows and not rejected:
                return
            self._check_open()
            table = pa.Table.from_batches([encode_events(rows)]) if rows else EVENTS.empty_table()
            log.append(table, decoder.number, rejected)
        self._wake()
