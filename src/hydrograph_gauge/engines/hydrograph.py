"""Adapters of Hydrograph itself: its replay, here or on Spark, and its live queries.

python -m hydrograph_gauge.engines.hydrograph local|spark|live
"""

from __future__ import annotations

import queue
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hydrograph.api import Query, query
from hydrograph.errors import HydrographError
from hydrograph.streams.formats import parquet
from hydrograph.streams.sources import RecordedStream, events_as_arrow, open_stream
from hydrograph.streams.static_graphs import StaticGraphs, read_graphs
from hydrograph_gauge.engines.adapter import Replies, Wake, report_replies, serve
from hydrograph_gauge.engines.protocol import Failed

if TYPE_CHECKING:
    from hydrograph.api import LiveQuery, LiveStream, ResultUnit

_BATCH_LINES = 1_000
"""Lines that are pushed together when elements arrive faster than they can be pushed one by one."""


class ReplayAdapter:
    """Replay: records the streams as timed N-Triples, and answers every report once they have ended."""

    def __init__(self, directory: Path, placement: str) -> None:
        """Start without data."""
        self._directory = directory
        self._placement = placement
        self._static: dict[str | None, str] = {}
        self._queries: dict[str, Query] = {}
        self._streams: dict[str, TextIO] = {}
        self._number = 0

    def load(self, file: str, graph: str | None) -> None:
        """Remember a static file."""
        self._static[graph] = file

    def register(self, name: str, text: str) -> None:
        """Parse and check a query."""
        self._queries[name] = query(text)

    def unregister(self, name: str) -> None:
        """Forget a query."""
        self._queries.pop(name, None)

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Record an element."""
        self._number += 1
        self._file(stream).writelines(f"{t}:{self._number}\t{triple}\n" for triple in triples)
        return ()

    def end(self) -> Replies:
        """Answer every report of every query."""
        names = dict.fromkeys(window.stream.value for each in self._queries.values() for window in each.algebra.windows)
        recorded = {name: self._recorded(name, number) for number, name in enumerate(names)}
        static = read_graphs(self._static.items()) if self._static else None
        for name, each in self._queries.items():
            streams = {window.stream.value: recorded[window.stream.value] for window in each.algebra.windows}
            with each.over(streams, static, placement=self._placement) as run:
                for report in run.reports():
                    yield from report_replies(name, report)

    def _file(self, stream: str) -> TextIO:
        """Return the open file of a stream."""
        if stream not in self._streams:
            place = self._directory / f"{len(self._streams)}.tnt"
            self._streams[stream] = place.open("w", encoding="utf-8")
        return self._streams[stream]

    def _recorded(self, stream: str, number: int) -> RecordedStream:
        """Return a recorded stream in the form that several queries read fastest: Parquet, unless it is read once."""
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
        """Return no time: this engine needs no clock."""

    def tick(self) -> Replies:
        """Do nothing."""
        return ()


class LiveAdapter:
    """Live queries: each has its own thread and checkpoint; reports are passed on as soon as they are made."""

    def __init__(self, directory: Path, wake: Wake) -> None:
        """Start without data; `wake` is called when a report is ready."""
        self._directory = directory
        self._wake = wake
        self._files: dict[str | None, str] = {}
        self._static: StaticGraphs | None = None
        self._queries: dict[str, LiveQuery] = {}
        self._streams: dict[str, dict[str, LiveStream]] = {}
        """By stream, then by query."""
        self._reports: queue.SimpleQueue[tuple[str, ResultUnit]] = queue.SimpleQueue()
        self._number = 0
        self._waiting: dict[str, list[str]] = {}
        """Lines of each stream that are not pushed yet."""
        self._elements = 0

    def load(self, file: str, graph: str | None) -> None:
        """Remember a static file."""
        self._files[graph] = file
        self._static = None

    def register(self, name: str, text: str) -> None:
        """Start a query; it is ready to answer when this returns."""
        parsed = query(text)
        if self._static is None and self._files:
            self._static = read_graphs(self._files.items())
        urls = {window.stream.value: "push:" for window in parsed.algebra.windows}
        self._number += 1
        live = parsed.start(
            urls, self._static, checkpoint=self._directory / str(self._number), on_unit=self._report_handler(name)
        )
        self._queries[name] = live
        for stream, handle in live.streams.items():
            self._streams.setdefault(stream, {})[name] = handle

    def _report_handler(self, name: str) -> Callable[[ResultUnit], None]:
        def handle(unit: ResultUnit) -> None:
            self._reports.put((name, unit))
            self._wake()

        return handle

    def unregister(self, name: str) -> None:
        """Stop a query after it has received all elements sent so far."""
        self._push()
        for handles in self._streams.values():
            handles.pop(name, None)
        if (live := self._queries.pop(name, None)) is not None:
            live.stop()

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Replies:
        """Queue an element for every query that reads the stream; push it at once if no command is waiting."""
        if stream in self._streams:
            self._elements += 1
            head = f"{t}\t" if len(triples) == 1 else f"{t}:{self._elements}\t"
            self._waiting.setdefault(stream, []).extend(head + triple for triple in triples)
        return self.tick()

    def _push(self) -> None:
        for stream, lines in self._waiting.items():
            for handle in self._streams[stream].values():
                handle.send_lines(lines)
        self._waiting.clear()

    def end(self) -> Replies:
        """End the streams, and wait for the last reports of every query."""
        self._push()
        for handles in self._streams.values():
            for handle in handles.values():
                handle.end()
        for name, live in self._queries.items():
            try:
                live.wait()
            except HydrographError as error:
                yield Failed(query=name, words=str(error))
            yield from self.tick()

    def close(self) -> None:
        """Stop the queries that still run."""
        for live in self._queries.values():
            live.stop()

    def due(self) -> None:
        """Return no time: queries wake the adapter when they have a report."""

    def tick(self) -> Replies:
        """Push waiting lines, and return the reports that are ready."""
        if self._wake.idle or sum(map(len, self._waiting.values())) >= _BATCH_LINES:
            self._push()
        while not self._reports.empty():
            name, unit = self._reports.get()
            yield from report_replies(name, unit.report)


def main(mode: str) -> None:
    """Serve the protocol with the replay in a placement, or with live queries."""
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        if mode == "live":
            wake = Wake()
            with closing(LiveAdapter(Path(directory), wake)) as live:
                serve(live, wake=wake)
        else:
            with closing(ReplayAdapter(Path(directory), mode)) as replay:
                serve(replay)


if __name__ == "__main__":
    main(sys.argv[1])
