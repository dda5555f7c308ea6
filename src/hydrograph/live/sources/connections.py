"""Several who send to one source at once: a thread each, and elements that are logged whole, one after the other.

Each connection is decoded by itself. Its elements have the numbers that they would have if nobody else had sent, as
long as nobody does; behind those of another they go on from there.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from hydrograph.errors import DataError
from hydrograph.live.sources.decoder import PARTITION_BITS, Decoder
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.rdf.encoding import skolem, unskolem
from hydrograph.streams.formats.tnt import Row

_MOST = 64
"""Connections that are served at once; others wait until one ends."""
_PATIENCE = 0.2
"""Seconds between two looks whether to stop, and after what could not be understood."""
_SILENT, _AGAIN, _TIMES = 60, 10, 6
"""Seconds of silence after which the other machine is asked whether it still lives, between questions, and how many."""


class _Leaving(threading.Event):
    """Set when the connections are to end: with the source, or since one of them has failed."""

    def __init__(self, stopping: threading.Event) -> None:
        super().__init__()
        self._stopping = stopping

    def is_set(self) -> bool:
        return super().is_set() or self._stopping.is_set()


@dataclass(slots=True)
class Connections:
    """The connections of a source that listens."""

    source: LoggedSource
    ends: bool
    """Whether the stream ends when a connection is closed and no other is open."""
    last: object = field(init=False, default=None)
    """Whose elements were logged last."""
    failure: Exception | None = field(init=False, default=None)
    _leaving: _Leaving = field(init=False)
    _threads: list[threading.Thread] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _open: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """End with the source."""
        self._leaving = _Leaving(self.source.stopping)

    def serve(self, server: socket.socket) -> None:
        """Take connections until the stream ends, the source is stopped, or one of them fails: its error is raised."""
        server.settimeout(_PATIENCE)
        url = self.source.given.url
        try:
            while not self._leaving.is_set() and not self.source.finished():
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                if len(self._threads) >= _MOST:
                    self.source.trouble = f"{url}: {_MOST} connections are open, others wait until one is closed"
                    self._leaving.wait(_PATIENCE)
                    continue
                try:
                    connection, (peer, *_) = server.accept()
                except TimeoutError:
                    self.source.trouble = None if self._threads else self.source.trouble or f"{url}: nobody there"
                except OSError as error:  # gone before it was taken, or too many files are open
                    self.source.trouble = f"{url}: {error.strerror or error}"
                    self._leaving.wait(_PATIENCE)
                else:
                    self._begin(connection, peer)
        finally:
            self._leaving.set()
            for thread in self._threads:
                thread.join()
        if self.failure is not None:
            raise self.failure

    def _begin(self, connection: socket.socket, peer: str) -> None:
        self.source.trouble = None
        keep_alive(connection)
        with self._lock:
            self._open += 1
        name = f"source {self.source.given.url} from {peer}"
        thread = threading.Thread(target=self._take, args=(connection,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self, connection: socket.socket) -> None:
        cut = True
        try:
            with connection:
                connection.settimeout(None)  # the feed looks itself whether something has come
                feed = Feed(connection.fileno(), self._leaving)
                Connection(self, self.source).take_all(feed)
                cut = feed.cut
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever serves is to know and stop
            if isinstance(error, DataError) and self.source.given.bad != "fail":
                # What follows can't be understood, but a new connection may say something else.
                self.source.trouble = str(error)
            else:
                self.failure = self.failure or error
                self._leaving.set()
        with self._lock:
            self._open -= 1
            if self.ends and not cut and not self._open:
                self.source.finish()


@dataclass(slots=True)
class Connection:
    """What comes through one connection."""

    all: Connections
    source: LoggedSource
    _decoder: Decoder = field(init=False)
    _shift: int = field(init=False, default=0)

    def take_all(self, feed: Feed) -> None:
        """Log what comes, as it comes, until it ends; an element that was not whole then is counted as rejected."""

        def begin(logged: Decoder) -> tuple[list[Row], int]:
            self._decoder = Decoder(self.source.given, logged.number)
            return [], 0

        self.source.log_decoded(begin)
        self._decoder.all_of(feed, self._log)

    def _log(self, decode: Callable[[], tuple[list[Row], int]]) -> None:
        """Log elements behind all that are logged, whoever sent them."""

        def behind(logged: Decoder) -> tuple[list[Row], int]:
            rows, rejected = decode()
            if rows and self.all.last is not self:
                base = self.source.given.partition << PARTITION_BITS
                first = min(seq for _, seq, _, _, _ in rows) - base
                self._shift = max(self._shift, logged.number + 1 - first)
            if rows or self.all.last is self:
                self.all.last = self
                logged.number = self._decoder.number + self._shift
            return [self._moved(row) for row in rows] if self._shift else rows, rejected

        self.source.log_decoded(behind)

    def _moved(self, row: Row) -> Row:
        t, seq, s, p, o = row
        new, salt = seq + self._shift, self.source.given.salt
        subject, thing = (
            skolem(salt, new, unskolem(text, salt, seq)[2:]) if text[0] == "_" else text for text in (s, o)
        )
        return t, new, subject, p, thing


def keep_alive(connection: socket.socket) -> None:
    """Let a connection whose other side has vanished without a word come to its end."""
    with suppress(OSError):  # it may have been reset already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (("TCP_KEEPIDLE", _SILENT), ("TCP_KEEPINTVL", _AGAIN), ("TCP_KEEPCNT", _TIMES)):
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
