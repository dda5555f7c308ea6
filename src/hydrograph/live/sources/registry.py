"""The sources by the form of their URLs: one line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qsl

from hydrograph.errors import UsageError
from hydrograph.live.sources import push, results, socket, stdin
from hydrograph.live.sources.directory import directory_source as directory
from hydrograph.live.sources.source import Given, Source
from hydrograph.live.storage.files import Files
from hydrograph.rdf.terms import Iri
from hydrograph.streams.event_time import EventTime
from hydrograph.streams.registry import ENDINGS

Open = Callable[[Given], Source]

SOURCES: tuple[tuple[Callable[[str], bool], Open, str], ...] = (
    (lambda url: url == "-", stdin.open_source, "- (standard input)"),
    (lambda url: url.startswith("tcp://"), socket.open_source, "tcp://host:port"),
    (lambda url: url.startswith("push:"), push.open_source, "push: (filled by a program)"),
    (lambda url: url.startswith("results:"), results.open_source, "results:DIRECTORY (of another query)"),
    (lambda url: "://" not in url or url.startswith("file://"), directory.open_source, "a directory"),
)


def open_source(
    stream: Iri, location: str, log: Files, *, partition: int = 0, shared: bool = False, bad: str = "skip"
) -> Source:
    """Return the source at a URL; options follow behind `?`: format, time, and those of the source.

    `shared` says that the stream has other partitions.
    """
    url, _, query = location.partition("?")
    try:
        options = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(f"{url}: expected options as name=value&name=value behind ?, got {query}") from None
    format_ = options.pop("format", None)
    if format_ is not None and format_ not in ENDINGS:
        raise UsageError(f"no format named {format_!r}; formats: {', '.join(ENDINGS)}")
    times = EventTime.read(options.pop("time", None))
    given = Given(
        stream=stream,
        url=url,
        partition=partition,
        shared=shared or partition > 0,
        format=format_,
        times=times,
        log=log,
        bad=bad,
        options=options,
    )
    for fits, opened, _ in SOURCES:
        if fits(url):
            return opened(replace(given))
    known = ", ".join(name for _, _, name in SOURCES)
    raise UsageError(f"no source for {url}; sources: {known}")
