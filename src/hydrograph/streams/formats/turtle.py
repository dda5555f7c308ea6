"""Turtle and N-Triples: each file is an element, and its time is in it or in the file's name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from hydrograph.errors import DataError
from hydrograph.streams.elements import Broken, ElementPiece, File, Format, StreamElement, statement
from hydrograph.streams.files import ELEMENT_LIMIT, too_long
from hydrograph.streams.graph_elements import Quad, whole_element
from hydrograph.streams.rdf_parsers import TURTLE, quads


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return the element of a file; a broken one is a broken element."""
    try:
        parsed = quads(file.raw, TURTLE)  # N-Triples are Turtle
        found = list(_limited(parsed) if file.endless else parsed)
    except DataError as error:
        if file.endless:
            raise  # what follows is no other element
        yield Broken("the file", str(error), "")
        return
    yield from whole_element(file, 1, "the file", found)


def _limited(found: Iterator[Quad]) -> Iterator[Quad]:
    """Return the quads of an element; raise DataError if it is longer than it may be."""
    length = 0
    for quad in found:
        length += sum(map(len, quad))
        if length > ELEMENT_LIMIT:
            raise DataError(too_long("an element"))
        yield quad


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write the triples of the one element there is; the name of the file holds its time."""
    for element in elements:
        out.write("".join(f"{statement(triple)}\n" for triple in element.triples).encode())


FORMAT = Format("turtle", "Turtle files, one for each element", (".ttl", ".nt"), read, write, one_each=True)
