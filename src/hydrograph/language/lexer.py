"""Lexer: text to tokens with offsets, and a cursor over them, after the [terminals of SPARQL 1.1](https://www.w3.org/TR/sparql11-query/#grammar).

The limits that protect the parser are checked here, before the first rule of the grammar runs.

>>> [token.key for token in tokenize("ASK { ?s ex:p 1.5 }")]
['ASK', '{', 'var', 'name', 'decimal', '}', 'end']
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple

from hydrograph.errors import SyntaxQueryError, UnsupportedSyntaxError

MAX_BYTES = 65_536
MAX_NESTING = 100


class Token(NamedTuple):
    """One token.

    `key` is what the grammar matches: a keyword in upper case, a mark verbatim, or in lower case the kind of
    any other token: iri, name, var, blank, string, lang, integer, decimal, double, end.
    """

    key: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        """The offset after the token."""
        return self.offset + len(self.text)


_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_VAR = _BASE + "_0-9\u00b7\u0300-\u036f\u203f-\u2040"
_CHARS = _VAR + "\\-"
_UCHAR = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_LOCAL = rf"(?:[{_CHARS}:]|%[0-9A-Fa-f]{{2}}|\\[_~.\-!$&'()*+,;=/?#@%]|{_UCHAR})"
_LOCAL_START = rf"(?:[{_BASE}_0-9:]|%[0-9A-Fa-f]{{2}}|\\[_~.\-!$&'()*+,;=/?#@%]|{_UCHAR})"
_ESCAPE = rf"\\[tbnrf\\\"']|{_UCHAR}"
_EXPONENT = "[eE][+-]?[0-9]+"

# Possessive quantifiers (++, *+) keep every alternative linear. A prefix may hold eight dots: without that bound
# `a.a.a.…` would be scanned to its end from each of its words.
_TOKEN = re.compile(
    "|".join(
        (
            r"(?P<skip>[ \t\r\n]++|#[^\r\n]*+)",
            rf"(?P<var>[?$](?:[{_VAR}]|{_UCHAR})++)",
            rf"(?P<name>(?:[{_BASE}][{_CHARS}]*+(?:\.++[{_CHARS}]++){{0,8}}+)?:"
            rf"(?:{_LOCAL_START}{_LOCAL}*+(?:\.++{_LOCAL}++)*+)?)",
            r"(?P<word>[A-Za-z_][A-Za-z0-9_]*+(?!:))",
            rf"(?P<iri><(?:[^\x00-\x20<>\"{{}}|^`\\]|{_UCHAR})*+>)",
            rf"(?P<blank>_:[{_BASE}_0-9][{_CHARS}]*+(?:\.++[{_CHARS}]++)*+)",
            rf"(?P<double>(?:[0-9]++\.?[0-9]*+|\.[0-9]++){_EXPONENT})",
            r"(?P<decimal>[0-9]*+\.[0-9]++)",
            r"(?P<integer>[0-9]++)",
            rf"(?P<long>\"\"\"(?:[^\"\\]|\"{{1,2}}(?!\")|{_ESCAPE})*+\"\"\"|'''(?:[^'\\]|'{{1,2}}(?!')|{_ESCAPE})*+''')",
            rf"(?P<string>\"(?!\"\")(?:[^\"\\\n\r]|{_ESCAPE})*+\"|'(?!'')(?:[^'\\\n\r]|{_ESCAPE})*+')",
            r"(?P<lang>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)",
            r"(?P<mark>&&|\|\||\^\^|!=|<=|>=|[{}()\[\];,.=<>!|/^*+\-?])",
        )
    )
)
_OPENING = frozenset("{([")
_CLOSING = frozenset("})]")


def tokenize(text: str) -> list[Token]:
    """Return the tokens of `text`, the last one with the key `end`; refuse text beyond the limits."""
    _check_encoding(text)
    tokens: list[Token] = []
    match = _TOKEN.match
    at = 1 if text.startswith("\ufeff") else 0
    depth = deepest = too_deep = 0
    while at < len(text):
        found = match(text, at)
        if found is None:
            raise _unreadable(text, at)
        kind = found.lastgroup or ""
        start, at = at, found.end()
        if kind == "skip":
            continue
        lexeme = found.group()
        if kind == "word":
            kind = lexeme.upper()
        elif kind == "mark":
            kind = lexeme
            if kind in _OPENING:
                depth += 1
                if depth > deepest:
                    deepest = depth
                    too_deep = start if deepest == MAX_NESTING + 1 else too_deep
            elif kind in _CLOSING:
                depth -= 1
        elif kind == "long":
            kind = "string"
        tokens.append(Token(kind, lexeme, start))
    if deepest > MAX_NESTING:
        raise SyntaxQueryError(f"brackets may nest {MAX_NESTING} deep, got {deepest}; split the query", text, too_deep)
    tokens.append(Token("end", "", len(text)))
    return tokens


def _check_encoding(text: str) -> None:
    """Refuse text that is too long or not Unicode."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise SyntaxQueryError("expected Unicode text, got half of a surrogate pair", text, error.start) from None
    if len(encoded) > MAX_BYTES:
        raise SyntaxQueryError(
            f"a query may be {MAX_BYTES} bytes long, got {len(encoded)}; put constants into static data",
            text,
            len(encoded[:MAX_BYTES].decode(errors="ignore")),
        )


