"""Kinds of live sources by the form of their URLs: one line each."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl

from hydrograph.errors import UsageError
from hydrograph.live.sources.directory.source import DirectorySource
from hydrograph.live.sources.push import PushSource
from hydrograph.live.sources.results import ResultsSource
from hydrograph.live.sources.socket import SocketSource
from hydrograph.live.sources.source import PartitionLocator, PartitionReader, Source, SourceSpec
from hydrograph.live.sources.stdin import StandardInputSource
from hydrograph.live.sources.tail import TailSource
from hydrograph.live.storage.files import Files, files_at
from hydrograph.rdf.terms import Iri
from hydrograph.streams.event_time import EventTime
from hydrograph.streams.format_registry import ENDINGS

SOURCES: tuple[tuple[Callable[[str], bool], Callable[[SourceSpec], Source], str], ...] = (
    (lambda url: url == "-", StandardInputSource, "- (standard input)"),
    (lambda url: url.startswith("tcp://"), SocketSource, "tcp://host:port"),
    (lambda url: url.startswith("push:"), PushSource, "push: (filled by a program)"),
    (lambda url: url.startswith("results:"), ResultsSource, "results:DIRECTORY (of another query)"),
    (lambda url: url.startswith("tail:"), TailSource, "tail:GLOB (growing files)"),
    (lambda url: "://" not in url or url.startswith("file://"), DirectorySource, "a directory"),
)
"""Test of the URL, class, and wording in messages; the first that matches is taken."""


def make_source(stream: Iri, location: str, *, bad: str = "skip") -> Source:
    """Return the source at a URL; options follow `?`: format, time, and those of the kind of source."""
    url, _, query = location.partition("?")
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(f"{url}: expected options as name=value&name=value behind ?, got {query}") from None
    format_ = options.pop("format", None)
    if format_ is not None and format_ not in ENDINGS:
        raise UsageError(f"no format named {format_!r}; formats: {', '.join(ENDINGS)}")
    times = EventTime.read(options.pop("time", None))
    return _of_kind(
        SourceSpec(stream=stream, url=url, format=format_, times=times, bad=bad, options=tuple(options.items()))
    )


def _of_kind(spec: SourceSpec) -> Source:
    for matches, kind, _ in SOURCES:
        if matches(spec.url):
            return kind(spec)
    raise UsageError(f"no source for {spec.url}; sources: {', '.join(name for _, _, name in SOURCES)}")


def reopen(locator: PartitionLocator) -> PartitionReader:
    """Open a partition for reading, in any process."""
    return _of_kind(locator.source).open(locator.spec(files_at(locator.log)))


def open_partition(
    stream: Iri, location: str, log: Files, *, key: str = "", number: int = 0, shared: bool = False, bad: str = "skip"
) -> PartitionReader:
    """Open one listed partition of the source at a URL, with the files for its log."""
    source = make_source(stream, location, bad=bad)
    if key not in (listed := source.list_partitions()):
        raise UsageError(f"{location} has no partition {key!r}; partitions: {', '.join(map(repr, listed))}")
    locator = PartitionLocator(source.spec, key, number, shared or number > 0)
    return source.open(locator.spec(log))
