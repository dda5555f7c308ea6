"""Hydrograph's live queries behind the testbed's protocol: every query runs from its registration to the last element.

python -m hydrograph_gauge.engines.live
"""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hydrograph.api import query
from hydrograph.errors import HydrographError
from hydrograph.live.query import LiveQuery
from hydrograph.live.sources.push_stream import LiveStream
from hydrograph.live.step.units import Unit
from hydrograph.streams.static import StaticGraphs, read_graphs
from hydrograph_gauge.engines.program import Answers, Wake, said, serve
from hydrograph_gauge.engines.protocol import Failed

_TOGETHER = 1_000
"""Elements that are handed on at once, where more come than can be handed on one by one."""


class Live:
    """Each query has a thread and a checkpoint of its own; what the threads say is passed on as soon as it is said."""

    def __init__(self, directory: Path, wake: Wake) -> None:
        """Start without data; `wake` is called when there is something to say."""
        self._directory = directory
        self._wake = wake
        self._files: dict[str | None, str] = {}
        self._static: StaticGraphs | None = None
        self._queries: dict[str, LiveQuery] = {}
        self._streams: dict[str, dict[str, LiveStream]] = {}
        """By the stream, then by the query."""
        self._said: queue.SimpleQueue[tuple[str, Unit]] = queue.SimpleQueue()
        self._number = 0
        self._lines: dict[str, list[str]] = {}
        """Elements of each stream that are not handed on yet."""
        self._elements = 0

    def load(self, file: str, graph: str | None) -> None:
        """Remember a file."""
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
            urls, self._static, checkpoint=self._directory / str(self._number), on_unit=self._hears(name)
        )
        self._queries[name] = live
        for stream, hand in live.streams.items():
            self._streams.setdefault(stream, {})[name] = hand

    def _hears(self, name: str) -> Callable[[Unit], None]:
        def hear(unit: Unit) -> None:
            self._said.put((name, unit))
            self._wake()

        return hear

    def unregister(self, name: str) -> None:
        """Stop a query; what it has said before is still said."""
        self._hand_on()
        for hands in self._streams.values():
            hands.pop(name, None)
        if (live := self._queries.pop(name, None)) is not None:
            live.stop()

    def send(self, stream: str, t: int, triples: tuple[str, ...]) -> Answers:
        """Hand an element to every query that reads the stream, at once if no other waits."""
        if stream in self._streams:
            self._elements += 1
            head = f"{t}\t" if len(triples) == 1 else f"{t}:{self._elements}\t"
            self._lines.setdefault(stream, []).extend(head + triple for triple in triples)
        return self.tick()

    def _hand_on(self) -> None:
        for stream, lines in self._lines.items():
            for hand in self._streams[stream].values():
                hand.send_lines(lines)
        self._lines.clear()

    def end(self) -> Answers:
        """End the streams, and wait until every query has answered its last windows."""
        self._hand_on()
        for hands in self._streams.values():
            for hand in hands.values():
                hand.end()
        for name, live in self._queries.items():
            try:
                live.wait()
            except HydrographError as error:
                yield Failed(query=name, words=str(error))
            yield from self.tick()

    def close(self) -> None:
        """Stop what still runs."""
        for live in self._queries.values():
            live.stop()

    def due(self) -> None:
        """Ask for no clock: queries wake the program when they have something to say."""

    def tick(self) -> Answers:
        """Hand on what waits, and say what has been answered."""
        if self._wake.idle or sum(map(len, self._lines.values())) >= _TOGETHER:
            self._hand_on()
        while not self._said.empty():
            name, unit = self._said.get()
            yield from said(name, unit.report)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="hydrograph-") as directory:
        wake = Wake()
        with closing(Live(Path(directory), wake)) as live:
            serve(live, wake=wake)
