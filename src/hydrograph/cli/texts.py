"""The query's text from the command line; needs nothing but the language, so that checking a text is quick."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from hydrograph.errors import DataError, UsageError
from hydrograph.language.lexer import MAX_BYTES
from hydrograph.windows.profile import PRESETS

F = TypeVar("F", bound=Callable[..., Any])


def query_options(function: F) -> F:
    """Add `-q`, `-f`, `--dialect` and `--preset`."""
    for option in (
        click.option(
            "--preset",
            "--profile",
            "preset",
            metavar="NAME",
            help=f"Whose habits to follow: {', '.join(PRESETS)}; by default those of the query's language.",
        ),
        click.option("--dialect", metavar="NAME", help="The query's language; by default the text tells."),
        click.option("-f", "--query-file", metavar="FILE", help="The file that holds the query; - for standard input."),
        click.option("-q", "--query", "query_text", metavar="TEXT", help="The query itself."),
    ):
        function = option(function)
    return function


def time_option(function: F) -> F:
    """Add `--time`."""
    return click.option(
        "--time",
        "time_of",
        metavar="PROPERTY|name",
        help="What says when an element happened: a property, or the file's name; prov:generatedAtTime by default.",
    )(function)


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


def text_argument(function: F) -> F:
    """Add the query as FILE, beside the options of `query_options`."""
    return click.argument("file", required=False)(query_options(function))


def argument_text(file: str | None, text: str | None, query_file: str | None) -> str:
    """Return the query's text from FILE or from one of the two options."""
    if file is not None and (text is not None or query_file is not None):
        raise UsageError("expected the query once, got FILE and an option as well")
    if file is None and text is None and query_file is None:
        raise UsageError("expected a query: FILE (- for standard input), -q TEXT or -f FILE")
    return query_text(text, query_file if file is None else file)
