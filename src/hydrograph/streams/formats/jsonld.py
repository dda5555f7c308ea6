"""JSON-LD: a file of named graphs, or one element; and NDJSON-LD: each line is a document and an element.

Only contexts that stand in the text are read, nothing is fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import IO

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.elements import (
    Broken,
    ElementPiece,
    File,
    Format,
    StreamElement,
    graph_name,
    overlong,
    scope_blank_nodes,
)
from hydrograph.streams.event_time import GENERATED, Texts, moment_text
from hydrograph.streams.files import Overlong
from hydrograph.streams.graph_elements import file_of_graphs, labels_of, whole_element
from hydrograph.streams.rdf_parsers import JSON_LD, Labels, quads

_REMOTE = "LoadDocumentCallback"


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return the elements of a document."""
    return file_of_graphs(file, _quads(file.raw, labels_of(file)))


def read_lines(file: File) -> Iterator[ElementPiece | Broken]:
    """Return the elements of lines of documents; a line that is not an object, or holds no triples, is broken."""
    for number, line in file.lines():
        place = f"line {number}"
        if isinstance(line, Overlong):
            yield overlong(place, line)
            continue
        if line.isspace():
            continue
        try:
            found = list(_quads(line.strip().encode("utf-8", "surrogateescape")))
        except DataError as error:
            yield Broken(place, str(error).removeprefix("line 1, "), line)
            continue
        if not found and line.strip() != "{}":  # an empty message is none of our business
            yield Broken(place, "expected a JSON-LD object with triples, got none: no context, or relative IRIs", line)
            continue
        yield from whole_element(file, number, place, found, named=False, text=line)


def _quads(source: IO[bytes] | bytes, labels: Labels | None = None) -> Iterator[tuple[str, str, str, str]]:
    try:
        yield from quads(source, JSON_LD, labels)
    except DataError as error:
        if _REMOTE in str(error):
            raise DataError(
                "expected a context in the text itself, got the address of one: nothing is fetched"
            ) from None
        raise


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write one document: a list of named graphs with their times."""
    out.write(b"[")
    for position, element in enumerate(elements):
        out.write(b",\n" if position else b"\n")
        out.write(_document(element, scope_blank_nodes(element)).encode())
    out.write(b"\n]\n")


def write_lines(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write a line for each element: a named graph with its time."""
    for element in elements:
        out.write(_document(element, element.triples).encode() + b"\n")


def _document(element: StreamElement, triples: Iterable[Texts]) -> str:
    nodes = [{"@id": _name(s), _name(p): [_value(o)]} for s, p, o in triples]
    named = {"@id": _name(graph_name(element)), _name(GENERATED): [_value(moment_text(element.t))], "@graph": nodes}
    return json.dumps(named, ensure_ascii=False, separators=(",", ":"))


def _name(text: str) -> str:
    return text if text.startswith("_:") else text[1:-1]


def _value(text: str) -> dict[str, str]:
    match decode(text):
        case Iri(value):
            return {"@id": value}
        case BlankNode(label):
            return {"@id": f"_:{label}"}
        case Literal(lexical, datatype, language):
            if language is not None:
                return {"@value": lexical, "@language": language}
            return {"@value": lexical} if datatype == XSD_STRING else {"@value": lexical, "@type": datatype}


FORMAT = Format("jsonld", "JSON-LD", (".jsonld",), read, write)
LINES = Format("ndjsonld", "NDJSON-LD", (".ndjsonld",), read_lines, write_lines)
