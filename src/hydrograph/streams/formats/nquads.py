"""N-Quads, line by line: each named graph is an element, the default graph holds its event time (A10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import IO

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import split_quad
from hydrograph.streams.elements import (
    Broken,
    ElementPiece,
    File,
    Format,
    StreamElement,
    graph_name,
    overlong,
    scope_blank_nodes,
    statement,
)
from hydrograph.streams.event_time import GENERATED, moment_text
from hydrograph.streams.files import Overlong
from hydrograph.streams.graph_elements import Quad as Texts
from hydrograph.streams.graph_elements import file_of_graphs

NAME = "nquads"


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return the elements of a file; broken lines are values, in the order in which they are met."""
    broken: list[Broken] = []
    for found in file_of_graphs(file, lines(file, broken.append)):
        yield from broken
        broken.clear()
        yield found
    yield from broken


def lines(file: File, refuse: Callable[[Broken], None]) -> Iterator[Texts]:
    """Return the quads of lines of N-Quads; `refuse` is told of broken ones."""
    for number, line in file.lines():
        if isinstance(line, Overlong):
            refuse(overlong(f"line {number}", line))
            continue
        try:
            quad = quad_of(line.removesuffix("\n"))
        except DataError as error:
            refuse(Broken(f"line {number}", str(error), line))
            continue
        if quad is not None:
            yield quad


def quad_of(line: str) -> Texts | None:
    """Return the quad of one line, None if it is blank or a comment; raise DataError if it is broken."""
    if not line or line.isspace() or line.lstrip(" \t").startswith("#"):
        return None
    s, p, o, graph = split_quad(line)
    return graph, s, p, o


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write each element as a graph, behind the line with its time."""
    for element in elements:
        graph = graph_name(element)
        out.write(f"{graph} {GENERATED} {moment_text(element.t)} .\n".encode())
        out.write("".join(f"{statement(triple, graph)}\n" for triple in scope_blank_nodes(element)).encode())


FORMAT = Format(NAME, "N-Quads", (".nq",), read, write)
