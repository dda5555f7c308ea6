"""Hydrograph's replay behind the testbed's protocol: takes the whole stream, then answers every report.

python -m hydrograph.bench.engines.hydrograph [local|spark]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hydrograph.api import Query, query
from hydrograph.bench.engines.program import Answers, serve
from hydrograph.bench.engines.protocol import Answer, Finished

_ROWS = 20_000
"""Rows of an answer in one line: a line of a million rows is taken for a flood."""


class Replay:
    """Streams as files of timed N-Triples in a directory."""

    def __init__(self, directory: Path, placement: str) -> None:
        """Start without data."""
        self._directory = directory
        self._placement = placement
        self._static: dict[str | None, str] = {}
        self._queries: dict[str, Query] = {}
        self._streams: dict[str, Path] = {}
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
        path = self._streams.setdefault(stream, self._directory / f"{len(self._streams)}.tnt")
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{t}:{self._number}\t{triple}\n" for triple in triples)
        return ()

    def end(self) -> Answers:
        """Answer every report of every query."""
        for name, each in self._queries.items():
            read = {window.stream.value for window in each.algebra.windows}
            streams = {stream: self._file(stream) for stream in read}
            with each.over(streams, self._static or None, placement=self._placement) as run:
                for report in run.reports():
                    rows = [
                        {key: term for key, term in zip(run.plan.variables, row, strict=True) if term is not None}
                        for row in report.rows
                    ]
                    for start in range(0, max(1, len(rows)), _ROWS):
                        yield Answer(query=name, rows=tuple(rows[start : start + _ROWS]), t=report.t)
                    yield Finished(query=name)

    def _file(self, stream: str) -> Path:
        """Return the file of a stream; one to which nothing was sent is empty."""
        path = self._streams.setdefault(stream, self._directory / f"{len(self._streams)}.tnt")
        path.touch()
        return path

    def due(self) -> None:
        """Ask for no clock."""

    def tick(self) -> Answers:
        """Do nothing."""
        return ()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        serve(Replay(Path(directory), sys.argv[1] if len(sys.argv) > 1 else "auto"))