def _unreadable(text: str, at: int) -> SyntaxQueryError:
    """Return the error about the text at `at`, where no token begins."""
    character = text[at]
    if character in "\"'":
        return _broken_string(text, at)
    if character == "_" or character.isalpha():
        return SyntaxQueryError(f"expected a keyword or a name, got {character!r}", text, at)
    if character == "\\":
        return SyntaxQueryError("expected a token, got a backslash outside of a string or an IRI", text, at)
    shown = repr(character) if character.isprintable() else f"U+{ord(character):04X}"
    return SyntaxQueryError(f"expected a token, got the character {shown}", text, at)


def _broken_string(text: str, at: int) -> SyntaxQueryError:
    """Distinguish an unknown escape from an unterminated string."""
    quote = text[at]
    long = text.startswith(quote * 3, at)
    inside = re.compile(rf"(?:[^\\]|{_ESCAPE})*+" if long else rf"(?:[^\\\r\n{quote}]|{_ESCAPE})*+")
    found = inside.match(text, at + (3 if long else 1))
    stop = len(text) if found is None else found.end()
    if text.startswith("\\", stop):
        return SyntaxQueryError(f"expected an escape such as \\n or \\u00E9, got {text[stop : stop + 2]}", text, stop)
    return SyntaxQueryError(f"expected {quote * (3 if long else 1)} at the end of this string, got none", text, at)


_UNESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def unescape(escaped: str) -> str:
    r"""Replace the escapes of a string, an IRI or a local name; raise ValueError if one is not a character.

    >>> unescape(r"a\u00e9\\n")
    'aé\\n'
    """
    return _UNESCAPE.sub(_character, escaped) if "\\" in escaped else escaped


def _character(found: re.Match[str]) -> str:
    """Return the character that an escape represents."""
    escape = found.group()[1:]
    if len(escape) == 1:
        return _SHORT.get(escape, escape)
    code = int(escape[1:], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"\\{escape} is no character")
    return chr(code)


_SHOWN = 40  # characters of an offending token that a message quotes


class Cursor:
    """Cursor over the tokens of one text; every layer of the grammar extends it."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        """Start at the first token."""
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.token = tokens[0]
        """The current token, not yet taken."""

    def take(self) -> Token:
        """Return the current token and advance to the next one."""
        token = self.token
        if token.key != "end":
            self.at += 1
            self.token = self.tokens[self.at]
        return token

    def ahead(self, count: int = 1) -> str:
        """Return the key of the token `count` after the current one."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)].key

    def accept(self, key: str) -> bool:
        """Take the current token if it is `key`."""
        if self.token.key != key:
            return False
        self.take()
        return True

    def expect(self, key: str, what: str = "") -> Token:
        """Take the current token, which must be `key`."""
        if self.token.key != key:
            raise self.unexpected(what or key, (key,))
        return self.take()

    def expect_one(self, keys: Iterable[str], what: str = "") -> Token:
        """Take the current token, which must be one of `keys`."""
        keys = tuple(keys)
        if self.token.key not in keys:
            raise self.unexpected(what or " or ".join(keys), keys)
        return self.take()

    def unexpected(self, what: str, keywords: Iterable[str] = ()) -> SyntaxQueryError:
        """Return the error about the current token; suggest the keyword it resembles."""
        token = self.token
        suggestion = ""
        if token.key == token.text.upper() and token.key.isalpha():
            suggestion = did_you_mean(token.key, keywords, cutoff=0.7)
        return self.fail(f"expected {what}, got {shown(token)}{suggestion}")

    def fail(self, message: str, offset: int | None = None) -> SyntaxQueryError:
        """Return an error that points at `offset`, else at the current token."""
        return SyntaxQueryError(message, self.text, self.token.offset if offset is None else offset)

    def unsupported(self, message: str, offset: int | None = None) -> SyntaxQueryError:
        """Return the error about valid SPARQL that is not supported."""
        return UnsupportedSyntaxError(message, self.text, self.token.offset if offset is None else offset)


def shown(token: Token) -> str:
    """Return a token as a message shows it."""
    if token.key == "end":
        return "the end of the query"
    return token.text if len(token.text) <= _SHOWN else token.text[:_SHOWN] + "…"


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return a suggestion to append to a message, or nothing.

    >>> did_you_mean("SELCT", ["SELECT", "ASK"])
    '; did you mean SELECT?'
    """
    known = list(known)
    nearest = [] if word in known else difflib.get_close_matches(word, known, n=1, cutoff=cutoff)
    return f"; did you mean {nearest[0]}?" if nearest else ""
