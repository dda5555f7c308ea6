"""Registry of stream file formats: one line each; timed N-Triples and Parquet have readers of their own."""

from __future__ import annotations

from hydrograph.errors import UsageError
from hydrograph.streams.elements import Format
from hydrograph.streams.formats import jelly, jsonld, messages, nquads, trig, turtle, watdiv, yabench

TNT, PARQUET = "tnt", "parquet"

FORMATS: tuple[Format, ...] = (
    nquads.FORMAT,
    trig.FORMAT,
    turtle.FORMAT,
    messages.FORMAT,
    jsonld.FORMAT,
    jsonld.LINES,
    jelly.FORMAT,
    yabench.FORMAT,
    watdiv.FORMAT,
)
"""Where two formats share an ending the first is meant, except that a log of messages identifies itself."""

PACKED = (".gz", ".zst")
ENDINGS: dict[str, tuple[str, ...]] = {
    TNT: (".tnt",),
    **{each.name: each.endings for each in FORMATS},
    PARQUET: (".parquet",),
}
"""The names of all formats and how the names of their files end; .gz and .zst may follow, except Parquet's."""


def format_named(name: str) -> Format:
    """Return the format of this name, or raise UsageError."""
    for each in FORMATS:
        if each.name == name:
            return each
    raise UsageError(f"no format named {name!r}; formats: {', '.join(ENDINGS)}")


def written_endings(format_: Format) -> tuple[str, ...]:
    """Return how the name of a file may end that is to be written; of several syntaxes one is written."""
    plain = format_.endings if format_.written is None else (format_.written,)
    return tuple(ending + packed for ending in plain for packed in ("", *PACKED))


def format_of(file: str) -> str | None:
    """Return the format of a file by the ending of its name, or None.

    >>> format_of("a.trig.gz"), format_of("a.txt")
    ('trig', None)
    """
    plain = file
    for packed in PACKED:
        plain = plain.removesuffix(packed)
    named = next((name for name, endings in ENDINGS.items() if plain.endswith(endings)), None)
    return None if named == PARQUET and plain != file else named


def detect_format(file: str) -> str | None:
    """Return the format of an existing file: by its name, and for a log of messages by its first line."""
    name = format_of(file)
    shared = name is not None and set(ENDINGS[name]) & set(messages.SYNTAXES)
    return messages.NAME if shared and messages.is_log(file) else name
