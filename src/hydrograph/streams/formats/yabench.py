"""The stream files of YABench: lines `<s> <p> <o> "ms" .`, in which numbers may be unquoted.

A line is an element, as the engines under test are fed triple by triple. In the stream that YABench published of
CSRBench lines have no dot and datatypes no brackets; both are optional here, as for its own reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import IRIREF, OBJECT, canonical_texts
from hydrograph.streams.elements import Broken, ElementPiece, File, Format, StreamElement, overlong, statement
from hydrograph.streams.event_time import Texts
from hydrograph.streams.files import Overlong

_TIME = r'[ \t]+"(-?[0-9]{1,18})"[ \t]*(?:\.[ \t]*)?'
_LINE = re.compile(rf"[ \t]*({IRIREF})[ \t]+({IRIREF})[ \t]+({OBJECT}){_TIME}")
_BARE = re.compile(rf'[ \t]*({IRIREF})[ \t]+({IRIREF})[ \t]+([^\s"<>^]+)\^\^({IRIREF}|[^\s"<>]+){_TIME}')
_DATATYPE = re.compile(IRIREF)


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return an element for each line."""
    return timed_lines(file, _line)


def timed_lines(file: File, parse: LineParser) -> Iterator[ElementPiece | Broken]:
    """Return an element for each line, of which `parse` gives time and triple."""
    for number, line in file.lines():
        if isinstance(line, Overlong):
            yield overlong(f"line {number}", line)
            continue
        text = line.removesuffix("\n")
        if not text or text.isspace():
            continue
        if file.endless and text == line:  # of a line that was cut the rest may be missing, also of its time
            yield Broken(f"line {number}", "expected a line, got a part of one", text)
            continue
        try:
            t, triple = parse(text)
        except DataError as error:
            yield Broken(f"line {number}", str(error), text)
            continue
        yield ElementPiece(number, t, (triple,))


def _line(text: str) -> tuple[int, Texts]:
    found = _LINE.fullmatch(text)
    if found is not None:
        s, p, o, time = found.groups()
        return int(time), canonical_texts(s, p, o, text)
    bare = _BARE.fullmatch(text)
    if bare is None:
        raise DataError("expected subject, predicate, object, the time in ms in quotes, and maybe a dot")
    s, p, lexical, datatype, time = bare.groups()
    bracketed = datatype if datatype[0] == "<" else f"<{datatype}>"
    if _DATATYPE.fullmatch(bracketed) is None:
        raise DataError(f"expected the IRI of a datatype, got {datatype}")
    return int(time), canonical_texts(s, p, f'"{lexical}"^^{bracketed}', text)


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write a line for each triple."""
    for element in elements:
        for triple in named_only(element):
            out.write(f'{statement(triple)[:-1]}"{element.t}" .\n'.encode())


def named_only(element: StreamElement) -> tuple[Texts, ...]:
    """Return the triples of an element, or raise DataError if it has blank nodes: across lines they have no meaning."""
    for s, _, o in element.triples:
        if s[0] == "_" or o[0] == "_":
            raise DataError(f"element {element.number} has blank nodes, which this format cannot keep")
    return element.triples


LineParser = Callable[[str], tuple[int, Texts]]
FORMAT = Format("yabench", "YABench's stream file", (".yabench",), read, write, only_triples=True)
