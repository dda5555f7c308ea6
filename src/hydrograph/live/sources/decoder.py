"""Decoding of received bytes into rows: the feed, the buffer of lines, and the decoder of any format."""

from __future__ import annotations

import io
import os
import select
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.sources.source import PartitionSpec
from hydrograph.rdf.encoding import skolem
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.elements import Broken, ElementPiece, File, check_limits_of
from hydrograph.streams.event_time import Texts
from hydrograph.streams.files import ELEMENT_LIMIT, SHOWN, Line, Overlong, too_long
from hydrograph.streams.format_registry import TNT, format_named
from hydrograph.streams.formats.tnt import TntReader, reason
from hydrograph.streams.schema import BATCH, Row
from hydrograph.temporal import Instant

_POLL_MILLISECONDS = 200
"""Milliseconds between two looks whether to stop."""


class Feed(io.RawIOBase):
    """Bytes of a socket or a pipe as a file, until it ends or a stop is requested."""

    def __init__(self, descriptor: int, should_stop: Callable[[], bool]) -> None:
        """Read from an open descriptor."""
        self._descriptor = descriptor
        self._should_stop = should_stop
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)
        self.waiting: Callable[[], None] = lambda: None
        """Called before it has to wait for more, so that what is complete need not."""
        self.ended = False
        """Whether there is nothing more to read."""
        self.cut = False
        """Whether it ended without the sender closing it: the connection was lost, or a stop was requested."""
        self.failure: Exception | None = None
        """What `waiting` raised: nothing is read after it."""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, at most as much as fits."""
        data = self.receive(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def receive(self, most: int) -> bytes:
        """Return what is there, when there is something; nothing at the end."""
        if self.ended:
            return b""
        data = self._receive(most)
        self.ended = not data
        return data

    def _receive(self, most: int) -> bytes:
        if not self._poll.poll(0):
            try:
                self.waiting()
            except Exception as error:  # noqa: BLE001 - a parser that reads would make something else of it
                self.failure = error
                return b""
        try:
            while not self._should_stop():
                if self._poll.poll(_POLL_MILLISECONDS):
                    return os.read(self._descriptor, most)
        except OSError:  # a reset
            pass
        self.cut = True
        return b""


Numbered = tuple[int, Line]
"""A line and its number."""


@dataclass(slots=True)
class LineBuffer:
    """What waits for the end of its line, or of its element; what is longer than it may be is forgotten at once.

    Each byte is looked at a fixed number of times, in whatever pieces it comes.
    """

    group: str | None = None
    """Time and number of the element of several lines that may continue."""
    _lines: list[Numbered] = field(default_factory=list)
    _length: int = 0
    """Of these lines together."""
    _begun: bytearray = field(default_factory=bytearray)
    """The incomplete line; it grows in place, since parts may be single bytes."""
    _skips: bool = False
    """Whether the incomplete line was too long."""
    _lost: str | None = None
    """The element of several lines that was too long, while more of it comes."""

    @property
    def begun(self) -> str:
        """Return the incomplete line; nothing if it belongs to an element that was too long."""
        text = text_of(bytes(self._begun))
        lost = self._lost is not None and f"{self._lost}\t".startswith(text[: len(self._lost) + 1])
        return "" if lost else text

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held, and no line or element that was too long continues."""
        return not self.length and not self._lines and not self._skips and self._lost is None

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
        group = element_group(line)
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
        """Drop the incomplete line."""
        self._begun, self._skips = bytearray(), False

    def _forget_element(self) -> None:
        self.group, self._lines, self._length, self._lost = None, [], 0, None


def text_of(line: bytes) -> str:
    """Return the text of a line; bytes that are no UTF-8 become surrogates."""
    return line.removesuffix(b"\r").decode("utf-8", "surrogateescape")


def _line(line: bytes) -> Line:
    return text_of(line) if len(line) <= ELEMENT_LIMIT else Overlong(text_of(line[:SHOWN]))


def element_group(line: Line) -> str | None:
    """Return time and number of an element that may have several lines."""
    head, tab, _ = (line.start if isinstance(line, Overlong) else line).partition("\t")
    return head if tab and ":" in head else None


