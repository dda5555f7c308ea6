"""A TCP socket: `tcp://host:port` connects to whoever sends, `tcp://host:port?listen=true` waits for those who do.

If a connection is cut, the next one goes on where it ended; `end=close` takes the end of a connection for that of the
stream. What has been received is logged; what the other side had not sent yet is its to keep. An element that was not
whole when the line was cut is counted as rejected: the other side sends it again.
"""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from hydrograph.errors import DataError, UsageError
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.sources.source import Given

_PATIENCE = 0.2
"""Seconds between two attempts to connect, and between two looks whether to stop."""


def open_source(given: Given) -> LoggedSource:
    """Return what comes through a socket as a source."""
    found = urlsplit(given.url)
    if found.hostname is None or found.port is None:
        raise UsageError(f"expected tcp://host:port, got {given.url}")
    host, port = found.hostname, found.port
    listens = given.options.get("listen", "false") == "true"
    ends = given.options.get("end", "never") == "close"

    def receive(source: LoggedSource) -> None:
        server = socket.create_server((host, port)) if listens else None
        if server is not None:
            server.settimeout(_PATIENCE)
        while not source.stopping.is_set():
            try:
                connection = socket.create_connection((host, port), 5.0) if server is None else server.accept()[0]
            except TimeoutError:
                source.trouble = f"{given.url}: nobody there"
                continue
            except OSError as error:  # nobody wants to yet, or the name is not known yet: tried again, and told
                source.trouble = f"{given.url}: {error.strerror or error}"
                source.stopping.wait(_PATIENCE)
                continue
            source.trouble = None
            with connection:
                cut = _take(source, connection)
            if ends and not cut:
                source.finish()
                break
        if server is not None:
            server.close()

    return LoggedSource(given, receive)


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
