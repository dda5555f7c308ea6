"""TCP sockets: `tcp://host:port` connects to a sender, `tcp://host:port?listen=true` accepts senders.

After a connection is lost the next one continues the stream. With `end=close` a connection that is closed ends the
stream; where several are open at once, the last of them does. Received elements are logged; an element that was cut off
by a lost connection is counted as rejected, and its sender has to send it again.

A listening source serves several connections at once, each in a thread and with a decoder of its own. Elements are
logged whole, one after the other. While one connection alone sends, its elements have the numbers that they would have
on a source with one sender; after those of another connection they are shifted behind them.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from hydrograph.errors import DataError, RunError, UsageError
from hydrograph.live.sources.decoder import Decoder, Feed
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.source import PartitionSpec, SinglePartitionSource
from hydrograph.rdf.encoding import skolem, unskolem
from hydrograph.streams.schema import Row

_OPTIONS = {"listen": ("false", "true"), "end": ("never", "close")}
"""Options of the URL with their values; the first is the default."""
_RETRY_SECONDS = 0.2
"""Seconds between two attempts to connect, two checks for a stop, and after input that could not be parsed."""
_CONNECT_SECONDS = 5.0
MOST_CONNECTIONS = 64
"""Connections served at once; others wait until one ends."""
_KEEPALIVE = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 6))
"""Seconds of silence before the first keep-alive probe, seconds between probes, and probes before giving up."""


class SocketSource(SinglePartitionSource):
    """A TCP address; all senders fill one partition."""

    def open(self, partition: PartitionSpec) -> LoggedPartition:
        """Return the reader."""
        host, port = _address(partition.url)
        options = {name: partition.option(name, values[0]) for name, values in _OPTIONS.items()}
        for name, values in _OPTIONS.items():
            if options[name] not in values:
                raise UsageError(f"{partition.url}: expected {name}={' or '.join(values)}, got {name}={options[name]}")
        ends = options["end"] == "close"

        def listen(partition: LoggedPartition) -> None:
            with _server(partition.partition.url, host, port) as server:
                Connections(partition, ends).serve(server)

        def connect(partition: LoggedPartition) -> None:
            _connect(partition, host, port, ends=ends)

        return LoggedPartition(partition, listen if options["listen"] == "true" else connect)


def _address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"expected tcp://host:port, got {url}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    if not host or port is None:
        raise UsageError(f"expected tcp://host:port, got {url}")
    return host, port


def _connect(partition: LoggedPartition, host: str, port: int, *, ends: bool) -> None:
    """Receive from one sender, and connect again after each lost connection."""
    url = partition.partition.url
    while not partition.stopping.is_set():
        try:
            connection = socket.create_connection((host, port), _CONNECT_SECONDS)
        except TimeoutError:
            partition.trouble = f"{url}: connection timed out"
            continue
        except OSError as error:  # not listening yet, or the name is not known yet
            partition.trouble = f"{url}: {error.strerror or error}"
            partition.stopping.wait(_RETRY_SECONDS)
            continue
        partition.trouble = None
        keep_alive(connection)
        with connection:
            closed = _receive(partition, connection)
        if ends and closed:
            partition.finish()
            break


def _receive(partition: LoggedPartition, connection: socket.socket) -> bool:
    """Log what arrives through a connection; return True if the sender closed it."""
    connection.settimeout(None)  # the feed polls by itself
    feed = Feed(connection.fileno(), partition.stopping.is_set)
    try:
        partition.take_all(feed)
    except DataError as error:
        if partition.partition.bad == "fail":
            raise
        # The rest of this connection cannot be parsed; a new connection may send something else.
        partition.trouble = str(error)
        partition.stopping.wait(_RETRY_SECONDS)
        return False
    return not feed.cut


def _server(url: str, host: str, port: int) -> socket.socket:
    """Return a listening socket, in the family of its address; IPv4 where a name has both."""
    try:
        families = {address[0] for address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise RunError(
            f"cannot listen on {url}: {error.strerror or error}; choose another port, or stop the process that uses it"
        ) from None


@dataclass(slots=True)
class Connections:
    """The open connections of a listening partition."""

    partition: LoggedPartition
    ends: bool
    """True if the stream ends when a connection is closed and no other is open."""
    last: object = field(init=False, default=None)
    """The connection whose elements were logged last."""
    failure: Exception | None = field(init=False, default=None)
    """The error that has ended one of them, and so ends all."""
    _leaving: bool = field(init=False, default=False)
    _threads: list[threading.Thread] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)
    _open: int = field(init=False, default=0)

    def should_stop(self) -> bool:
        """Return True if all connections are to end: with the partition, or because one of them has failed."""
        return self._leaving or self.failure is not None or self.partition.stopping.is_set()

    def serve(self, server: socket.socket) -> None:
        """Accept connections until the stream ends, the source is stopped, or one of them fails: raise its error."""
        server.settimeout(_RETRY_SECONDS)
        url, partition = self.partition.partition.url, self.partition
        try:
            while not self.should_stop() and not partition.has_ended():
                self._threads = [thread for thread in self._threads if thread.is_alive()]
                if len(self._threads) >= MOST_CONNECTIONS:
                    partition.trouble = f"{url}: {MOST_CONNECTIONS} connections are open, others wait for one to close"
                    partition.stopping.wait(_RETRY_SECONDS)
                    continue
                try:
                    connection, (peer, *_) = server.accept()
                except TimeoutError:
                    partition.trouble = None if self._threads else partition.trouble or f"{url}: no sender connected"
                except OSError as error:  # closed before it was accepted, or too many files are open
                    partition.trouble = f"{url}: {error.strerror or error}"
                    partition.stopping.wait(_RETRY_SECONDS)
                else:
                    self._begin(connection, peer)
        finally:
            self._leaving = True
            for thread in self._threads:
                thread.join()
        if self.failure is not None:
            raise self.failure

    def _begin(self, connection: socket.socket, peer: str) -> None:
        self.partition.trouble = None
        keep_alive(connection)
        with self._lock:
            self._open += 1
        name = f"source {self.partition.partition.url} from {peer}"
        thread = threading.Thread(target=self._receive, args=(connection,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _receive(self, connection: socket.socket) -> None:
        cut = True
        try:
            with connection:
                connection.settimeout(None)  # the feed polls by itself
                feed = Feed(connection.fileno(), self.should_stop)
                Connection(self, self.partition).take_all(feed)
                cut = feed.cut
        except Exception as error:  # noqa: BLE001 - whatever it is, `serve` ends with it
            if isinstance(error, DataError) and self.partition.partition.bad != "fail":
                # The rest of this connection cannot be parsed; a new connection may send something else.
                self.partition.trouble = str(error)
            else:
                self.failure = self.failure or error
        with self._lock:
            self._open -= 1
            if self.ends and not cut and not self._open:
                self.partition.finish()


@dataclass(slots=True)
class Connection:
    """One connection, with a decoder of its own."""

    connections: Connections
    partition: LoggedPartition
    _decoder: Decoder = field(init=False)
    _shift: int = field(init=False, default=0)
    """Added to the numbers of this decoder, to come behind elements of other connections."""

    def take_all(self, feed: Feed) -> None:
        """Log elements as they arrive, until the feed ends; an element that was cut off is counted as rejected."""

        def begin(logged: Decoder) -> tuple[list[Row], int]:
            self._decoder = Decoder(self.partition.partition, logged.number)
            return [], 0

        self.partition.log_decoded(begin)
        self._decoder.decode_feed(feed, self._log)

    def _log(self, decode: Callable[[], tuple[list[Row], int]]) -> None:
        """Log elements behind all that are logged, from any connection."""

        def append(logged: Decoder) -> tuple[list[Row], int]:
            rows, rejected = decode()
            if rows and self.connections.last is not self:
                first = min(seq for _, seq, _, _, _ in rows) - self.partition.partition.first_seq
                self._shift = max(self._shift, logged.number + 1 - first)
            if rows or self.connections.last is self:
                self.connections.last = self
                logged.number = self._decoder.number + self._shift
            return [self._renumber(row) for row in rows] if self._shift else rows, rejected

        self.partition.log_decoded(append)

    def _renumber(self, row: Row) -> Row:
        t, seq, s, p, o = row
        new, salt = seq + self._shift, self.partition.partition.salt
        subject, thing = (
            skolem(salt, new, unskolem(text, salt, seq)[2:]) if text[0] == "_" else text for text in (s, o)
        )
        return t, new, subject, p, thing


def keep_alive(connection: socket.socket) -> None:
    """Let a connection end whose other side has vanished."""
    with suppress(OSError):  # it may have been reset already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE:
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
