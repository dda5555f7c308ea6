"""RDF Messages: logs of datasets in N-Triples, N-Quads, Turtle or TriG, after the draft of the RSP community group.

A log starts with `VERSION "1.2-messages"`; `MESSAGE` or `@message .` ends a message. Each one is an element, blank
nodes are scoped to it, prefixes hold on. Empty messages are kept by the draft, but say nothing to a query.

The draft: https://w3c-cg.github.io/rsp/spec/messages
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import BLANK_NODE_LABEL, shorten
from hydrograph.streams.elements import (
    Broken,
    ElementPiece,
    File,
    Format,
    StreamElement,
    graph_name,
    overlong,
    statement,
)
from hydrograph.streams.event_time import GENERATED, moment_text
from hydrograph.streams.files import ELEMENT_LIMIT, SHOWN, Line, Overlong, open_text
from hydrograph.streams.formats.nquads import quad_of
from hydrograph.streams.graph_elements import Quad, whole_element
from hydrograph.streams.rdf_parsers import TRIG, Complaints, Labels, parse_quads, texts

NAME = "messages"
SYNTAXES = (".nt", ".nq", ".ttl", ".trig")
_BY_LINE = (".nt", ".nq")

_VERSION = re.compile(
    r"""[ \t]*(?:@version|VERSION)[ \t]+(["'])1\.2-messages\1[ \t]*\.?[ \t]*(?:#.*)?""", re.IGNORECASE
)
_BEFORE_VERSION = re.compile(r"[ \t]*(?:#.*|(?:@prefix|@base|PREFIX|BASE)\b.*)?", re.IGNORECASE)
_DELIMITER_LINE = re.compile(r"[ \t]*(?:MESSAGE|@message[ \t]*\.)[ \t]*(?:#.*)?", re.IGNORECASE)
_IN_NAME = r"(?:\\.|[^\s\"'<>#{}\[\]();,@.^\\])"  # a dot may stand inside of a name, and whatever is escaped
_TOKEN = re.compile(
    r"(?P<comment>#[^\r\n]*)"
    r"|(?P<iri><[^\x00-\x20<>\"{}|^`]*>)"
    r"|(?P<long>\"\"\"|''')"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    rf"|(?P<blank>{BLANK_NODE_LABEL})"
    r"|(?P<at>@[A-Za-z][A-Za-z0-9-]*)"
    rf"|(?P<word>{_IN_NAME}(?:{_IN_NAME}|\.+(?={_IN_NAME}))*)"
    r"|(?P<other>[^\s])"
)
_SHOWN = 64 * 1024  # characters of a file in which its version has to stand


def is_log(file: str) -> bool:
    """Tell whether the first line of a file marks it as a log of messages."""
    with open_text(file) as lines:
        for line in io.StringIO(lines.read(_SHOWN)):
            if _VERSION.fullmatch(line.rstrip("\n")):
                return True
            if _BEFORE_VERSION.fullmatch(line.rstrip("\n")) is None:
                return False
    return False


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return an element for each message that is not empty; a message that breaks the grammar is broken as a whole."""
    name = file.name.removesuffix(".gz").removesuffix(".zst")
    split = _split_lines(file.lines()) if name.endswith(_BY_LINE) else _split(file.lines(as_they_are=True))
    syntax = _Lines() if name.endswith(_BY_LINE) else _Trig() if name.endswith(SYNTAXES) else _Either()
    for number, (start, text) in enumerate(split, 1):
        place = f"message {number} at line {start}"
        if isinstance(text, Overlong):
            yield overlong(place, text)
            continue
        try:
            quads = syntax.quads(start, text)
        except DataError as error:
            yield Broken(place, str(error), text)
            continue
        yield from whole_element(file, number, place, quads, named=False, text=text)


@dataclass(slots=True)
class _Message:
    """The part read so far of the message that begins at a line; one that exceeds the limit is dropped at once."""

    start: int
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _lost: bool = False

    def add(self, part: Line) -> Iterator[tuple[int, Line]]:
        """Take in what follows; return what is to be said when the message is too long with it."""
        if self._lost:
            return
        if isinstance(part, str):
            self._parts.append(part)
            self._length += len(part)
            if self._length <= ELEMENT_LIMIT:
                return
            part = Overlong("".join(self._parts)[:SHOWN])
        self._parts, self._lost = [], True
        yield self.start, part

    def end(self) -> Iterator[tuple[int, Line]]:
        """Return it with the number of its first line, unless it was too long."""
        if not self._lost:
            yield self.start, "".join(self._parts)

    def rest(self) -> Iterator[tuple[int, Line]]:
        """Return it at the end of a log, behind whose last delimiter there may be nothing."""
        if self._parts:
            yield from self.end()


def _split_lines(lines: Iterable[tuple[int, Line]]) -> Iterator[tuple[int, Line]]:
    """Return the messages of a log in which every statement is on a line, with the numbers of their first lines."""
    message = _Message(1)
    for number, line in lines:
        if isinstance(line, str) and _DELIMITER_LINE.fullmatch(line.removesuffix("\n")):
            yield from message.end()
            message = _Message(number + 1)
        else:
            yield from message.add(line)
    yield from message.rest()


def _split(lines: Iterable[tuple[int, Line]]) -> Iterator[tuple[int, Line]]:
    """Return the messages of a log in Turtle or TriG, with the numbers of their first lines.

    A delimiter may stand anywhere between statements, and its word in strings, comments and names.
    """
    message, quote = _Message(1), ""
    for number, line in lines:
        if isinstance(line, Overlong):
            raise DataError(line.reason)  # it is unknown whether a string continues behind it
        if not quote and '"""' not in line and "'''" not in line and "message" not in line.lower():
            yield from message.add(line)
            continue
        begin, at, before = 0, 0, ""
        while at < len(line):
            if quote:
                at, quote = _after(line, at, quote)
                before = "string"
                continue
            found = _TOKEN.search(line, at)
            if found is None:
                break
            kind, token, at = str(found.lastgroup), found[0], found.end()
            if kind == "long":
                quote = token
            elif (end := _delimiter(line, kind, token, at, before)) is not None:
                yield from message.add(line[begin : found.start()])
                yield from message.end()
                message, begin, at = _Message(number), end, end
            before = kind
        yield from message.add(line[begin:])
    yield from message.rest()


def _delimiter(line: str, kind: str, token: str, end: int, before: str) -> int | None:
    """Return where a delimiter ends that starts with this token; None if it is none."""
    if kind == "word" and token.upper() == "MESSAGE":
        return end
    if kind == "at" and token.lower() == "@message" and before != "string":  # behind a string it is a language
        dot = re.compile(r"\s*\.").match(line, end)
        if dot is None:
            raise DataError(f"expected @message and a dot, got {shorten(line.strip())}")
        return dot.end()
    return None


def _after(line: str, at: int, quote: str) -> tuple[int, str]:
    """Return where a long string ends in this line, and the quotes that are still open there."""
    while at < len(line):
        if line[at] == "\\":
            at += 2
        elif line.startswith(quote, at):
            at += len(quote)
            while at < len(line) and line[at] == quote[0]:  # quotes before the last three belong to the string
                at += 1
            return at, ""
        else:
            at += 1
    return at, quote


@dataclass(frozen=True, slots=True)
class _Lines:
    """Messages in N-Triples or N-Quads."""

    def quads(self, start: int, text: str) -> list[Quad]:
        """Return what a message holds."""
        found = []
        for number, line in enumerate(text.split("\n"), start):
            if _VERSION.fullmatch(line):
                continue
            try:
                quad = quad_of(line)
            except DataError as error:
                raise DataError(f"line {number}, {error}") from None
            if quad is not None:
                found.append(quad)
        return found


@dataclass(slots=True)
class _Trig:
    """Messages in TriG, of which Turtle is a part; prefixes and base hold on."""

    prefixes: dict[str, str] = field(default_factory=dict)
    base: str | None = None

    def quads(self, start: int, text: str) -> list[Quad]:
        """Return what a message holds."""
        head = "".join(f"@prefix {name}: <{iri}> . " for name, iri in self.prefixes.items())
        labels = Labels()
        with Complaints(start - 2):
            parser = parse_quads(f"{head}\n{text}".encode("utf-8", "surrogateescape"), TRIG, self.base)
            found = [texts(quad, labels) for quad in parser]
            self.prefixes |= parser.prefixes
            self.base = parser.base_iri
        return found


@dataclass(slots=True)
class _Either:
    """Messages of something that has no name to tell their syntax: TriG, or else N-Quads, which is no part of it."""

    trig: _Trig = field(default_factory=_Trig)

    def quads(self, start: int, text: str) -> list[Quad]:
        """Return what a message holds."""
        try:
            return self.trig.quads(start, text)
        except DataError as error:
            try:
                return _Lines().quads(start, text)
            except DataError:
                raise error from None


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write a log in N-Quads: in each message a graph, and the triple with its time."""
    out.write(b'VERSION "1.2-messages"\n')
    for position, element in enumerate(elements):
        graph = graph_name(element)
        out.write(b"MESSAGE\n" if position else b"")
        out.write(f"{graph} {GENERATED} {moment_text(element.t)} .\n".encode())
        out.write("".join(f"{statement(triple, graph)}\n" for triple in element.triples).encode())


FORMAT = Format(NAME, "RDF Messages", SYNTAXES, read, write, written=".nq")
