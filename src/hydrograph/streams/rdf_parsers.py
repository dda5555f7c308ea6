"""RDF parsers of pyoxigraph: quads as canonical texts, errors as DataError, and a guard against deep nesting.

Parsers of full grammars call themselves for each bracket. Triple terms nested ten thousand deep end the process, and
the time of JSON-LD grows with the square of the depth. The guard rejects a text before the parser sees its depth.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import IO, cast

import pyoxigraph as ox

from hydrograph.errors import DataError
from hydrograph.rdf.nquads import shorten, term_text
from hydrograph.rdf.terms import BlankNode, Iri, Literal, Term

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


def parse_quads(source: IO[bytes] | bytes, syntax: ox.RdfFormat, base: str | None = None) -> ox.QuadParser:
    """Return a parser that gives quads; use it inside `Complaints`. What is nested too deep raises DataError."""
    grammar = JSON_BRACKETS if syntax == JSON_LD else TURTLE_BRACKETS
    if isinstance(source, bytes):
        check_nesting(source, grammar)
    else:
        source = cast("IO[bytes]", NestingGuard(source, Nesting(grammar)))
    return ox.parse(source, format=syntax, base_iri=base)


def quads(
    source: IO[bytes] | bytes, syntax: ox.RdfFormat, blank: Callable[[str], str] | None = None
) -> Iterator[tuple[str, str, str, str]]:
    """Return the canonical texts of graph and triple of each quad; `blank` gives the text of a blank node."""
    blank = Labels() if blank is None else blank
    with Complaints():
        for quad in parse_quads(source, syntax):
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
            words = shorten(_PLACE.sub("", error.msg), 300)
            place = f"line {self.before + error.lineno}, column {error.offset}: " if error.lineno else ""
            raise DataError(f"{place}{words}") from None
        if isinstance(error, ValueError):
            raise DataError(shorten(str(error), 300)) from None
        if isinstance(error, MemoryError) and _FULL in str(error):  # the parser's own limit, and no lack of memory
            raise DataError(
                f"expected terms of at most {BUFFER >> 20} MiB, got a longer one: does it ever end?"
            ) from None


DEEPEST = 100
"""Limit of nested brackets; text written by people, and for their programs, stays below ten."""
DEEPEST_TRIPLE_TERM = 8
"""How many `<<` may; RDF 1.1 has none, and what reads a triple term refuses it."""

PIECE = 1 << 16
"""Bytes that are looked at together."""
_UNCLEAR = 2
"""Bytes at the end of a piece that may be the beginning of several tokens, as `""` is of two."""
_STEPS = {b"[": 1, b"(": 1, b"{": 1, b"<<": 1, b"]": -1, b")": -1, b"}": -1, b">>": -1}
_NO_MARKS = bytes(byte for byte in range(256) if byte not in b"[](){}<>\"'")
_NOTEWORTHY = (b"<<", b">>", b'"""', b"'''")


@dataclass(frozen=True, slots=True)
class Grammar:
    """Where the brackets of a text are, and where they only stand in a string, an IRI or a comment."""

    token: re.Pattern[bytes]
    """Takes all up to a bracket, which is its group; or else the rest, from where a token begins that does not end."""
    insides: Mapping[bytes, re.Pattern[bytes]]
    """By how a token begins, the longest first: what takes the rest of it; the end is its group."""
    across_lines: frozenset[bytes] | None = None
    """Those of these tokens that may continue on the next line; None if lines have no meaning."""


# Whatever could be the beginning of several tokens at the end of a piece, such as two quotes, is left for the next one.
# All quantifiers are possessive: nothing is tried twice.
TURTLE_BRACKETS = Grammar(
    re.compile(
        rb"(?:[^][(){}<>\"'#\\]++"
        rb"|<[^<>]*+>"
        rb'|"""(?:[^"\\]++|\\.|"(?!""))*+"""'
        rb"|'''(?:[^'\\]++|\\.|'(?!''))*+'''"
        rb'|"(?!"")(?:[^"\\]++|\\.)++"|""(?=[^"])'
        rb"|'(?!'')(?:[^'\\]++|\\.)++'|''(?=[^'])"
        rb"|\#[^\r\n]*+(?=[\r\n])"
        rb"|\\.|>(?=[^>]))*+"
        rb"([][(){}]|<<|>>|.+|\Z)",
        re.DOTALL,
    ),
    {
        b'"""': re.compile(rb'(?:[^"\\]++|\\.|"{1,2}+(?=[^"]))*+(""")?', re.DOTALL),
        b"'''": re.compile(rb"(?:[^'\\]++|\\.|'{1,2}+(?=[^']))*+(''')?", re.DOTALL),
        b'"': re.compile(rb'(?:[^"\\]++|\\.)*+(")?', re.DOTALL),
        b"'": re.compile(rb"(?:[^'\\]++|\\.)*+(')?", re.DOTALL),
        b"<": re.compile(rb"[^>]*+(>)?"),
        b"#": re.compile(rb"[^\r\n]*+([\r\n])?"),
    },
    frozenset({b'"""', b"'''"}),
)
"""Turtle and TriG, of which N-Triples and N-Quads are a part here."""

