"""Lines of timed N-Triples that have come, until the elements that they belong to are whole."""

from __future__ import annotations

from dataclasses import dataclass, field

from hydrograph.streams.lines import ELEMENT_LIMIT, SHOWN, Line, Overlong

Numbered = tuple[int, Line]
"""A line and its number."""


@dataclass(slots=True)
class HeldLines:
    """What waits for the end of its line, or of its element; what is longer than it may be is forgotten at once.

    Each byte is looked at a fixed number of times, in whatever pieces it comes.
    """

    group: str | None = None
    """Time and number of the element of several lines that may go on."""
    _lines: list[Numbered] = field(default_factory=list)
    _length: int = 0
    """Of these lines together."""
    _begun: bytearray = field(default_factory=bytearray)
    """What has come of a line that goes on: it grows in place, since parts may be single bytes."""
    _skips: bool = False
    """Whether the line that goes on was too long."""
    _lost: str | None = None
    """The element of several lines that was too long, while more of it comes."""

    @property
    def begun(self) -> str:
        """Return what has come of the line that goes on; nothing if it goes on with an element that was too long."""
        text = text_of(bytes(self._begun))
        lost = self._lost is not None and f"{self._lost}\t".startswith(text[: len(self._lost) + 1])
        return "" if lost else text

    @property
    def length(self) -> int:
        """Return how much is held."""
        return self._length + len(self._begun)

    def add(self, data: bytes, number: int) -> tuple[list[Numbered], int]:
        """Take in what comes behind line `number`; return the lines of whole elements, and the number of the last."""
        ready: list[Numbered] = []
        first, *others = data.split(b"\n")
        number = self._add_part(first, number, ready)
        if others:
            *whole, last = others
            if not self._skips:
                whole.insert(0, bytes(self._begun))
            self.forget_line()
            for line in whole:
                number += 1
                # By far the most lines are elements of their own, which can be seen here at little cost.
                grouped = line.find(b":", 0, line.find(b"\t")) >= 0
                if grouped or self.group is not None or self._lost is not None or len(line) > ELEMENT_LIMIT:
                    self._add(number, _line(line), len(line), ready)
                else:
                    ready.append((number, text_of(line)))
            number = self._add_part(last, number, ready)
        return ready, number

    def _add_part(self, part: bytes, number: int, ready: list[Numbered]) -> int:
        """Keep a part of line `number + 1`; return the number of the last line of which is known what becomes of it."""
        if self._skips or not part:
            return number
        self._begun += part
        if len(self._begun) <= ELEMENT_LIMIT:
            return number
        start = bytes(self._begun[:SHOWN])
        self.forget_line()
        self._skips = True
        self._add(number + 1, Overlong(text_of(start)), 0, ready)
        return number + 1

    def _add(self, number: int, line: Line, length: int, ready: list[Numbered]) -> None:
        group = _group(line)
        if group is not None and group == self._lost:
            return
        if group is None or group != self.group:
            ready += self._lines
            self._forget_element()
        if group is None:
            ready.append((number, line))
            return
        self.group = group
        self._lines.append((number, line))
        self._length += length
        if isinstance(line, Overlong) or self._length > ELEMENT_LIMIT:
            ready.append((number, line if isinstance(line, Overlong) else Overlong(line[:SHOWN])))
            self._forget_element()
            self._lost = group

    def whole(self, number: int) -> tuple[list[Numbered], int]:
        """Return all that is left, which is whole, and the number of the last line."""
        ready, number = self.add(b"\n", number) if self._begun else ([], number)
        ready += self._lines
        self.forget()
        return ready, number

    def forget(self) -> None:
        """Hold nothing, and know of nothing that was too long: what follows is another text."""
        self.forget_line()
        self._forget_element()

    def forget_line(self) -> None:
        """Hold nothing of the line that goes on."""
        self._begun, self._skips = bytearray(), False

    def _forget_element(self) -> None:
        self.group, self._lines, self._length, self._lost = None, [], 0, None


def text_of(line: bytes) -> str:
    """Return the text of a line; bytes that are no UTF-8 become surrogates."""
    return line.removesuffix(b"\r").decode("utf-8", "surrogateescape")


def _line(line: bytes) -> Line:
    return text_of(line) if len(line) <= ELEMENT_LIMIT else Overlong(text_of(line[:SHOWN]))


def _group(line: Line) -> str | None:
    """Return time and number of an element that may have several lines."""
    head, tab, _ = (line.start if isinstance(line, Overlong) else line).partition("\t")
    return head if tab and ":" in head else None
