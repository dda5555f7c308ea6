"""Options that several commands share: the query, its streams, static data, the profile, settings of the gauge.

A group of options reaches a command as one argument, see `option_group`. Nothing heavy is imported before it is needed,
so that a command that only checks a text starts at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args
from urllib.parse import parse_qsl, quote

import click

from hydrograph.errors import DataError, QueryError, UsageError
from hydrograph.language.duration import parse_duration
from hydrograph.language.lexer import MAX_BYTES
from hydrograph.windows.profile import PRESETS, Origin, ProfileOverrides

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from hydrograph.api import Query
    from hydrograph.streams.sources import RecordedStream
    from hydrograph.streams.static_graphs import StaticGraphs

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def option_group(name: str, options: Sequence[Decorator], build: Callable[..., Any]) -> Decorator:
    """Return a decorator that adds options to a command, which gets `build` of their values as the argument `name`."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def grouped(**values: Any) -> Any:
            own = {each: values.pop(each) for each in names}
            return command(**values, **{name: build(**own)})

        before = len(getattr(grouped, "__click_params__", ()))
        result: Any = grouped
        for option in reversed(options):
            result = option(result)
        names = [parameter.name for parameter in result.__click_params__[before:]]
        return result  # type: ignore[no-any-return] # options give back what they decorate

    return decorate


# --- the query


@dataclass(frozen=True, slots=True)
class QueryText:
    """The text of a query, and how to read it."""

    text: str
    dialect: str | None
    preset: str | None


_QUERY = (
    click.option("-q", "--query", metavar="TEXT", help="The query itself."),
    click.option("-f", "--query-file", metavar="FILE", help="The file that holds the query; - for standard input."),
    click.option("--dialect", metavar="NAME", help="The query's language; by default it is detected."),
    click.option(
        "--preset",
        "--profile",
        "preset",
        metavar="NAME",
        help=f"The engine whose profile to use: {', '.join(PRESETS)}; by default that of the query's language.",
    ),
)


def _query(query: str | None, query_file: str | None, dialect: str | None, preset: str | None) -> QueryText:
    return QueryText(read_query(query, query_file), dialect, preset)


def _query_argument(
    file: str | None, query: str | None, query_file: str | None, dialect: str | None, preset: str | None
) -> QueryText:
    if file is not None and (query is not None or query_file is not None):
        raise UsageError("expected the query once, got FILE and an option as well")
    if file is None and query is None and query_file is None:
        raise UsageError("expected a query: FILE (- for standard input), -q TEXT or -f FILE")
    return _query(query, query_file if file is None else file, dialect, preset)


query_options = option_group("query_text", _QUERY, _query)
"""Adds `-q`, `-f`, `--dialect` and `--preset`; the command gets a `QueryText`."""
query_argument = option_group("query_text", (click.argument("file", required=False), *_QUERY), _query_argument)
"""Adds FILE beside the same options."""


def read_query(text: str | None, file: str | None) -> str:
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
        raise DataError(f"{file}: expected a query in UTF-8, got another byte at {error.start}") from None


# --- streams and static data


class _FormatName(click.ParamType[str]):
    """Name of a stream format; the formats are loaded when a name is checked or shown."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return _formats().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return _formats().get_metavar(param, ctx)


def _formats() -> click.Choice[str]:
    from hydrograph.streams.format_registry import ENDINGS

    return click.Choice(list(ENDINGS))


STREAM_FORMAT = _FormatName()
"""The type of options that name a stream format."""

time_option = click.option(
    "--time",
    "time_of",
    metavar="PROPERTY|name",
    help="Where the time of an element is: a property, or the name of its file; prov:generatedAtTime by default.",
)


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The streams of a command, and how to read those that do not tell it themselves."""

    locations: tuple[str, ...]
    """As given, `[IRI=]PATH` or `[IRI=]URL`."""
    format: str | None
    time: str | None

    def recorded(self, query: Query, bad_lines: str) -> dict[str, RecordedStream]:
        """Return the recorded streams of a query."""
        return recorded_streams(query, self.locations, bad_lines, format_=self.format, time=self.time)

    def live(self, query: Query) -> list[tuple[str, str]]:
        """Return stream and URL of each live source of a query."""
        pairs = assign_streams(_stream_names(query), self.locations, "URL")
        return [(name, with_options(url, {"format": self.format, "time": self.time})) for name, url in pairs]


