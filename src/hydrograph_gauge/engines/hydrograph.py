"""Hydrograph's replay behind the testbed's protocol: takes the whole stream, then answers every report.

python -m hydrograph_gauge.engines.hydrograph [local|spark]
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TextIO

from hydrograph.api import Query, query
from hydrograph.streams.formats import parquet
from hydrograph.streams.sources import RecordedStream, events_as_arrow, open_stream
from hydrograph.streams.static import read_graphs
from hydrograph_gauge.engines.program import Answers, said, serve


class Replay:
    """Streams are written down as timed N-Triples; in the end all data is read once for all queries."""

    def __init__(self, directory: Path, placement: str) -> None:
        """Start without data."""
        self._directory = directory
        self._placement = placement
        self._static: dict[str | None, str] = {}
        self._queries: dict[str, Query] = {}
        self._streams: dict[str, TextIO] = {}
        self._number = 0

    def load(self, file: str, graph: str | None) -> None:
        """Remember a file."""
        self._static[graph] = file

    def register(self, name: str, text: str) -> None:
        """Parse and check a query."""
        self._queries[name] = query(text)

    def unregister(self, name: str) -> None:
        """Forget a query."""
        self._queries.pop(name, None)

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:
        """Write an element down."""
        self._number += 1
        self._file(stream).writelines(f"{t}:{self._number}\t{triple}\n" for triple in triples)
        return ()

    def end(self) -> Answers:
        """Answer every report of every query."""
        names = dict.fromkeys(window.stream.value for each in self._queries.values() for window in each.algebra.windows)
        recorded = {name: self._recorded(name, number) for number, name in enumerate(names)}
        static = read_graphs(self._static.items()) if self._static else None
        for name, each in self._queries.items():
            streams = {window.stream.value: recorded[window.stream.value] for window in each.algebra.windows}
            with each.over(streams, static, placement=self._placement) as run:
                for report in run.reports():
                    yield from said(name, report)

    def _file(self, stream: str) -> TextIO:
        """Return the file of a stream, ready to be written to."""
        if stream not in self._streams:
            place = self._directory / f"{len(self._streams)}.tnt"
            self._streams[stream] = place.open("w", encoding="utf-8")
        return self._streams[stream]

    def _recorded(self, stream: str, number: int) -> RecordedStream:
        """Return a stream as it is read quickest by several queries; one to which nothing was sent is empty."""
        file = self._file(stream)
        file.flush()
        text = open_stream(file.name, name=stream)
        if len(self._queries) == 1 or not Path(file.name).stat().st_size:
            return text
        target = self._directory / f"recorded-{number}"
        parquet.write_arrow(events_as_arrow(text), target, salt=text.salt, force=True)
        return open_stream(str(target), name=stream)

    def close(self) -> None:
        """Close the files."""
        for file in self._streams.values():
            file.close()

    def due(self) -> None:
        """Ask for no clock."""

    def tick(self) -> Answers:
        """Do nothing."""
        return ()


if __name__ == "__main__":
    with (
        tempfile.TemporaryDirectory(prefix="hydrograph-") as directory,
        closing(Replay(Path(directory), sys.argv[1] if len(sys.argv) > 1 else "auto")) as replay,
    ):
        serve(replay)