JSON_BRACKETS = Grammar(
    re.compile(rb'(?:[^][{}"]++|"(?:[^"\\]++|\\.)*+")*+([][{}]|.+|\Z)', re.DOTALL),
    {b'"': re.compile(rb'(?:[^"\\]++|\\.)*+(")?', re.DOTALL)},
)


@dataclass(slots=True)
class Nesting:
    """Follows a text that comes in pieces, as far as it can be parsed: no parser continues after an error."""

    grammar: Grammar
    depth: int = 0
    triple_terms: int = 0
    _token: bytes = b""
    """How the token begins in which the last piece ended."""
    _left: bytes = b""
    """The end of the last piece, of which the next one tells what it is."""

    def add(self, piece: bytes) -> None:
        """Take in the next piece; raise DataError if it goes too deep."""
        data = self._left + piece
        self._left = b""
        at = self._begin(data)
        while at < len(data):
            if self._token:
                inside = self.grammar.insides[self._token].match(data, at)
                assert inside is not None  # it takes as much as there is
                at = inside.end()
                if inside[1] is None:
                    self._left = data[at:]
                    return
                self._token = b""
                continue
            found = [each for each in self.grammar.token.findall(data, at) if each]
            rest = found.pop() if found and found[-1] not in _STEPS else b""
            self._count(found)
            if len(rest) <= _UNCLEAR:
                self._left = rest
                return
            self._token = next(begin for begin in self.grammar.insides if rest.startswith(begin))
            at = len(data) - len(rest) + len(self._token)

    def _begin(self, data: bytes) -> int:
        """Return where to begin: most lines have no brackets, and most tokens end with their line."""
        across = self.grammar.across_lines
        if across is None or self._token in across or not _says_nothing(data):
            return 0
        last = max(data.rfind(b"\n"), data.rfind(b"\r"))
        if last >= 0:
            self._token = b""
        return last + 1

    def _count(self, brackets: list[bytes]) -> None:
        if not brackets:
            return
        if b"<<" in brackets or self.triple_terms:
            self._count_terms([_STEPS[bracket] for bracket in brackets if bracket in (b"<<", b">>")])
        depths = [*accumulate(map(_STEPS.__getitem__, brackets), initial=self.depth)]
        if max(depths) > DEEPEST:
            raise DataError(
                f"expected brackets at most {DEEPEST} deep inside each other, got deeper ones;"
                " give inner nodes names, and write them side by side"
            )
        self.depth = max(depths[-1], 0)

    def _count_terms(self, steps: list[int]) -> None:
        depths = [*accumulate(steps, initial=self.triple_terms)]
        if max(depths) > DEEPEST_TRIPLE_TERM:
            raise DataError(
                f"expected triple terms at most {DEEPEST_TRIPLE_TERM} deep inside each other, got deeper ones;"
                " triples have IRIs, blank nodes and literals here"
            )
        self.triple_terms = max(depths[-1], 0)


def _says_nothing(data: bytes) -> bool:
    """Tell whether there is neither a bracket nor what begins or ends a string of several lines."""
    # Neighbours in a text are neighbours among its marks too, and these are few.
    marks = data.translate(None, _NO_MARKS)
    return not marks.translate(None, b"<>\"'") and all(each not in marks or each not in data for each in _NOTEWORTHY)


@dataclass(slots=True)
class NestingGuard:
    """Bytes for a parser, which it gets when they have been looked at."""

    raw: IO[bytes]
    nesting: Nesting
    _held: memoryview = field(default_factory=lambda: memoryview(b""))

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, when there are some; nothing at the end. Raise DataError if they go too deep."""
        if not self._held:
            # What is there, and no more: an element that came through a socket is not to wait for what follows.
            piece = getattr(self.raw, "read1", self.raw.read)(PIECE)
            self.nesting.add(piece)
            self._held = memoryview(piece)
        given = self._held if size < 0 else self._held[:size]
        self._held = self._held[len(given) :]
        return bytes(given)


def check_nesting(data: bytes, grammar: Grammar) -> None:
    """Raise DataError if brackets in all of `data` go too deep."""
    nesting = Nesting(grammar)
    for at in range(0, len(data), PIECE):
        nesting.add(data[at : at + PIECE])
