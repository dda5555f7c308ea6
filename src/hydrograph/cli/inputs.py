"""Options that several commands share: streams and static data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from hydrograph.api import Query
from hydrograph.cli.texts import time_option
from hydrograph.errors import QueryError, UsageError
from hydrograph.streams.formats.tnt import BadLines
from hydrograph.streams.registry import ENDINGS
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph.streams.static import StaticGraphs, read_graphs

F = TypeVar("F", bound=Callable[..., Any])


def named(option: str) -> tuple[str | None, str]:
    """Split `IRI=PATH` or `PATH`.

    >>> named("http://example.org/s=a.tnt"), named("a.tnt")
    (('http://example.org/s', 'a.tnt'), (None, 'a.tnt'))
    """
    name, equals, path = option.rpartition("=")
    if equals and ":" in name:
        return name, path
    return None, option


def stream_options(function: F) -> F:
    """Add `--stream-format` and `--time`."""
    option = click.option(
        "--stream-format", type=click.Choice(list(ENDINGS)), help="The format of streams whose names do not tell it."
    )
    return option(time_option(function))


def streams_of(
    query: Query,
    options: tuple[str, ...],
    bad_lines: str,
    *,
    format_: str | None = None,
    time: str | None = None,
) -> dict[str, RecordedStream]:
    """Return the streams that `--stream [IRI=]PATH` gives; one without an IRI serves whatever stream is left."""
    policy = BadLines.read(bad_lines)
    wanted = list(dict.fromkeys(window.stream.value for window in query.algebra.windows))
    if not wanted:
        raise QueryError("expected a window (FROM NAMED WINDOW … ON … [RANGE … STEP …]), got a query without one")
    given: dict[str, str] = {}
    unnamed: list[str] = []
    for option in options:
        name, path = named(option)
        if name is None:
            unnamed.append(path)
        else:
            given[name] = path
    left = [name for name in wanted if name not in given]
    if unnamed and len(unnamed) != len(left):
        raise UsageError(
            f"{len(unnamed)} streams are given without an IRI, but the query leaves {len(left)} to fill"
            f"{': ' + ', '.join(left) if left else ''}; write --stream IRI=PATH"
        )
    given |= dict(zip(left, unnamed, strict=False))
    missing = [name for name in wanted if name not in given]
    if missing:
        raise UsageError(f"no data for the stream <{missing[0]}>; give it with --stream {missing[0]}=PATH")
    return {
        name: open_stream(path, name=name, bad_lines=policy, format=format_, time=time) for name, path in given.items()
    }


def static_of(options: tuple[str, ...]) -> StaticGraphs:
    """Return the static graphs that `--static [IRI=]PATH` gives; what is given for one graph is merged."""
    return read_graphs(map(named, options))