Take = Callable[[list[Row], int], None]
"""Gets rows of whole elements, and how many elements were rejected."""
Log = Callable[[Callable[[], tuple[list[Row], int]]], None]
"""Calls a decoding function under the lock of the log, and logs the rows and rejected elements that it returns."""
_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class _LineReader(TntReader):
    """Reads lines that stand in memory."""

    numbered: tuple[Numbered, ...] = ()

    def _lines(self) -> Iterator[tuple[str, int, Line]]:
        for number, line in self.numbered:
            yield self.files[0], number, line


def decode_lines(partition: PartitionSpec, lines: Sequence[Numbered], bad: str) -> tuple[list[Row], int]:
    """Return the rows of numbered lines of timed N-Triples, and how many lines were rejected.

    `seq` is the number of the line, or of the first line of its element.
    """
    if not lines:
        return [], 0
    tally = ReadCounts()
    policy = BadLines("skip" if bad == "skip" else "fail")
    reader = _LineReader((partition.url,), partition.salt, policy, (*lines,))
    rows = [(t, partition.first_seq + seq, s, p, o) for t, seq, s, p, o in reader._rows(tally)]
    return rows, tally.bad


@dataclass(slots=True)
class Decoder:
    """Makes rows of what comes; elements are numbered on from `number`."""

    partition: PartitionSpec
    number: int
    _base: int = field(init=False)
    _held: LineBuffer = field(init=False, default_factory=LineBuffer)

    def __post_init__(self) -> None:
        """Keep partitions apart."""
        self._base = self.partition.first_seq

    def lines(self, data: bytes) -> tuple[list[Row], int]:
        """Return the rows of complete elements; a line, or an element of several lines, may continue later."""
        lines, self.number = self._held.add(data, self.number)
        return self._read(lines, self.partition.bad)

    def rest(self) -> tuple[list[Row], int]:
        """Return the rows of what is left, which is whole."""
        lines, self.number = self._held.whole(self.number)
        return self._read(lines, self.partition.bad)

    def closed(self) -> tuple[list[Row], int]:
        """Return the rows of what is left when the other side has closed the line; inside of a line it was cut."""
        line = self._held.begun
        says_nothing = line.lstrip()[:1] in ("", "#")
        return self.rest() if says_nothing or reason(line) is None else self.cut()

    def cut(self) -> tuple[list[Row], int]:
        """Return the rows that are left after a lost connection; an element that may be incomplete is rejected."""
        begun, group = self._held.begun, self._held.group
        if group is not None and begun and not f"{group}\t".startswith(begun[: len(group) + 1]):
            self._held.forget_line()
            rows, rejected = self.rest()  # another element had begun behind it
            return rows, rejected + 1
        self._held.forget()
        return [], 1 if begun or group is not None else 0

    def _read(self, lines: list[Numbered], bad: str) -> tuple[list[Row], int]:
        return decode_lines(self.partition, lines, bad)

    def element(self, t: Instant, triples: list[Texts]) -> list[Row]:
        """Return the rows of one element."""
        self.number += 1
        return self._rows(self.number, t, triples)

    def _rows(self, number: int, t: Instant, triples: list[Texts] | tuple[Texts, ...]) -> list[Row]:
        seq, salt = self._base + number, self.partition.salt

        def scoped(text: str) -> str:
            return skolem(salt, seq, text[2:]) if text[0] == "_" else text

        return [(t, seq, scoped(s), p, scoped(o)) for s, p, o in triples]

    def payload(self, data: bytes) -> list[Row]:
        """Return the rows of a text or document that holds whole elements; raise DataError if one is broken."""
        if self.partition.format in (None, TNT):
            held = LineBuffer()
            lines, number = held.add(data, self.number)
            more, self.number = held.whole(number)
            return self._read(lines + more, "fail")[0]
        base, rows = self.number, []
        for found in self._elements(cast("IO[bytes]", io.BufferedReader(io.BytesIO(data))), endless=False):
            if isinstance(found, Broken):
                raise DataError(f"{self.partition.url}, {found.place}: {found.reason}")
            self.number = max(self.number, base + found.number)
            rows += self._rows(base + found.number, found.t, found.triples)
        return rows

    def renumber(self, events: pa.Table) -> pa.Table:
        """Return encoded rows with numbers of this log."""
        seq = events.column("seq").to_numpy()
        _, at, inverse = np.unique(seq, return_index=True, return_inverse=True)
        rank = np.empty(len(at), np.int64)
        rank[np.argsort(at, kind="stable")] = np.arange(1, len(at) + 1)
        numbers = pa.array(self._base + self.number + rank[inverse])
        self.number += len(at)
        return events.set_column(events.schema.get_field_index("seq"), "seq", numbers)

    def _elements(self, raw: IO[bytes], *, endless: bool) -> Iterator[ElementPiece | Broken]:
        assert self.partition.format is not None
        file = File(self.partition.url, raw, self.partition.times, endless)
        for found in format_named(self.partition.format).read(file):
            yield (check_limits_of(found) or found) if isinstance(found, ElementPiece) else found

    def decode_feed(self, feed: Feed, log: Log) -> None:
        """Log what comes, as it comes, until it ends; an element that was not whole then is counted as rejected."""
        if self.partition.format not in (None, TNT):
            self.pieces(feed, lambda rows, rejected: log(lambda: (rows, rejected)))
            return
        while data := feed.receive(_BYTES):
            log(partial(self.lines, data))
        log(self.cut if feed.cut else self.closed)

    def pieces(self, feed: Feed, take: Take) -> None:
        """Hand over the elements of any format as they come; `take` has all that are whole when more is waited for.

        After a lost connection an element that may be incomplete is rejected. Raise DataError if the input can't be
        understood any more, or an element is broken and none may be.
        """
        told = PendingElements(take)
        base, fails = self.number, self.partition.bad == "fail"
        feed.waiting = told.tell
        try:
            for found in self._elements(cast("IO[bytes]", feed), endless=True):
                if feed.cut:
                    told.lose(begun=True) if isinstance(found, Broken) else told.lose(found.number)
                elif isinstance(found, Broken):
                    if fails and feed.failure is None:
                        raise DataError(f"{self.partition.url}, {found.place}: {found.reason}")  # noqa: TRY301
                    told.rejected += 1
                else:
                    self.number = max(self.number, base + found.number)
                    if not told.add(found, self._rows(base + found.number, found.t, found.triples)) and fails:
                        raise DataError(f"element {found.number}: {too_long('an element')}")  # noqa: TRY301
        except DataError as error:
            told.lose(begun=True)
            if not feed.ended:
                told.tell()
                raise DataError(f"{self.partition.url}: {error}") from None
        if feed.failure is not None:
            raise feed.failure
        if feed.cut:
            told.lose()
        told.end()


