"""What sources share that are given bytes or elements once: they are decoded, logged, and only then there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from hydrograph.errors import RunError, UsageError
from hydrograph.live.sources.decoder import Decoder
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.source import Chunk, Given, Wake
from hydrograph.live.storage.append_log import AppendLog, log_end, read_log
from hydrograph.live.storage.lease import Lease
from hydrograph.streams.event_time import Texts
from hydrograph.streams.formats.tnt import Row, batch
from hydrograph.streams.registry import PARQUET
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

_LOG = "log"
_PARTING = 0.5
"""Seconds that a thread is given to end."""


@dataclass(slots=True)
class LoggedSource:
    """A source whose log is kept here; a thread of `receive` fills it."""

    given: Given
    receive: Callable[[LoggedSource], None] | None = None
    failure: Exception | None = field(init=False, default=None)
    trouble: str | None = field(init=False, default=None)
    """Why nothing comes at the moment, though it may yet; shown in the status."""
    stopping: threading.Event = field(init=False, default_factory=threading.Event)
    _over: bool = field(init=False, default=False)
    _refused: str | None = field(init=False, default=None)
    _wake: Wake = field(init=False, default=lambda: None)
    _thread: threading.Thread | None = field(init=False, default=None)
    _opened: tuple[AppendLog, Decoder] | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    """Elements stand in the log in the order of their numbers, whoever sends them."""

    def __post_init__(self) -> None:
        """Refuse what comes in files only."""
        if self.given.format == PARQUET:
            raise UsageError(f"{self.given.url}: expected a format that can come bit by bit, got {PARQUET}")

    def open(self, lease: Lease, known: int) -> None:
        """Open the log, to write to it from here on."""
        log = AppendLog(self.given.log, _LOG, lease, known)
        self._opened = log, Decoder(self.given, log.number)

    @property
    def log(self) -> AppendLog:
        """What has come."""
        return self._writing[0]

    @property
    def _writing(self) -> tuple[AppendLog, Decoder]:
        if self._opened is None:
            raise RunError(f"{self.given.url} takes nothing yet: start the query first")
        return self._opened

    def start(self, wake: Wake) -> None:
        """Begin to take what comes."""
        self._wake = wake
        if self.receive is not None and not self._over:
            self._thread = threading.Thread(target=self._run, name=f"source {self.given.url}", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        assert self.receive is not None
        try:
            self.receive(self)
        except Exception as error:  # noqa: BLE001 - whatever it is, the driver is to know and stop
            self.failure = error
            self._wake()

    def end(self) -> int:
        """Return the offset behind what can be read now."""
        if self.failure is not None:
            raise self.failure
        return log_end(self.given.log, _LOG) if self._opened is None else self.log.end

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return what lies between two offsets."""
        return read_log(self.given.log, _LOG, start, end) if self._opened is None else self.log.read(start, end)

    def finished(self) -> bool:
        """Tell whether nothing will come any more."""
        return self._over

    def finish(self) -> None:
        """Say that nothing will come any more."""
        self._over = True
        self._wake()

    def forget(self, before: int) -> None:
        """Allow what lies before an offset to be removed."""
        self.log.forget(before)

    def stop(self) -> None:
        """Take nothing more; a thread that waits for data that never comes is left alone."""
        self.stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PARTING)
        self.refuse("the query has stopped")

    def refuse(self, words: str) -> None:
        """Tell whoever sends from now on that nobody will answer; nothing is written to the log any more."""
        with self._lock:
            self._refused = self._refused or words

    def _check_open(self) -> None:
        if self._refused is not None:
            raise RunError(f"{self.given.url} takes nothing any more: {self._refused}")
        if self._over:
            raise UsageError(f"{self.given.url} has ended, nothing can follow: to begin anew choose another checkpoint")

    def send_lines(self, data: bytes) -> None:
        """Log the elements of text lines in one step, also the last one: what follows is another element."""

        def decode(decoder: Decoder) -> tuple[list[Row], int]:
            rows, rejected = decoder.lines(data)
            more, bad = decoder.rest()
            return rows + more, rejected + bad

        self.log_decoded(decode)

    def take_rest(self) -> None:
        """Log what was waited for, since nothing follows."""
        self.log_decoded(lambda decoder: decoder.rest())

    def take_all(self, feed: Feed) -> None:
        """Log what comes, as it comes, until it ends; an element that was not whole then is counted as rejected."""
        self._writing[1].all_of(feed, lambda decode: self.log_decoded(lambda _: decode()))

    def send(self, t: Instant, triples: list[Texts]) -> None:
        """Log one element: it is there when this returns."""
        self.log_decoded(lambda decoder: (decoder.element(t, triples), 0))

    def send_payload(self, data: bytes) -> None:
        """Log the elements of a text or document in the format of this source, all of them or none."""
        self.log_decoded(lambda decoder: (decoder.payload(data), 0))

    def send_table(self, events: pa.Table) -> None:
        """Log encoded rows; their `seq` is given anew, in their order."""
        log, decoder = self._writing
        with self._lock:
            self._check_open()
            log.append(decoder.renumbered(events), decoder.number)
        self._wake()

    def log_decoded(self, decode: Callable[[Decoder], tuple[list[Row], int]]) -> None:
        """Log the rows that a decoder behind the last element gives, and count what it rejects, in one step."""
        log, decoder = self._writing
        with self._lock:
            rows, rejected = decode(decoder)
            if not rows and not rejected:
                return
            self._check_open()
            table = pa.Table.from_batches([batch(rows)]) if rows else EVENTS.empty_table()
            log.append(table, decoder.number, rejected)
        self._wake()
