"""TriG: each named graph is an element, the default graph says when it happened (A10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from hydrograph.streams.datasets import file_of_graphs, labels_of
from hydrograph.streams.elements import Broken, Element, File, Format, Piece, graph_name, scoped, statement
from hydrograph.streams.event_time import GENERATED, moment_text
from hydrograph.streams.parsers import TRIG, quads


def read(file: File) -> Iterator[Piece | Broken]:
    """Return the elements of a file."""
    return file_of_graphs(file, quads(file.raw, TRIG, labels_of(file)))


def write(out: IO[bytes], elements: Iterable[Element]) -> None:
    """Write each element as a graph, behind the triple that says its time."""
    for element in elements:
        graph = graph_name(element)
        out.write(f"{graph} {GENERATED} {moment_text(element.t)} .\n{graph} {{\n".encode())
        out.write("".join(f"  {statement(triple)}\n" for triple in scoped(element)).encode())
        out.write(b"}\n")


FORMAT = Format("trig", "TriG", (".trig",), read, write)
