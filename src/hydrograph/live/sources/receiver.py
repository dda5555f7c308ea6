"""What sources share that are given bytes or elements once: they are decoded, logged, and only then there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, cast

import numpy as np
import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.log import AppendLog
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.source import Chunk, Given, Wake
from hydrograph.rdf.encoding import skolem
from hydrograph.streams.elements import Broken, File, Piece
from hydrograph.streams.event_time import Texts
from hydrograph.streams.formats.tnt import BadLines, Row, Tally, TntReader, batch
from hydrograph.streams.registry import TNT, format_named
from hydrograph.streams.schema import EVENTS
from hydrograph.temporal import Instant

_PARTING = 0.5
"""Seconds that a thread is given to end."""
PARTITION_BITS = 52
"""`seq` is the number of the partition, shifted by this, plus the number of the element in it."""


@dataclass(slots=True)
class LoggedSource:
    """A source whose log is kept here; a thread of `receive` fills it."""

    given: Given
    receive: Callable[[LoggedSource], None] | None = None
    log: AppendLog = field(init=False)
    failure: Exception | None = field(init=False, default=None)
    trouble: str | None = field(init=False, default=None)
    """Why nothing comes at the moment, though it may yet; shown in the status."""
    stopping: threading.Event = field(init=False, default_factory=threading.Event)
    _over: bool = field(init=False, default=False)
    _wake: Wake = field(init=False, default=lambda: None)
    _thread: threading.Thread | None = field(init=False, default=None)
    _decoder: Decoder = field(init=False)

    def __post_init__(self) -> None:
        """Open the log."""
        self.log = AppendLog(self.given.log, "log")
        self._decoder = Decoder(self.given, self.log.number)

    def start(self, wake: Wake) -> None:
        """Begin to take what comes."""
        self._wake = wake
        if self.receive is not None:
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
        return self.log.end

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        """Return what lies between two offsets."""
        return self.log.read(start, end)

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

    def take(self, data: bytes) -> None:
        """Log the elements that are whole with these bytes of text lines."""
        self._log(*self._decoder.lines(data))

    def take_rest(self) -> None:
        """Log what was waited for, since nothing follows."""
        self._log(*self._decoder.rest())

    def take_stream(self, raw: IO[bytes]) -> None:
        """Log the elements of something open, of any format, as they come."""
        for rows, rejected in self._decoder.pieces(raw):
            self._log(rows, rejected)

    def send(self, t: Instant, triples: list[Texts]) -> None:
        """Log one element: it is there when this returns."""
        self._log(self._decoder.element(t, triples), 0)

    def send_table(self, events: pa.Table) -> None:
        """Log encoded rows; their `seq` is given anew, in their order."""
        self._log_table(self._decoder.renumbered(events), 0)

    def _log(self, rows: list[Row], rejected: int) -> None:
        if rows or rejected:
            table = pa.Table.from_batches([batch(rows)]) if rows else self._decoder.nothing
            self._log_table(table, rejected)

    def _log_table(self, events: pa.Table, rejected: int) -> None:
        self.log.append(events, self._decoder.number, rejected)
        self._wake()


@dataclass(frozen=True, slots=True)
class _Lines(TntReader):
    """Reads lines that stand in memory."""

    numbered: tuple[tuple[int, str], ...] = ()

    def _lines(self) -> Iterator[tuple[str, int, str]]:
        for number, line in self.numbered:
            yield self.files[0], number, line


@dataclass(slots=True)
class Decoder:
    """Makes rows of what comes; elements are numbered on from `number`."""

    given: Given
    number: int
    _base: int = field(init=False)
    _partial: bytes = field(init=False, default=b"")
    _waiting: list[tuple[int, str]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Keep partitions apart."""
        self._base = self.given.partition << PARTITION_BITS

    @property
    def nothing(self) -> pa.Table:
        """No rows."""
        return EVENTS.empty_table()

    def lines(self, data: bytes) -> tuple[list[Row], int]:
        """Return the rows of whole elements; a line, or an element of several lines, may go on in what comes next."""
        *whole, self._partial = (self._partial + data).split(b"\n")
        for line in whole:
            self.number += 1
            self._waiting.append((self.number, line.removesuffix(b"\r").decode("utf-8", "surrogateescape")))
        ready = len(self._waiting)
        if ready and (group := _group(self._waiting[-1][1])) is not None:
            while ready and _group(self._waiting[ready - 1][1]) == group:
                ready -= 1
        return self._ready(ready)

    def rest(self) -> tuple[list[Row], int]:
        """Return the rows of what is left."""
        rows, rejected = self.lines(b"\n") if self._partial else ([], 0)
        more, bad = self._ready(len(self._waiting))
        return rows + more, rejected + bad

    def _ready(self, number: int) -> tuple[list[Row], int]:
        lines, self._waiting = self._waiting[:number], self._waiting[number:]
        if not lines:
            return [], 0
        tally = Tally()
        policy = BadLines("skip" if self.given.bad == "skip" else "fail")
        reader = _Lines((self.given.url,), self.given.salt, policy, tuple(lines))
        rows = [(t, self._base + seq, s, p, o) for t, seq, s, p, o in reader._rows(tally)]
        return rows, tally.bad

    def element(self, t: Instant, triples: list[Texts]) -> list[Row]:
        """Return the rows of one element."""
        self.number += 1
        return self._rows(self.number, t, triples)

    def _rows(self, number: int, t: Instant, triples: list[Texts] | tuple[Texts, ...]) -> list[Row]:
        seq, salt = self._base + number, self.given.salt

        def scoped(text: str) -> str:
            return skolem(salt, seq, text[2:]) if text[0] == "_" else text

        return [(t, seq, scoped(s), p, scoped(o)) for s, p, o in triples]

    def pieces(self, raw: IO[bytes]) -> Iterator[tuple[list[Row], int]]:
        """Return the rows of whole elements of any format, as soon as the reader has to wait for more."""
        form = self.given.format or TNT
        base = self.number
        ready: list[tuple[list[Row], int]] = []
        rows: list[Row] = []
        last: list[Row] = []
        rejected, current = 0, None

        def flush() -> None:
            nonlocal rows, rejected
            if rows or rejected:
                ready.append((rows, rejected))
                rows, rejected = [], 0

        with Feed(raw, flush) as fed:
            for found in format_named(form).read(File(self.given.url, cast("IO[bytes]", fed), self.given.times)):
                if isinstance(found, Broken):
                    if self.given.bad == "fail":
                        raise DataError(f"{self.given.url}, {found.place}: {found.reason}")
                    rejected += 1
                elif isinstance(found, Piece):
                    if found.number != current:
                        rows, last, current = rows + last, [], found.number
                    self.number = max(self.number, base + found.number)
                    last += self._rows(base + found.number, found.t, found.triples)
                yield from ready
                ready.clear()
        rows += last
        flush()
        yield from ready

    def renumbered(self, events: pa.Table) -> pa.Table:
        """Return encoded rows with numbers of this log."""
        seq = events.column("seq").to_numpy()
        _, at, inverse = np.unique(seq, return_index=True, return_inverse=True)
        rank = np.empty(len(at), np.int64)
        rank[np.argsort(at, kind="stable")] = np.arange(1, len(at) + 1)
        numbers = pa.array(self._base + self.number + rank[inverse])
        self.number += len(at)
        return events.set_column(events.schema.get_field_index("seq"), "seq", numbers)


def _group(line: str) -> str | None:
    """Return time and number of an element that may have several lines."""
    head, tab, _ = line.partition("\t")
    return head if tab and ":" in head else None
