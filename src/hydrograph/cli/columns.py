"""Two texts in two columns, equal lines beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest

_BETWEEN = 3
_NARROWEST = 20
_HANG = "  "


def side_by_side(left: str, right: str, width: int) -> str:
    r"""Return both texts in columns of at most `width` together; lines that differ have a bar between them.

    >>> print(side_by_side("a\nb\nc", "a\nx y\nc\nd", 43))
    a                      a
    b                    | x y
    c                      c
                         | d
    """
    column = max(_NARROWEST, (width - _BETWEEN) // 2)
    lines = []
    for ours, theirs, same in _aligned(left.splitlines(), right.splitlines()):
        for first, second in zip_longest(_folded(ours, column), _folded(theirs, column), fillvalue=""):
            lines.append(f"{first:<{column}} {' ' if same else '|'} {second}".rstrip())
    return "\n".join(lines)


def _aligned(left: list[str], right: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Return pairs of lines, and whether they are equal."""
    for kind, start, end, first, last in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for ours, theirs in zip_longest(left[start:end], right[first:last], fillvalue=""):
            yield ours, theirs, kind == "equal"


def _folded(line: str, width: int) -> list[str]:
    """Return a line in pieces that fit; those that follow keep its indentation and hang a little."""
    indent = line[: len(line) - len(line.lstrip())][: width // 2]
    pieces = []
    rest = line
    while len(rest) > width:
        cut = rest.rfind(" ", len(indent) + len(_HANG) + 1, width + 1)
        cut = cut if cut > 0 else width
        pieces.append(rest[:cut])
        rest = f"{indent}{_HANG}{rest[cut:].lstrip()}"
    return [*pieces, rest]
