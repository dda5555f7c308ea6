"""What a run is given: data, and where and for which reports it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UsageError
from hydrograph.rdf.encoding import encode
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.xsd import INEXACT
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.streams.static import StaticGraphs
from hydrograph.temporal import Instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Data:
    """What a query runs over: streams by name, and static graphs."""

    streams: Mapping[Iri, RecordedStream]
    static: StaticGraphs = field(default_factory=StaticGraphs)

    def check(self, query: ContinuousQuery) -> None:
        """Raise UsageError if a query names a stream or a static graph nobody gave; a default graph is any FROM."""
        for window in query.windows:
            if window.stream not in self.streams:
                known = ", ".join(f"<{name.value}>" for name in self.streams) or "none"
                raise UsageError(f"no stream is given for <{window.stream.value}>; given streams: {known}")
        wanted = (*(query.dataset.default if self.static.default is None else ()), *query.dataset.named)
        given = self.static.named or {}
        for name in wanted:
            if encode(name).text not in given:
                known = ", ".join(given) or "none"
                raise UsageError(f"no static graph is given for <{name.value}>; given graphs: {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run it."""

    placement: PlacementChoice = PlacementChoice.AUTO
    after: Instant | None = None
    until: Instant | None = None
    master: str | None = None
    memory: str | None = None
    session: SparkSession | None = None


def rows_guess(stream: RecordedStream) -> int:
    """Return about how many rows a stream has, without reading it."""
    if stream.manifest is not None:
        return stream.manifest.rows
    size = sum(Path(file).stat().st_size for file in stream.files)
    packed = any(file.endswith((".gz", ".zst")) for file in stream.files)
    return size // (15 if packed else 100)


def is_exact(static: StaticGraphs, streams: Mapping[Iri, RecordedStream], bounds: Mapping[Iri, Bounds]) -> bool:
    """Tell whether neither streams nor static data hold floats and doubles, as far as is known of them."""
    kinds = {kind for table in static.tables for kind in table.column("o_kind").unique().to_pylist()}
    for name, stream in streams.items():
        if stream.manifest is not None:
            kinds |= set(stream.manifest.kinds)
        elif name not in bounds or bounds[name].inexact:
            return False
    return not kinds & INEXACT


def span_of(ends: list[tuple[Instant, Instant] | None]) -> tuple[Instant, Instant] | None:
    """Return the first and the last instant of several streams, each with its own; None where none has an event."""
    known = [end for end in ends if end is not None]
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None