def stream_options(stream_help: str) -> Decorator:
    """Return a decorator that adds `--stream`, `--stream-format` and `--time`; the command gets `StreamOptions`."""
    options = (
        click.option("--stream", "streams", multiple=True, metavar="[IRI=]PATH", help=stream_help),
        click.option(
            "--stream-format", type=STREAM_FORMAT, help="Format of streams whose names do not end in a known way."
        ),
        time_option,
    )
    return option_group(
        "streams", options, lambda streams, stream_format, time_of: StreamOptions(streams, stream_format, time_of)
    )


def assign_streams(names: Sequence[str], options: Sequence[str], place: str = "PATH") -> list[tuple[str, str]]:
    """Return stream and location for each `--stream [IRI=]LOCATION`.

    Locations without an IRI are for the streams of the query that are named by no other, in order.

    >>> assign_streams(["urn:a", "urn:b"], ["urn:b=b.tnt", "a.tnt"])
    [('urn:b', 'b.tnt'), ('urn:a', 'a.tnt')]
    """
    pairs = [_split_name(option, names) for option in options]
    left = [name for name in names if name not in {given for given, _ in pairs}]
    unnamed = sum(name is None for name, _ in pairs)
    if unnamed and unnamed != len(left):
        raise UsageError(
            f"{unnamed} streams are given without an IRI, but {len(left)} streams of the query have no data yet"
            f"{': ' + ', '.join(left) if left else ''}; write --stream IRI={place}"
        )
    following = iter(left)
    return [(next(following) if name is None else name, location) for name, location in pairs]


def _split_name(option: str, names: Sequence[str]) -> tuple[str | None, str]:
    for name in names:
        if option.startswith(f"{name}="):
            return name, option.removeprefix(f"{name}=")
    name, equals, location = option.partition("=")
    return (name, location) if equals and ":" in name and "?" not in name else (None, option)


def _stream_names(query: Query) -> list[str]:
    return list(dict.fromkeys(window.stream.value for window in query.algebra.windows))


def recorded_streams(
    query: Query,
    options: Sequence[str],
    bad_lines: str,
    *,
    format_: str | None = None,
    time: str | None = None,
) -> dict[str, RecordedStream]:
    """Return the streams that `--stream [IRI=]PATH` gives; raise UsageError if one of the query is missing."""
    from hydrograph.streams.sources import BadLines, open_stream

    policy = BadLines.read(bad_lines)
    names = _stream_names(query)
    if not names:
        raise QueryError("expected a window (FROM NAMED WINDOW … ON … [RANGE … STEP …]), got a query without one")
    paths = dict(assign_streams(names, options))
    for name in names:
        if name not in paths:
            raise UsageError(f"no data for the stream <{name}>; give it with --stream {name}=PATH")
    return {
        name: open_stream(path, name=name, bad_lines=policy, format=format_, time=time) for name, path in paths.items()
    }


def with_options(url: str, options: Mapping[str, str | None]) -> str:
    """Return the URL of a stream with options that are given for all; those that it has itself win.

    >>> with_options("tcp://h:1?end=close&format=trig", {"format": "nquads", "time": "sosa:resultTime"})
    'tcp://h:1?end=close&format=trig&time=sosa%3AresultTime'
    """
    place, _, own = url.partition("?")
    present = dict(parse_qsl(own))
    more = [f"{name}={quote(value)}" for name, value in options.items() if value is not None and name not in present]
    parts = [*([own] if own else []), *more]
    return f"{place}?{'&'.join(parts)}" if parts else place


def static_option(text: str) -> Decorator:
    """Return a decorator that adds `--static`, which may be repeated; `static_graphs` reads the files."""
    return click.option("--static", "statics", multiple=True, metavar="[IRI=]PATH", help=text)


