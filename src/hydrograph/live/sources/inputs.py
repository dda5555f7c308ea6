"""Inputs of a live query: every partition of every stream, numbered once and for all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hydrograph.errors import UsageError
from hydrograph.live.settings import Settings
from hydrograph.live.sources.registry import make_source
from hydrograph.live.sources.source import MOST_PARTITIONS, PartitionLocator, PartitionReader
from hydrograph.live.step.records import Partition, partition_of
from hydrograph.live.storage.disk_full import DiskFullWait
from hydrograph.live.storage.files import Files, files_at, frame, unframe
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.plan import Plan


@dataclass(frozen=True, slots=True)
class Input:
    """A partition that a query reads."""

    locator: PartitionLocator
    reader: PartitionReader
    log: Files | None = None
    """Files of the partition in the checkpoint."""

    @property
    def stream(self) -> Iri:
        """The stream that the partition belongs to."""
        return self.locator.source.stream

    @property
    def number(self) -> int:
        """The number of the partition in its stream."""
        return self.locator.number

    @property
    def name(self) -> Partition:
        """The name of the partition."""
        return self.locator.name


def open_inputs(
    streams: Sequence[tuple[Iri, str]], settings: Settings, disk_full: DiskFullWait | None = None
) -> list[Input]:
    """Open every partition of streams and their URLs; a stream given with two URLs has the partitions of both."""
    sources = [make_source(stream, url, bad=settings.bad) for stream, url in streams]
    listed = [source.list_partitions() for source in sources]
    checkpoint = files_at(settings.checkpoint, sync=settings.sync, disk_full=disk_full)
    names: dict[Iri, list[tuple[int, str]]] = {}
    """Partitions of each stream: the place of the URL among those of the stream, and the key."""
    places = []
    for (stream, _), keys in zip(streams, listed, strict=True):
        own = names.setdefault(stream, [])
        places.append(len({place for place, _ in own}))
        own += [(places[-1], key) for key in keys]
    numbers = {stream: _number_partitions(stream, own, checkpoint) for stream, own in names.items()}
    inputs: list[Input] = []
    for source, place, keys in zip(sources, places, listed, strict=True):
        stream = source.spec.stream
        for key in keys:
            number = numbers[stream][place, key]
            location = _absolute(below(settings.checkpoint, f"sources/{log_name(stream, number)}"))
            log = files_at(location, sync=settings.sync, disk_full=disk_full)
            locator = PartitionLocator(source.spec, key, number, len(names[stream]) > 1, location)
            reader = source.open(locator.spec(log))
            anywhere = replace(locator, source=replace(source.spec, url=source.location))
            inputs.append(Input(anywhere, reader, log))
    return inputs


def _number_partitions(stream: Iri, names: Sequence[tuple[int, str]], checkpoint: Files) -> dict[tuple[int, str], int]:
    """Return the number of each partition, named by the place of its URL and its key.

    A URL with one partition has the number of its place. Where a source names its partitions, each number is claimed
    in the checkpoint when it is first given: another order, or another list, never changes it.
    """
    if not any(key for _, key in names):
        numbers = {name: number for number, name in enumerate(names)}
    else:
        directory = f"sources/partitions-{log_name(stream, 0)}"
        numbers = {}
        for file in checkpoint.names(directory):
            numbers[_read_name(checkpoint, f"{directory}/{file}")] = int(file)
        for name in names:
            while name not in numbers:
                number = len(numbers)
                file = f"{directory}/{number:04d}"
                claimed = checkpoint.claim(file, frame(f"{name[0]} {name[1]}"))
                numbers[name if claimed else _read_name(checkpoint, file)] = number
    if max(numbers.values(), default=0) >= MOST_PARTITIONS:
        raise UsageError(f"<{stream.value}>: expected at most {MOST_PARTITIONS} partitions, got {len(numbers)}")
    return numbers


def _read_name(checkpoint: Files, file: str) -> tuple[int, str]:
    place, _, key = unframe(checkpoint.read(file) or b"").partition(" ")
    return int(place), key


def log_name(stream: Iri, number: int) -> str:
    """Return the name of a partition's directory in the checkpoint."""
    return hashlib.sha256(partition_of(stream, number).encode()).hexdigest()[:12]


def below(location: str, name: str) -> str:
    """Return a location inside another."""
    return f"{location.rstrip('/')}/{name}"


def _absolute(location: str) -> str:
    return location if "://" in location else str(Path(location).resolve())


def check_streams(plan: Plan, inputs: Sequence[Input]) -> None:
    """Raise UsageError if a query reads a stream that has no input."""
    streams = {each.stream for each in inputs}
    for window in plan.query.windows:
        if window.stream not in streams:
            known = ", ".join(f"<{name.value}>" for name in streams) or "none"
            raise UsageError(f"no stream is given for <{window.stream.value}>; given streams: {known}")
