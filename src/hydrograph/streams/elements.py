"""Elements of stream files, and the reader that all formats share: a format defines only parsing and writing.

A reader returns pieces of elements, and broken input as a value; the bad-line policy is applied here.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

import pyarrow as pa

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import skolem
from hydrograph.rdf.nquads import shorten
from hydrograph.streams.bad_lines import BadLines, ReadCounts
from hydrograph.streams.event_time import EventTime, Texts
from hydrograph.streams.files import Line, Overlong, number_lines, open_binary
from hydrograph.streams.schema import BATCH, EVENTS, FILE_BITS, Row, check_limits, encode_events
from hydrograph.temporal import Instant


@dataclass(frozen=True, slots=True)
class File:
    """A file that is being read."""

    name: str
    raw: IO[bytes]
    times: EventTime
    endless: bool = False
    """Whether it comes as it is made, and may never end: what is known of it cannot grow with it."""

    def lines(self, *, as_they_are: bool = False) -> Iterator[tuple[int, Line]]:
        """Return the lines with their numbers; bytes that are no UTF-8 become surrogates.

        A line that exceeds the length limit becomes an `Overlong`.
        Any of LF, CR and CR LF ends a line and becomes LF; `as_they_are` leaves all of them, and only LF ends a line.
        """
        end = "\n" if as_they_are else None
        text = io.TextIOWrapper(self.raw, "utf-8-sig", errors="surrogateescape", newline=end)
        try:
            yield from number_lines(text)
        finally:
            if not self.raw.closed:
                text.detach()  # the caller closes the file


@dataclass(frozen=True, slots=True)
class ElementPiece:
    """Triples of the element with this number in its file; blank nodes have the labels they have there.

    An element may come in several pieces, but the time of all of them is the same.
    """

    number: int
    t: Instant
    triples: tuple[Texts, ...]
    goes_on: bool = False
    """Whether more of its element may follow."""


@dataclass(frozen=True, slots=True)
class Broken:
    """Broken input: its place, the reason, and its text."""

    place: str
    reason: str
    text: str


def overlong(place: str, line: Overlong) -> Broken:
    """Return the broken input for a line, or an element, that exceeds the length limit."""
    return Broken(place, line.reason, "")


@dataclass(frozen=True, slots=True)
class StreamElement:
    """An element to be written: its number in the stream from 1, its time and its triples."""

    number: int
    t: Instant
    triples: tuple[Texts, ...]


Reader = Callable[[File], Iterator[ElementPiece | Broken]]
Writer = Callable[[IO[bytes], Iterable[StreamElement]], None]


@dataclass(frozen=True, slots=True)
class Format:
    """A form in which files hold elements."""

    name: str
    title: str
    endings: tuple[str, ...]
    """How the names of its files end; .gz and .zst may follow."""
    read: Reader
    write: Writer | None = None
    written: str | None = None
    """The ending of what is written, where that is one of several syntaxes."""
    one_each: bool = False
    """Whether each file is one element; such a stream is written as a directory of files."""
    only_triples: bool = False
    """Whether it knows no elements of several triples, and no blank nodes; they become several elements."""


@dataclass(frozen=True, slots=True)
class ElementReader:
    """Reads the rows of files of one format, in the order of the files."""

    format: Format
    files: tuple[str, ...]
    salt: str
    times: EventTime = field(default_factory=EventTime)
    bad_lines: BadLines = field(default_factory=BadLines)

    def batches(self, tally: ReadCounts | None = None) -> pa.RecordBatchReader:
        """Return the rows in the encoded schema, without `t_next`."""
        return pa.RecordBatchReader.from_batches(EVENTS, self._batches(tally or ReadCounts()))

    def _batches(self, tally: ReadCounts) -> Iterator[pa.RecordBatch]:
        rows: list[Row] = []
        with self.bad_lines.quarantine() as quarantine:
            for index, name in enumerate(self.files):
                for found in self._read(name):
                    problem = found if isinstance(found, Broken) else check_limits_of(found)
                    if problem is not None:
                        self._refuse(name, problem, tally, quarantine)
                    elif isinstance(found, ElementPiece):
                        rows.extend(self._rows(index, found, tally))
                    if len(rows) >= BATCH:
                        yield encode_events(rows)
                        rows = []
        if rows:
            yield encode_events(rows)

    def _read(self, name: str) -> Iterator[ElementPiece | Broken]:
        with open_binary(name) as raw:
            found = self.format.read(File(name, raw, self.times))
            while True:
                try:
                    each = next(found, None)
                except DataError as error:
                    raise DataError(f"{name}: {error}") from None
                if each is None:
                    return
                yield each

    def _rows(self, index: int, piece: ElementPiece, tally: ReadCounts) -> Iterator[Row]:
        seq = (index << FILE_BITS) + piece.number
        tally.lines += len(piece.triples)
        tally.grouped = True
        for s, p, o in piece.triples:
            if s[0] == "_" or o[0] == "_":
                tally.blanks = True
                subject = skolem(self.salt, seq, s[2:]) if s[0] == "_" else s
                yield piece.t, seq, subject, p, skolem(self.salt, seq, o[2:]) if o[0] == "_" else o
            else:
                yield piece.t, seq, s, p, o

    def _refuse(self, name: str, broken: Broken, tally: ReadCounts, quarantine: IO[bytes] | None) -> None:
        tally.bad += 1
        if self.bad_lines.action == "fail":
            shown = f", in: {shorten(broken.text.strip(), 120)}" if broken.text else ""
            raise DataError(f"{name}, {broken.place}: {broken.reason}{shown}")
        if quarantine is not None and broken.text:
            quarantine.write(broken.text.rstrip("\n").encode("utf-8", "surrogateescape") + b"\n")


def check_limits_of(piece: ElementPiece) -> Broken | None:
    """Return the broken input for a piece with a term that exceeds its length limit; None for all others."""
    try:
        for texts in piece.triples:
            check_limits(*texts)
    except DataError as error:
        return Broken(f"element {piece.number}", str(error), "")
    return None


def statement(triple: Texts, graph: str = "") -> str:
    """Return a line of N-Triples, or of N-Quads where a graph is given."""
    return f"{' '.join(triple)} {graph} ." if graph else f"{' '.join(triple)} ."


def scope_blank_nodes(element: StreamElement) -> Iterator[Texts]:
    """Return the triples of an element with labels of blank nodes that no other element has."""
    start = f"_:e{element.number}x"
    for s, p, o in element.triples:
        yield (
            start + s[2:] if s[0] == "_" else s,
            p,
            start + o[2:] if o[0] == "_" else o,
        )


def graph_name(element: StreamElement) -> str:
    """Return a name for the graph of an element, where a format wants one."""
    return f"<urn:hydrograph:element:{element.number}>"
