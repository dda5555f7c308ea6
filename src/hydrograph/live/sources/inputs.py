"""The sources of a live query, each with the partition it fills and the log in its checkpoint."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from hydrograph.errors import UsageError
from hydrograph.live.settings import Settings
from hydrograph.live.sources.registry import open_source
from hydrograph.live.sources.source import Source
from hydrograph.live.step.input_batch import Partition, partition_of
from hydrograph.live.storage.disk_full import Room
from hydrograph.live.storage.files import Files, files_at
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.plan import Plan


@dataclass(frozen=True, slots=True)
class Input:
    """A source and the partition it fills."""

    stream: Iri
    source: Source
    number: int = 0
    log: Files | None = None
    """Where the source writes, in the checkpoint."""

    @property
    def name(self) -> Partition:
        """The name of the partition."""
        return partition_of(self.stream, self.number)

    @property
    def trouble(self) -> str | None:
        """What is not right with its source, though the query goes on; None if all is, or the source does not say."""
        words: str | None = getattr(self.source, "trouble", None)
        return words


def open_inputs(streams: Sequence[tuple[Iri, str]], settings: Settings, room: Room | None = None) -> list[Input]:
    """Return the sources of streams and their URLs; a stream that is given twice has two partitions."""
    inputs: list[Input] = []
    for stream, location in streams:
        number = sum(each.stream == stream for each in inputs)
        name = log_name(stream, number)
        log = files_at(below(settings.checkpoint, f"sources/{name}"), sync=settings.sync, room=room)
        shared = sum(each == stream for each, _ in streams) > 1
        source = open_source(stream, location, log, partition=number, shared=shared, bad=settings.bad)
        inputs.append(Input(stream, source, number, log))
    return inputs


def log_name(stream: Iri, number: int) -> str:
    """Return the name of a partition's log."""
    return hashlib.sha256(partition_of(stream, number).encode()).hexdigest()[:12]


def below(location: str, name: str) -> str:
    """Return a place inside another."""
    return f"{location.rstrip('/')}/{name}"


def check_streams(plan: Plan, inputs: Sequence[Input]) -> None:
    """Raise UsageError if a query reads a stream that nobody gave."""
    given = {each.stream for each in inputs}
    for window in plan.query.windows:
        if window.stream not in given:
            known = ", ".join(f"<{name.value}>" for name in given) or "none"
            raise UsageError(f"no stream is given for <{window.stream.value}>; given streams: {known}")
