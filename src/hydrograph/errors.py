"""Every error raised on purpose, each with the exit code the command line gives it.

Invalid (the user's query or data) is not unsupported (ours to build), and neither is a bug (an assertion).
A message states what was expected, what was got and what to do: lower case, no full stop.
"""

from __future__ import annotations


class HydrographError(Exception):
    """The base of all errors raised on purpose."""

    exit_code = 1


class RunError(HydrographError):
    """The run failed for a reason outside query and data: no Java, no memory, no space."""

    exit_code = 1


class UsageError(HydrographError):
    """The call is wrong: unknown option value, missing file name, contradicting options."""

    exit_code = 2


class QueryError(HydrographError):
    """The query is wrong; nothing was run."""

    exit_code = 3


class UnsupportedError(QueryError):
    """The query is right, but asks for something Hydrograph does not do."""


class SyntaxQueryError(QueryError):
    """The query text breaks the grammar; the message shows the line with a caret."""

    def __init__(self, message: str, text: str, offset: int) -> None:
        """Keep the position of `offset` in `text` as `line` and `column`, both counted from 1."""
        before = text[:offset]
        self.reason = message
        self.offset = offset
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {message}\n{_pointer(text, offset)}")


class UnsupportedSyntaxError(SyntaxQueryError, UnsupportedError):
    """The query is right, but asks for something Hydrograph does not do; the message shows where."""


class DataError(HydrographError):
    """The data is wrong: a broken line, a missing file, a collision of ids."""

    exit_code = 4


class MismatchError(HydrographError):
    """Answers differ from the oracle's."""

    exit_code = 5


_SHOWN = 60  # characters of the line shown on each side of the caret


def _pointer(text: str, offset: int) -> str:
    """Return the line of `offset` with a caret below it, cut so that it fits a terminal."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)]
    at = offset - start
    left = max(0, at - _SHOWN)
    shown = line[left : at + _SHOWN]
    # One column per character: whatever moves the cursor otherwise (tabs, control characters) becomes a space.
    shown = "".join(character if character.isprintable() else " " for character in shown)
    return f"  {shown}\n  {' ' * (at - left)}^"
