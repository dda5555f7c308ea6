"""The stream files of Stream WatDiv: `subject TAB predicate TAB object TAB ms`, IRIs without their angle brackets.

A line is an element, as the engines under test are fed triple by triple.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import IO

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import parse_term, term_text
from hydrograph.streams.elements import Broken, ElementPiece, File, Format, StreamElement
from hydrograph.streams.event_time import Texts
from hydrograph.streams.formats.yabench import named_only, timed_lines

_COLUMNS = 4
_TIME = re.compile(r"-?[0-9]{1,18}")


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return an element for each line."""
    return timed_lines(file, _line)


def _line(text: str) -> tuple[int, Texts]:
    columns = text.split("\t")
    if len(columns) != _COLUMNS or _TIME.fullmatch(columns[3].strip()) is None:
        raise DataError("expected subject, predicate, object and the time in ms, with tabs between them")
    s, p, o = (term_text(parse_term(_quoted(column.strip(" ")))) for column in columns[:3])
    if s[0] == '"' or p[0] != "<":
        raise DataError("expected IRIs as subject and predicate")
    return int(columns[3]), (s, p, o)


def _quoted(text: str) -> str:
    """Return a term with the angle brackets that the format leaves away."""
    return text if text.startswith(('"', "<")) else f"<{text}>"


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write a line for each triple; a tab inside a literal is escaped."""
    for element in elements:
        for triple in named_only(element):
            terms = (text[1:-1] if text[0] == "<" else text.replace("\t", "\\t") for text in triple)
            out.write(("\t".join((*terms, str(element.t))) + "\n").encode())


FORMAT = Format("watdiv", "Stream WatDiv's stream file", (".watdiv",), read, write, only_triples=True)
