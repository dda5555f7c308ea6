"""A stream that a program fills: `push:`; see `LiveStream.send`."""

from __future__ import annotations

from hydrograph.live.sources.logged_source import LoggedSource
from hydrograph.live.sources.source import Given


def open_source(given: Given) -> LoggedSource:
    """Return a source that takes what it is sent."""
    return LoggedSource(given)
