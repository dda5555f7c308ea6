"""Streams made readable for a placement: what can be read only once, or not by Spark, is copied while a run lasts."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from hydrograph.streams import sources
from hydrograph.streams.formats import tnt
from hydrograph.streams.sources import RecordedStream


def spooled(stream: RecordedStream, lifetime: ExitStack) -> RecordedStream:
    """Return the stream as one that can be read twice."""
    if stream.location != tnt.STDIN:
        return stream
    return sources.spooled(stream, _folder(lifetime))


def recorded(stream: RecordedStream, lifetime: ExitStack, tally: tnt.Tally) -> RecordedStream:
    """Return the stream in a form that Spark reads; `tally` counts what is read here."""
    if stream.format in (sources.TNT, sources.PARQUET):
        return stream
    return sources.recorded(stream, _folder(lifetime), tally)


def _folder(lifetime: ExitStack) -> Path:
    return Path(lifetime.enter_context(tempfile.TemporaryDirectory(prefix="hydrograph-")))
