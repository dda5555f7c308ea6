"""Lines of a text, none longer than an element may be: one that never ends would fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

ELEMENT_LIMIT = 16 * 1024 * 1024
"""How long a line may be, and all of an element that comes through a line without end: in bytes, or in characters where
it has become text. Parsers keep as much of a term, and the longest literal that is taken fits in however it is escaped.
"""
SHOWN = 120
"""How much of a longer one is kept, to be shown."""
_SKIPPED = 1 << 16


@dataclass(frozen=True, slots=True)
class Overlong:
    """Stands for a line, or an element of several lines, that is longer than it may be: its beginning."""

    start: str

    @property
    def reason(self) -> str:
        """Why it is broken."""
        return too_long("a line or an element")


Line = str | Overlong


def too_long(what: str) -> str:
    """Return why something is broken that is longer than it may be."""
    return f"expected {what} of at most {ELEMENT_LIMIT} bytes, got a longer one: does it ever end?"


def numbered(text: TextIO) -> Iterator[tuple[int, Line]]:
    """Return the lines with their ends and numbers; of one that is too long only the beginning, which says so."""
    number = 0
    while line := text.readline(ELEMENT_LIMIT):
        number += 1
        if len(line) < ELEMENT_LIMIT or line[-1] == "\n":
            yield number, line
            continue
        yield number, Overlong(line[:SHOWN])  # at once: its end may never come
        while line and line[-1] != "\n":
            line = text.readline(_SKIPPED)
