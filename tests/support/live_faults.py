"""Files in memory that fail when they are told to, a log in memory, and runs over them that die and start again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hydrograph.live.driver.batch_loop import BatchLoop
from hydrograph.live.driver.query_registry import RegisteredQuery
from hydrograph.live.results.exactly_once_sink import read_units
from hydrograph.live.sources.inputs import Input
from hydrograph.live.sources.source import PartitionLocator, PartitionReader, SourceSpec
from hydrograph.live.step.records import InputBatch
from hydrograph.live.storage.input_log import Chunk
from hydrograph.live.storage.lease import Lease
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from tests.support.live_histories import History


class DeadError(Exception):
    """The process has died."""


@dataclass(slots=True)
class MemoryFiles:
    """Files in memory; the `fails`-th change of any of them happens half or not at all, and the process dies."""

    data: dict[str, bytes] = field(default_factory=dict)
    fails: int | None = None
    half: bool = False
    changes: int = 0

    def _due(self) -> bool:
        self.changes += 1
        return self.changes == self.fails

    def read(self, name: str, start: int = 0) -> bytes | None:
        return self.data[name][start:] if name in self.data else None

    def write(self, name: str, data: bytes) -> None:
        if self._due():
            if self.half:  # renamed, but the disk has only a part of it
                self.data[name] = data[: len(data) // 2]
            raise DeadError(f"write {name}")
        self.data[name] = data

    def claim(self, name: str, data: bytes) -> bool:
        if name in self.data:
            return False
        self.write(name, data)
        return True

    def append(self, name: str, at: int, data: bytes) -> None:
        before = self.data.get(name, b"")
        assert len(before) >= at, "an append cannot start after the end"
        if self._due():
            self.data[name] = before[:at] + (data[: len(data) // 2] if self.half else b"")
            raise DeadError(f"append {name}")
        self.data[name] = before[:at] + data

    def size(self, name: str) -> int | None:
        return len(self.data[name]) if name in self.data else None

    def names(self, directory: str) -> list[str]:
        start = f"{directory}/"
        return sorted(name.removeprefix(start) for name in self.data if name.startswith(start))

    def move(self, name: str, to: str) -> None:
        if self._due():
            raise DeadError(f"move {name}")
        self.data[to] = self.data.pop(name)

    def remove(self, name: str) -> None:
        if self._due():
            raise DeadError(f"remove {name}")
        self.data.pop(name, None)

    def close(self) -> None:
        """Nothing is open."""

    @property
    def local_root(self) -> Path | None:
        return None


@dataclass(slots=True)
class MemorySource(PartitionReader):
    """The elements of a stream, of which more and more can be read."""

    chunks: list[InputBatch]
    there: int = 0
    over: bool = False
    forgotten: int = 0

    def resume(self, lease: Lease, known: int) -> None:  # noqa: ARG002 - it writes nothing
        assert known <= self.there, "what was read once is there"

    def end(self) -> int:
        return self.there

    def has_ended(self) -> bool:
        return self.over

    def forget(self, before: int) -> None:
        self.forgotten = max(self.forgotten, before)

    def read(self, start: int, end: int) -> Iterator[Chunk]:
        assert start >= self.forgotten, "what was forgotten is read"
        for chunk in self.chunks:
            if chunk.start < end and chunk.end > start:
                assert start <= chunk.start, "offsets lie between elements that came together"
                assert chunk.end <= end, "offsets lie between elements that came together"
                yield Chunk(chunk.events, chunk.start, chunk.end)


def memory_input(stream: Iri, reader: PartitionReader) -> Input:
    """Return a reader as the only partition of a stream."""
    return Input(PartitionLocator(SourceSpec(stream=stream, url="memory:")), reader)


@dataclass(slots=True)
class World:
    """A history, the log it comes through and the files it leaves; drivers come and go."""

    history: History
    placed: Local
    checkpoint: MemoryFiles = field(default_factory=MemoryFiles)
    results: MemoryFiles = field(default_factory=MemoryFiles)
    sources: dict[Iri, MemorySource] = field(default_factory=dict)
    batch: int = 0
    seen: list[str] = field(default_factory=list)
    """What a callback has got; the last units may be there twice."""

    def __post_init__(self) -> None:
        """Cut the streams into what is there to be read."""
        every = self.history.arrivals()
        for stream in self.history.streams:
            chunks = [arrival for arrivals in every for arrival in arrivals if arrival.stream == stream]
            self.sources[stream] = MemorySource(chunks)

    def driver(self) -> BatchLoop:
        self.placed.forget()
        inputs = [memory_input(stream, source) for stream, source in self.sources.items()]
        return BatchLoop(
            RegisteredQuery(self.history.stepper(self.placed)),
            inputs,
            self.checkpoint,
            self.results,
            outs=[lambda unit: self.seen.append(unit.text)],
            about={"query": "q"},
        )

    def go_on(self, steps: int | None = None) -> BatchLoop:
        """Start a driver and let it run to the end, or for so many batches."""
        runner = self.driver()
        runner.open()
        while not runner.is_over and (steps is None or steps > 0):
            steps = None if steps is None else steps - 1
            self.step(runner)
        return runner

    def step(self, runner: BatchLoop) -> None:
        """Let one more batch come, or the end, and a driver take what is there."""
        batches = self.history.arrivals()
        if self.batch < len(batches):
            for arrival in batches[self.batch]:
                self.sources[arrival.stream].there = arrival.end
            self.batch += 1
        else:
            for source in self.sources.values():
                source.over = True
        runner.run_once()

    def survive(self, most: int = 50) -> BatchLoop:
        """Start drivers until one gets to the end."""
        for _ in range(most):
            try:
                return self.go_on()
            except DeadError:
                self.checkpoint.fails = self.results.fails = None
        raise AssertionError("no driver gets to the end")

    def lines(self, runner: BatchLoop) -> list[str]:
        """Return the units that stand in the results."""
        return [text for _, text in read_units(self.results, runner.segments)]


Damage = Callable[[bytes], bytes | None]
DAMAGES: dict[str, Damage] = {
    "empty": lambda data: data[:0],
    "half": lambda data: data[: len(data) // 2],
    "last byte gone": lambda data: data[:-1],
    "one bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1 :],
    "missing": lambda _: None,
}
