"""Options that several commands share: the query's text, streams, static data."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hydrograph.api import Query
from hydrograph.errors import DataError, QueryError, UsageError
from hydrograph.language.lexer import MAX_BYTES
from hydrograph.streams.formats.tnt import BadLines
from hydrograph.streams.sources import RecordedStream, open_stream
from hydrograph.streams.static import StaticGraphs, read_graphs

F = TypeVar("F", bound=Callable[..., Any])


def query_options(function: F) -> F:
    """Add `-q`, `-f`, `--dialect` and `--preset`."""
    for option in (
        click.option("--preset", metavar="NAME", help="Whose habits to follow: rspql, csparql, cqels, …"),
        click.option("--dialect", metavar="NAME", help="The query's language; by default the text tells."),
        click.option("-f", "--query-file", metavar="FILE", help="The file that holds the query; - for standard input."),
        click.option("-q", "--query", "query_text", metavar="TEXT", help="The query itself."),
    ):
        function = option(function)
    return function


def query_text(text: str | None, file: str | None) -> str:
    """Return the query's text from one of the two options."""
    if (text is None) == (file is None):
        raise UsageError("expected either -q TEXT or -f FILE")
    if text is not None:
        return text
    assert file is not None
    try:
        # One byte more than the limit is enough to see that a text is too long.
        if file == "-":
            raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                raw = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(raw) > MAX_BYTES:
            return raw.decode("utf-8", "replace")
        raise DataError(f"{file}: expected a query in UTF-8, got a byte that is none at {error.start}") from None


def named(option: str) -> tuple[str | None, str]:
    """Split `IRI=PATH` or `PATH`.

    >>> named("http://example.org/s=a.tnt"), named("a.tnt")
    (('http://example.org/s', 'a.tnt'), (None, 'a.tnt'))
    """
    name, equals, path = option.rpartition("=")
    if equals and ":" in name:
        return name, path
    return None, option


def streams_of(query: Query, options: tuple[str, ...], bad_lines: str) -> dict[str, RecordedStream]:
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
    return {name: open_stream(path, name=name, bad_lines=policy) for name, path in given.items()}


def static_of(options: tuple[str, ...]) -> StaticGraphs:
    """Return the static graphs that `--static [IRI=]PATH` gives; what is given for one graph is merged."""
    return read_graphs(map(named, options))
