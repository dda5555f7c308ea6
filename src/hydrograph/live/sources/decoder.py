"""Rows of what a receiver is given: lines, documents and frames of any format, as they come or all at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import IO, cast

import numpy as np
import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.live.sources.feed import Feed
from hydrograph.live.sources.line_buffer import HeldLines, Numbered
from hydrograph.live.sources.source import Given
from hydrograph.rdf.encoding import skolem
from hydrograph.streams.elements import Broken, File, Piece, beyond
from hydrograph.streams.event_time import Texts
from hydrograph.streams.formats.tnt import BATCH, BadLines, Row, Tally, TntReader, reason
from hydrograph.streams.lines import ELEMENT_LIMIT, Line, too_long
from hydrograph.streams.registry import TNT, format_named
from hydrograph.temporal import Instant

PARTITION_BITS = 52
"""`seq` is the number of the partition, shifted by this, plus the number of the element in it."""

Take = Callable[[list[Row], int], None]
"""Gets rows of whole elements, and how many elements were rejected."""
Log = Callable[[Callable[[], tuple[list[Row], int]]], None]
"""Calls what decodes while nobody else sends, and logs the rows and the number of rejected elements that it gives."""
_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class _Lines(TntReader):
    """Reads lines that stand in memory."""

    numbered: tuple[Numbered, ...] = ()

    def _lines(self) -> Iterator[tuple[str, int, Line]]:
        for number, line in self.numbered:
            yield self.files[0], number, line


@dataclass(slots=True)
class Decoder:
    """Makes rows of what comes; elements are numbered on from `number`."""

    given: Given
    number: int
    _base: int = field(init=False)
    _held: HeldLines = field(init=False, default_factory=HeldLines)

    def __post_init__(self) -> None:
        """Keep partitions apart."""
        self._base = self.given.partition << PARTITION_BITS

    def lines(self, data: bytes) -> tuple[list[Row], int]:
        """Return the rows of whole elements; a line, or an element of several lines, may go on in what comes next."""
        lines, self.number = self._held.add(data, self.number)
        return self._read(lines, self.given.bad)

    def rest(self) -> tuple[list[Row], int]:
        """Return the rows of what is left, which is whole."""
        lines, self.number = self._held.whole(self.number)
        return self._read(lines, self.given.bad)

    def closed(self) -> tuple[list[Row], int]:
        """Return the rows of what is left when the other side has closed the line; inside of a line it was cut."""
        line = self._held.begun
        says_nothing = line.lstrip()[:1] in ("", "#")
        return self.rest() if says_nothing or reason(line) is None else self.cut()

    def cut(self) -> tuple[list[Row], int]:
        """Return the rows of what is left when the line was cut: an element that may go on is none, and counted."""
        begun, group = self._held.begun, self._held.group
        if group is not None and begun and not f"{group}\t".startswith(begun[: len(group) + 1]):
            self._held.forget_line()
            rows, rejected = self.rest()  # another element had begun behind it
            return rows, rejected + 1
        self._held.forget()
        return [], 1 if begun or group is not None else 0

    def _read(self, lines: list[Numbered], bad: str) -> tuple[list[Row], int]:
        if not lines:
            return [], 0
        tally = Tally()
        reader = _Lines((self.given.url,), self.given.salt, BadLines("skip" if bad == "skip" else "fail"), (*lines,))
        rows = [(t, self._base + seq, s, p, o) for t, seq, s, p, o in reader._rows(tally)]
        return rows, tally.bad

    def element(self, t: Instant, triples: list[Texts]) -> list[Row]:
        """Return the rows of one element."""
        self.number += 1
        return self._rows(self.number, t, triples)

    def _rows(self, number: int, t: Instant, triples: list[Texts] | tuple[Texts, ...]) -> list[Row]:
        seq, salt = self._base + number, self.given.salt

        def scoped(text: str) -> str:
            return skolem(salt, seq, text[2:]) if text[0] == "_" else text

        return [(t, seq, scoped(s), p, scoped(o)) for s, p, o in triples]

    def payload(self, data: bytes) -> list[Row]:
        """Return the rows of a text or document that holds whole elements; raise DataError if one is broken."""
        if self.given.format in (None, TNT):
            held = HeldLines()
            lines, number = held.add(data, self.number)
            more, self.number = held.whole(number)
            return self._read(lines + more, "fail")[0]
        base, rows = self.number, []
        for found in self._elements(cast("IO[bytes]", io.BufferedReader(io.BytesIO(data))), endless=False):
            if isinstance(found, Broken):
                raise DataError(f"{self.given.url}, {found.place}: {found.reason}")
            self.number = max(self.number, base + found.number)
            rows += self._rows(base + found.number, found.t, found.triples)
        return rows

    def renumbered(self, events: pa.Table) -> pa.Table:
        """Return encoded rows with numbers of this log."""
        seq = events.column("seq").to_numpy()
        _, at, inverse = np.unique(seq, return_index=True, return_inverse=True)
        rank = np.empty(len(at), np.int64)
        rank[np.argsort(at, kind="stable")] = np.arange(1, len(at) + 1)
        numbers = pa.array(self._base + self.number + rank[inverse])
        self.number += len(at)
        return events.set_column(events.schema.get_field_index("seq"), "seq", numbers)

    def _elements(self, raw: IO[bytes], *, endless: bool) -> Iterator[Piece | Broken]:
        assert self.given.format is not None
        file = File(self.given.url, raw, self.given.times, endless)
        for found in format_named(self.given.format).read(file):
            yield (beyond(found) or found) if isinstance(found, Piece) else found

    def all_of(self, feed: Feed, log: Log) -> None:
        """Log what comes, as it comes, until it ends; an element that was not whole then is counted as rejected."""
        if self.given.format not in (None, TNT):
            self.pieces(feed, lambda rows, rejected: log(lambda: (rows, rejected)))
            return
        while data := feed.receive(_BYTES):
            log(partial(self.lines, data))
        log(self.cut if feed.cut else self.closed)

    def pieces(self, feed: Feed, take: Take) -> None:
        """Hand over the elements of any format as they come; `take` has all that are whole when more is waited for.

        Where the line is cut, an element that may go on is none, and counted. Raise DataError if what comes can't be
        understood any more, or an element is broken and none may be.
        """
        told = _Told(take)
        base, fails = self.number, self.given.bad == "fail"
        feed.waiting = told.tell
        try:
            for found in self._elements(cast("IO[bytes]", feed), endless=True):
                if feed.cut:
                    told.lose(begun=True) if isinstance(found, Broken) else told.lose(found.number)
                elif isinstance(found, Broken):
                    if fails and feed.failure is None:
                        raise DataError(f"{self.given.url}, {found.place}: {found.reason}")  # noqa: TRY301
                    told.rejected += 1
                else:
                    self.number = max(self.number, base + found.number)
                    if not told.add(found, self._rows(base + found.number, found.t, found.triples)) and fails:
                        raise DataError(f"element {found.number}: {too_long('an element')}")  # noqa: TRY301
        except DataError as error:
            told.lose(begun=True)
            if not feed.ended:
                told.tell()
                raise DataError(f"{self.given.url}: {error}") from None
        if feed.failure is not None:
            raise feed.failure
        if feed.cut:
            told.lose()
        told.end()


@dataclass(slots=True)
class _Told:
    """What has come of elements, until it is handed over; the last one may still go on."""

    take: Take
    rejected: int = 0
    _rows: list[Row] = field(default_factory=list)
    _last: list[Row] = field(default_factory=list)
    _length: int = 0
    """Of the terms of the last one."""
    _open: int | None = None
    _lost: set[int] = field(default_factory=set)
    _too_long: set[int] = field(default_factory=set)

    def add(self, piece: Piece, rows: list[Row]) -> bool:
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
        """Count what was not whole: the element that may go on, one of a number; one at least if one had `begun`."""
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
