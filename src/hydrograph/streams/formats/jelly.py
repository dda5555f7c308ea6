"""[Jelly](https://w3id.org/jelly): binary frames; each is an element, or all of a flat stream is a file of graphs."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, cast

from hydrograph.errors import DataError
from hydrograph.rdf.encoding import decode
from hydrograph.rdf.nquads import parse_term, shorten, term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import XSD_STRING
from hydrograph.streams.elements import Broken, ElementPiece, File, Format, StreamElement, graph_name
from hydrograph.streams.event_time import GENERATED, moment_text
from hydrograph.streams.files import ELEMENT_LIMIT
from hydrograph.streams.graph_elements import DEFAULT, Quad, file_of_graphs, labels_of, whole_element
from hydrograph.streams.rdf_parsers import Labels

if TYPE_CHECKING:
    from pyjelly.parse.decode import ParserOptions


FRAME_LIMIT = 256 * 1024 * 1024
"""The longest frame of a file; of a stream without end it is that of an element."""


def read(file: File) -> Iterator[ElementPiece | Broken]:
    """Return the elements of a file; what is broken in a frame breaks all that follow, and stops the reading."""
    options, frames = _frames(file)
    if options is None:
        return
    if options.stream_types.flat:
        labels = labels_of(file)
        statements = chain.from_iterable(_checked(frames))
        yield from file_of_graphs(file, (_quad(each, labels) for each in statements))
        return
    for number, frame in enumerate(_checked(frames), 1):
        labels = Labels()
        yield from whole_element(file, number, f"frame {number}", (_quad(each, labels) for each in frame), named=False)


def _frames(file: File) -> tuple[ParserOptions | None, Iterator[list[Any]]]:
    """Return the stream options, and the statements of each frame; without any frame there is nothing to return."""
    from pyjelly import jelly
    from pyjelly.integrations.generic.generic_sink import Prefix
    from pyjelly.integrations.generic.parse import parse_quads_stream, parse_triples_stream
    from pyjelly.parse.decode import options_from_frame
    from pyjelly.parse.ioutils import delimited_jelly_hint

    raw = file.raw
    if not hasattr(raw, "peek"):
        raw = cast("IO[bytes]", io.BufferedReader(cast("io.RawIOBase", raw)))
    delimited = delimited_jelly_hint(raw.peek(3)[:3])  # type: ignore[attr-defined]
    limit = ELEMENT_LIMIT if file.endless else FRAME_LIMIT
    parts = _delimited(raw, limit) if delimited else filter(None, iter([_only(raw, limit if file.endless else None)]))
    with _Complaints():
        frames = (jelly.RdfStreamFrame.FromString(part) for part in parts)
        empty = []
        for first in frames:
            if first.rows:
                break
            empty.append(first)
        else:
            return None, iter(())
        options = options_from_frame(first, delimited=delimited)
    triples = options.stream_types.physical_type == jelly.PHYSICAL_STREAM_TYPE_TRIPLES
    parse = parse_triples_stream if triples else parse_quads_stream
    return options, (
        [each for each in frame if not isinstance(each, Prefix)]
        for frame in parse(frames=chain(empty, [first], frames), options=options)
    )


def _only(raw: IO[bytes], limit: int | None) -> bytes:
    """Return the bytes of a frame that is all there is."""
    part = raw.read(-1 if limit is None else limit + 1)
    if limit is not None and len(part) > limit:
        raise _long_frame(limit)
    return part


def _long_frame(limit: int) -> DataError:
    return DataError(f"expected frames of at most {limit} bytes, got one of more: is this Jelly?")


def _delimited(raw: IO[bytes], limit: int) -> Iterator[bytes]:
    """Return the bytes of length-prefixed frames."""
    while True:
        length = shift = 0
        while True:
            byte = raw.read(1)
            if not byte:
                if shift:
                    raise DataError("expected a frame, got the end of the file inside its length")
                return
            length |= (byte[0] & 0x7F) << shift
            shift += 7
            if byte[0] < 0x80:  # the last byte of a number
                break
            if length > limit:
                break
        if length > limit:
            raise _long_frame(limit)
        part = raw.read(length)
        if len(part) < length:
            raise DataError(f"expected a frame of {length} bytes, got the end of the file after {len(part)}")
        yield part


def _checked(frames: Iterator[list[Any]]) -> Iterator[list[Any]]:
    while True:
        with _Complaints():
            frame = next(frames, None)
        if frame is None:
            return
        yield frame


class _Complaints:
    """Turns what the library raises at broken bytes, its own errors and Python's, into DataError."""

    def __enter__(self) -> None:
        """Do nothing yet."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Raise DataError in place of what the library raised."""
        from google.protobuf.message import DecodeError
        from pyjelly.errors import JellyConformanceError

        broken = (AssertionError, LookupError, NotImplementedError, TypeError, UnicodeError, ValueError)
        if isinstance(error, (DecodeError, JellyConformanceError, *broken)):
            words = str(error).strip() or type(error).__name__
            raise DataError(f"expected a stream in Jelly, got: {shorten(words, 200)}") from None


