"""A TCP socket: `tcp://host:port` connects to whoever sends, `tcp://host:port?listen=true` waits for those who do.

If a connection is cut, the next one goes on where it ended; `end=close` takes the end of a connection for that of the
stream. Where several have connected at the same time it ends when one is closed and no other is open. What has been
received is logged; what the other side had not sent yet is its to keep. An element that was not whole when the line was
cut is counted as rejected: the other side sends it again.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from hydrograph.errors import DataError, RunError, UsageError
from hydrograph.live.sources.connections import Connections, keep_alive
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.live.sources.source import Given

_PATIENCE = 0.2
"""Seconds between two attempts to connect."""
_MEANT = {"listen": ("false", "true"), "end": ("never", "close")}
"""The options, each with what may be said; the first is meant where nothing is."""


def open_source(given: Given) -> LoggedSource:
    """Return what comes through a socket as a source."""
    host, port = _place(given.url)
    said = {name: given.options.get(name, values[0]) for name, values in _MEANT.items()}
    for name, values in _MEANT.items():
        if said[name] not in values:
            raise UsageError(f"{given.url}: expected {name}={' or '.join(values)}, got {name}={said[name]}")
    ends = said["end"] == "close"

    def listen(source: LoggedSource) -> None:
        with _server(given.url, host, port) as server:
            Connections(source, ends).serve(server)

    def connect(source: LoggedSource) -> None:
        while not source.stopping.is_set():
            try:
                connection = socket.create_connection((host, port), 5.0)
            except TimeoutError:
                source.trouble = f"{given.url}: nobody there"
                continue
            except OSError as error:  # nobody wants to yet, or the name is not known yet: tried again, and told
                source.trouble = f"{given.url}: {error.strerror or error}"
                source.stopping.wait(_PATIENCE)
                continue
            source.trouble = None
            keep_alive(connection)
            with connection:
                cut = _take(source, connection)
            if ends and not cut:
                source.finish()
                break

    return LoggedSource(given, listen if said["listen"] == "true" else connect)


def _place(url: str) -> tuple[str, int]:
    try:
        found = urlsplit(url)
        host, port = found.hostname, found.port
    except ValueError as error:
        raise UsageError(f"expected tcp://host:port, got {url}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    if not host or port is None:
        raise UsageError(f"expected tcp://host:port, got {url}")
    return host, port


def _server(url: str, host: str, port: int) -> socket.socket:
    """Return a socket that listens, of the family of its address; where a name has several, IPv4 is meant."""
    try:
        families = {found[0] for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
        family = socket.AF_INET if socket.AF_INET in families else socket.AF_INET6
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise RunError(
            f"{url} can not be listened at: {error.strerror or error}; choose another address, or end who has it"
        ) from None


def _take(source: LoggedSource, connection: socket.socket) -> bool:
    """Log what comes through a connection; return whether it was cut."""
    connection.settimeout(None)  # the feed looks itself whether something has come
    feed = Feed(connection.fileno(), source.stopping)
    try:
        source.take_all(feed)
    except DataError as error:
        if source.given.bad == "fail":
            raise
        # What follows can't be understood, but a new connection may say something else.
        source.trouble = str(error)
        source.stopping.wait(_PATIENCE)
        return True
    return feed.cut
