"""What pyoxigraph parses, as canonical texts, and its complaints in our words.

Nothing reaches it that is nested so deep that it would take very long, or the process with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, cast

import pyoxigraph as ox

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import shortened, term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term
from hydrograph.streams import nesting

TURTLE, TRIG, N_TRIPLES, JSON_LD = (
    ox.RdfFormat.TURTLE,
    ox.RdfFormat.TRIG,
    ox.RdfFormat.N_TRIPLES,
    ox.RdfFormat.JSON_LD,
)

BUFFER = 16 * 1024 * 1024
"""Bytes that pyoxigraph keeps of a term, which is parsed when it is whole."""
_FULL = f"buffer maximal size of {BUFFER}"
_PLACE = re.compile(r"^Parser error at [^:]*: | \(line [0-9]+\)$")


@dataclass(slots=True)
class Labels:
    """New labels for blank nodes, by the order of their appearance: those that a parser makes up are random."""

    numbers: dict[str, int] = field(default_factory=dict)
    most: int | None = None
    """How many are remembered; one that comes again later is new."""
    _count: int = 0

    def __call__(self, label: str) -> str:
        """Return the text of the blank node with this label."""
        number = self.numbers.get(label)
        if number is None:
            number = self.numbers[label] = self._count
            self._count += 1
            if self.most is not None and len(self.numbers) > self.most:
                del self.numbers[next(iter(self.numbers))]
        return f"_:b{number}"


def parsed(source: IO[bytes] | bytes, syntax: ox.RdfFormat, base: str | None = None) -> ox.QuadParser:
    """Return a parser that gives quads; use it inside `Complaints`. What is nested too deep raises DataError."""
    grammar = nesting.JSON if syntax == JSON_LD else nesting.TURTLE
    if isinstance(source, bytes):
        nesting.check(source, grammar)
    else:
        source = cast("IO[bytes]", nesting.Guarded(source, nesting.Nesting(grammar)))
    return ox.parse(source, format=syntax, base_iri=base)


def quads(
    source: IO[bytes] | bytes, syntax: ox.RdfFormat, blank: Callable[[str], str] | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """Return the canonical texts of graph and triple of each quad; `blank` gives the text of a blank node."""
    blank = Labels() if blank is None else blank
    with Complaints():
        for quad in parsed(source, syntax):
            yield texts(quad, blank)


def texts(quad: ox.Quad, blank: Callable[[str], str]) -> tuple[str, str, str, str]:
    """Return the canonical texts of graph, empty for the default graph, and triple."""
    graph = quad.graph_name
    return (
        "" if isinstance(graph, ox.DefaultGraph) else text(graph, blank),
        text(quad.subject, blank),
        text(quad.predicate, blank),
        text(quad.object, blank),
    )


def text(term: object, blank: Callable[[str], str]) -> str:
    """Return the canonical text of a term."""
    if isinstance(term, ox.NamedNode):
        return f"<{term.value}>"
    if isinstance(term, ox.BlankNode):
        return blank(term.value)
    if isinstance(term, ox.Literal) and term.language is None:  # by far the most of the others
        return term_text(Literal(term.value, term.datatype.value))
    return term_text(term_of(term))


def term_of(term: object) -> Term:
    """Return one of pyoxigraph's terms as ours; raise DataError for what RDF 1.1 does not have."""
    match term:
        case ox.NamedNode():
            return Iri(term.value)
        case ox.BlankNode():
            return BlankNode(term.value)
        case ox.Literal() if term.direction is not None:
            raise DataError(f"expected a literal of RDF 1.1, got one with a base direction: {term}")
        case ox.Literal() if term.language:
            return Literal.tagged(term.value, term.language)
        case ox.Literal():
            return Literal(term.value, term.datatype.value)
        case _:
            raise DataError(f"expected an IRI, a blank node or a literal, got the triple term {term}")


@dataclass(frozen=True, slots=True)
class Complaints:
    """Turns a parser's errors into DataError with the line, counted on from `before`, and the column."""

    before: int = 0

    def __enter__(self) -> None:
        """Do nothing yet."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Raise DataError in place of what a parser raised."""
        if isinstance(error, SyntaxError):
            words = shortened(_PLACE.sub("", error.msg), 300)
            place = f"line {self.before + error.lineno}, column {error.offset}: " if error.lineno else ""
            raise DataError(f"{place}{words}") from None
        if isinstance(error, ValueError):
            raise DataError(shortened(str(error), 300)) from None
        if isinstance(error, MemoryError) and _FULL in str(error):  # the parser's own limit, and no lack of memory
            raise DataError(
                f"expected terms of at most {BUFFER >> 20} MiB, got a longer one: does it ever end?"
            ) from None
