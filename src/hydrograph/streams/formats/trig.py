"""TriG: each named graph is an element, the default graph holds its event time (A10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from hydrograph.streams.elements import (
    Broken,
    ElementPiece,
    File,
    Format,
    StreamElement,
    graph_name,
    scope_blank_nodes,
    statement,
)
from hydrograph.streams.event_time import GENERATED, moment_text
from hydrograph.streams.graph_elements import file_of_graphs, labels_of
from hydrograph.streams.rdf_parsers import TRIG, quads


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return the elements of a file."""
    return file_of_graphs(file, quads(file.raw, TRIG, labels_of(file)))


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write each element as a graph, behind the triple with its time."""
    for element in elements:
        graph = graph_name(element)
        out.write(f"{graph} {GENERATED} {moment_text(element.t)} .\n{graph} {{\n".encode())
        out.write("".join(f"  {statement(triple)}\n" for triple in scope_blank_nodes(element)).encode())
        out.write(b"}\n")


FORMAT = Format("trig", "TriG", (".trig",), read, write)