def static_graphs(statics: Sequence[str]) -> StaticGraphs:
    """Return the graphs that `--static [IRI=]PATH` gives; several files of one graph are merged."""
    from hydrograph.streams.static_graphs import read_graphs

    return read_graphs(map(name_and_path, statics))


def name_and_path(option: str) -> tuple[str | None, str]:
    """Split `IRI=PATH` or `PATH`.

    >>> name_and_path("http://example.org/g=a.nt"), name_and_path("a.nt")
    (('http://example.org/g', 'a.nt'), (None, 'a.nt'))
    """
    name, equals, path = option.rpartition("=")
    return (name, path) if equals and ":" in name else (None, option)


# --- the profile


@dataclass(frozen=True, slots=True)
class ProfileOptions:
    """Parts of the profile that are given, and t0 if it is a time."""

    overrides: ProfileOverrides
    t0: int | None


_PARTS = {
    "report": ("--report", "When to report; by default as the preset does."),
    "every": ("--every", "Report at this period, such as 5s, counted from t0."),
    "expiry": ("--expiry/--no-expiry", "Report when content leaves a window, not only when it enters."),
    "non_empty": ("--non-empty/--or-empty", "Do not report while all windows are empty."),
    "multi": ("--multi", "With several windows: report when any of them closes, or when all do."),
    "tick": ("--tick", "Whether elements of one time enter together or one by one."),
    "origin": ("--t0", "Where the first window opens: a time, or the rule that sets it."),
    "align": ("--align", "What lies at t0: the opening of the first window, or one step before its close."),
    "operator": ("--r2s", "The stream operator of a query that names none."),
    "r2s_set": ("--sets/--bags", "Whether istream and dstream compare sets or bags of answers."),
    "emit_empty": ("--empty/--no-empty", "Whether empty answers are reported."),
    "keep_slide": ("--slide/--no-slide", "Whether time windows keep their slide, or slide continuously."),
    "zero_average": ("--zero-average/--unbound-average", "The value of AVG of no rows."),
}
"""Flag and help of each part of `ProfileOverrides`; its type gives the values."""


def _part_option(part: str, kind: Any) -> Decorator:
    flag, text = _PARTS[part]
    if part == "origin":
        return click.option(flag, part, metavar=f"MS|{'|'.join(Origin)}", help=text)
    if part == "every":
        return click.option(flag, part, metavar="DURATION", help=text)
    if issubclass(kind, Enum):
        return click.option(flag, part, type=click.Choice([each.value for each in kind]), help=text)
    return click.option(flag, part, default=None, help=text)


def _profile(origin: str | None, every: str | None, **parts: Any) -> ProfileOptions:
    t0: int | None = None
    if origin is not None and origin not in list(Origin):
        try:
            t0, origin = int(origin), None
        except ValueError:
            known = ", ".join(Origin)
            raise UsageError(f"expected a time in milliseconds or one of {known} for --t0, got {origin!r}") from None
    try:
        period = None if every is None else parse_duration(every)
    except ValueError as error:
        raise UsageError(f"--every: {error}") from None
    return ProfileOptions(ProfileOverrides.from_values({**parts, "origin": origin, "every": period}), t0)


profile_options = option_group(
    "profile", [_part_option(part, kind) for part, kind in ProfileOverrides.types().items()], _profile
)
"""Adds an option for each part of a profile; the command gets `ProfileOptions`."""


# --- settings that are pydantic models


def setting_option(name: str, field: FieldInfo) -> click.Option:
    """Return the option of a setting; its value is checked by the settings themselves, not here."""
    flag = f"--{name.replace('_', '-')}"
    default = field.get_default(call_default_factory=True)
    several = isinstance(default, dict | tuple | list)
    shown = "" if several or default is None or isinstance(default, bool) else f" [default: {default}]"
    text = f"{field.description or ''}{shown}"
    if isinstance(default, bool):
        return click.Option([f"{flag}/--no-{name.replace('_', '-')}"], default=None, help=text)
    choices = [str(choice) for choice in get_args(field.annotation) if isinstance(choice, str)]
    metavar = "|".join(choices) if choices else "NAME=VALUE" if isinstance(default, dict) else "VALUE"
    return click.Option([flag], multiple=several, metavar=metavar, help=text)
