"""The position in a token list: peek, take, expect, and the error with line, column and caret."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from hydrograph.errors import SyntaxQueryError, UnsupportedSyntaxError
from hydrograph.language.lexer import Token

_SHOWN = 40  # characters of an offending token that a message repeats


class Cursor:
    """Walks over the tokens of one text; every layer of the grammar extends it."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        """Stand at the first token."""
        self.text = text
        self.tokens = tokens
        self.at = 0
        self.token = tokens[0]
        """The token that is next to be taken."""

    def take(self) -> Token:
        """Return the current token and go on to the next one."""
        token = self.token
        if token.key != "end":
            self.at += 1
            self.token = self.tokens[self.at]
        return token

    def ahead(self, count: int = 1) -> str:
        """Return the key of the token `count` behind the current one."""
        return self.tokens[min(self.at + count, len(self.tokens) - 1)].key

    def accept(self, key: str) -> bool:
        """Take the current token if it is `key`."""
        if self.token.key != key:
            return False
        self.take()
        return True

    def expect(self, key: str, what: str = "") -> Token:
        """Take the current token, which has to be `key`."""
        if self.token.key != key:
            raise self.unexpected(what or key, (key,))
        return self.take()

    def expect_one(self, keys: Iterable[str], what: str = "") -> Token:
        """Take the current token, which has to be one of `keys`."""
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
        """Return the error about what is right SPARQL, but not done here."""
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