def _quad(found: Any, labels: Labels) -> Quad:
    graph = _text(found.g, labels) if len(found) > _TRIPLE else DEFAULT
    return graph, _text(found.s, labels), _text(found.p, labels), _text(found.o, labels)


_TRIPLE = 3


def _text(term: Any, labels: Labels) -> str:
    """Return the canonical text of a term; Jelly checks none of its parts, so we do."""
    from pyjelly.integrations.generic import generic_sink

    match term:
        case generic_sink.IRI():
            return _legal(f"<{term._iri}>")
        case generic_sink.BlankNode():
            return labels(term._identifier)
        case generic_sink.Literal() if term._langtag:
            return _legal(term_text(Literal.tagged(term._lex, term._langtag)))
        case generic_sink.Literal():
            return _legal(term_text(Literal(term._lex, term._datatype or XSD_STRING)))
        case _ if term is generic_sink.DefaultGraph:
            return DEFAULT
        case _:
            raise DataError(f"expected an IRI, a blank node or a literal, got the triple term {term}")


@lru_cache(65_536)
def _legal(text: str) -> str:
    """Return a text, or raise DataError if it is no term."""
    parse_term(text)
    return text


def write(out: IO[bytes], elements: Iterable[StreamElement]) -> None:
    """Write a frame for each element: a dataset with one graph, and the triple with its time."""
    from pyjelly import jelly
    from pyjelly.integrations.generic.generic_sink import DefaultGraph, GenericStatementSink
    from pyjelly.integrations.generic.generic_sink import Quad as Statement
    from pyjelly.integrations.generic.serialize import grouped_stream_to_file
    from pyjelly.serialize.streams import SerializerOptions

    def frames() -> Iterator[GenericStatementSink]:
        for element in elements:
            sink = GenericStatementSink()
            name = _term(graph_name(element))
            sink.add(Statement(name, _term(GENERATED), _term(moment_text(element.t)), DefaultGraph))
            for s, p, o in element.triples:
                sink.add(Statement(_term(s), _term(p), _term(o), name))
            yield sink

    options = SerializerOptions(logical_type=jelly.LOGICAL_STREAM_TYPE_DATASETS)
    grouped_stream_to_file(frames(), out, options=options)


def _term(text: str) -> Any:
    from pyjelly.integrations.generic import generic_sink

    match decode(text):
        case Iri(value):
            return generic_sink.IRI(value)
        case BlankNode(label):
            return generic_sink.BlankNode(label)
        case Literal(lexical, datatype, language):
            plain = language is not None or datatype == XSD_STRING
            return generic_sink.Literal(lexical, language, None if plain else datatype)


FORMAT = Format("jelly", "Jelly", (".jelly",), read, write)