@dataclass(slots=True)
class PendingElements:
    """Elements that are not handed over yet; the last one may be incomplete."""

    take: Take
    rejected: int = 0
    _rows: list[Row] = field(default_factory=list)
    _last: list[Row] = field(default_factory=list)
    _length: int = 0
    """Of the terms of the last one."""
    _open: int | None = None
    _lost: set[int] = field(default_factory=set)
    _too_long: set[int] = field(default_factory=set)

    def add(self, piece: ElementPiece, rows: list[Row]) -> bool:
        """Take in a piece; return False if its element is longer than it may be, and counted as rejected."""
        if piece.number in self._too_long:
            return False
        if piece.number != self._open:
            self._close()
        self._last += rows
        self._open = piece.number
        self._length += sum(len(s) + len(p) + len(o) for _, _, s, p, o in rows)
        if self._length > ELEMENT_LIMIT:
            self.rejected += 1
            self._too_long.add(piece.number)
            self._forget()
            return False
        if not piece.goes_on:
            self._close()
        if len(self._rows) >= BATCH:
            self.tell()
        return True

    def _close(self) -> None:
        self._rows += self._last
        self._forget()

    def _forget(self) -> None:
        self._last, self._length, self._open = [], 0, None

    def tell(self) -> None:
        """Hand over what is whole."""
        if self._rows or self.rejected:
            rows, rejected = self._rows, self.rejected
            self._rows, self.rejected = [], 0
            self.take(rows, rejected)

    def lose(self, number: int | None = None, *, begun: bool = False) -> None:
        """Reject incomplete elements: the last one, one of a number; one at least if one had `begun`."""
        lost = {each for each in (number, self._open) if each is not None} - self._lost - self._too_long
        if begun and not lost and not self._lost:
            lost = {0}
        self.rejected += len(lost)
        self._lost |= lost
        self._forget()

    def end(self) -> None:
        """Hand over all."""
        self._close()
        self.tell()
