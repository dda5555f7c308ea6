"""How deep the brackets of a text are nested, found out before a parser sees it.

Parsers of full grammars call themselves for each bracket: triple terms some ten thousand deep end the process, and the
time that JSON-LD takes grows with the square of its depth. What is not nested deeper than people write is let through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import IO

from hydrograph.errors import DataError

DEEPEST = 100
"""How many brackets may stand inside each other; people, and what they write programs for, stay below ten."""
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
    """Which of these tokens may go on behind the end of a line; None if lines mean nothing."""


# Whatever could be the beginning of several tokens at the end of a piece, such as two quotes, is left for the next one.
# All quantifiers are possessive: nothing is tried twice.
TURTLE = Grammar(
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

JSON = Grammar(
    re.compile(rb'(?:[^][{}"]++|"(?:[^"\\]++|\\.)*+")*+([][{}]|.+|\Z)', re.DOTALL),
    {b'"': re.compile(rb'(?:[^"\\]++|\\.)*+(")?', re.DOTALL)},
)


@dataclass(slots=True)
class Nesting:
    """Follows a text that comes in pieces, as far as it can be parsed: behind an error no parser goes on."""

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
    # What stands side by side in a text does so in its marks too, and these are few.
    marks = data.translate(None, _NO_MARKS)
    return not marks.translate(None, b"<>\"'") and all(each not in marks or each not in data for each in _NOTEWORTHY)


@dataclass(slots=True)
class Guarded:
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


def check(data: bytes, grammar: Grammar) -> None:
    """Raise DataError if brackets in all of `data` go too deep."""
    nesting = Nesting(grammar)
    for at in range(0, len(data), PIECE):
        nesting.add(data[at : at + PIECE])
