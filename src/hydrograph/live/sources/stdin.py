"""Standard input: `-`."""

from __future__ import annotations

import os
import sys

from hydrograph.live.sources.receiver import LoggedSource
from hydrograph.live.sources.source import Given
from hydrograph.streams.registry import TNT

_BYTES = 1 << 18


def open_source(given: Given) -> LoggedSource:
    """Return standard input as a source; it ends where the input does."""
    return LoggedSource(given, _receive)


def _receive(source: LoggedSource) -> None:
    if (source.given.format or TNT) != TNT:
        source.take_stream(sys.stdin.buffer)
    else:
        while data := os.read(sys.stdin.fileno(), _BYTES):
            source.take(data)
            if source.stopping.is_set():
                return
        source.take_rest()
    source.finish()
