"""Standard input: `-`."""

from __future__ import annotations

import sys

from hydrograph.errors import UsageError
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.live.sources.source import Given


def open_source(given: Given) -> LoggedSource:
    """Return standard input as a source; it ends where the input does."""
    if sys.stdin is None:  # so Python says that it was closed when the program began
        raise UsageError("standard input is closed: expected a stream in it, or another URL than -")
    return LoggedSource(given, _receive)


def _receive(source: LoggedSource) -> None:
    feed = Feed(sys.stdin.fileno(), source.stopping)
    source.take_all(feed)
    if not feed.cut:
        source.finish()
