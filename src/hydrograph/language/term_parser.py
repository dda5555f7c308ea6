"""Parser of IRIs, prefixed names, variables, literals, blank nodes, and of the prologue that declares prefixes."""

from __future__ import annotations

import itertools
import re

from hydrograph.errors import SyntaxQueryError
from hydrograph.language.iri import is_absolute, resolve
from hydrograph.language.lexer import Cursor, Token, did_you_mean, shown, unescape
from hydrograph.rdf.terms import Iri, Literal, Variable
from hydrograph.rdf.vocab import RDF_LANG_STRING, XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER

_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')
_NUMBERS = {"integer": XSD_INTEGER, "decimal": XSD_DECIMAL, "double": XSD_DOUBLE}
_MAX_DIGITS = 18

LITERAL_STARTS = frozenset({"string", "integer", "decimal", "double", "TRUE", "FALSE", "+", "-"})


class TermParser(Cursor):
    """Lowest layer of the parser."""

    def __init__(self, text: str, tokens: list[Token], base: str | None = None) -> None:
        """Read `tokens`; `base` is the base of relative IRIs until BASE sets another."""
        super().__init__(text, tokens)
        self.base = base
        self.prefixes: dict[str, str] = {}
        self._labels = {token.text[2:] for token in tokens if token.key == "blank"}
        self._counters: dict[str, itertools.count[int]] = {}
        self._block = 0
        self._blocks = itertools.count(1)
        self._block_of: dict[str, int] = {}

    # Prologue

    def prologue(self) -> None:
        """Read BASE and PREFIX lines."""
        while True:
            if self.accept("BASE"):
                self.base = self.iri_reference()
            elif self.accept("PREFIX"):
                token = self.expect("name", "a prefix such as ex:")
                if not token.text.endswith(":") or token.text.count(":") > 1:
                    raise self.fail(f"expected a prefix such as ex:, got {shown(token)}", token.offset)
                self.prefixes[token.text[:-1]] = self.iri_reference()
            else:
                return

    # IRIs

    def iri_reference(self) -> str:
        """Read `<…>` and return it absolute."""
        token = self.expect("iri", "an IRI in angle brackets")
        value = self._unescaped(token.text[1:-1], token)
        if "\\" in token.text and _NOT_IN_IRI.search(value):
            raise self.fail(
                f"expected an IRI, got {shown(token)}, which contains a character that is not allowed in IRIs",
                token.offset,
            )
        if self.base is not None:
            return resolve(value, self.base)
        if not is_absolute(value):
            raise self.fail(
                f"expected an absolute IRI, got <{value}>; declare a BASE to write relative ones", token.offset
            )
        return value

    def iri(self, what: str = "an IRI") -> Iri:
        """Read an IRI or a prefixed name."""
        if self.token.key == "iri":
            return Iri(self.iri_reference())
        token = self.expect("name", what)
        prefix, _, local = token.text.partition(":")
        if prefix not in self.prefixes:
            raise self._unknown_prefix(prefix, token)
        return Iri(self.prefixes[prefix] + self._unescaped(local, token))

    def _unknown_prefix(self, prefix: str, token: Token) -> SyntaxQueryError:
        """Return the error about a prefix, with those that are declared."""
        known = ", ".join(f"{name}:" for name in sorted(self.prefixes)) or "none"
        suggestion = did_you_mean(f"{prefix}:", [f"{name}:" for name in self.prefixes])
        return self.fail(f"unknown prefix '{prefix}:'; known prefixes: {known}{suggestion}", token.offset)

    def _unescaped(self, text: str, token: Token) -> str:
        """Replace escapes, at the token's position if one is wrong."""
        try:
            return unescape(text)
        except ValueError as error:
            raise self.fail(f"expected a Unicode character, but {error}", token.offset) from None

    # Variables and blank nodes

    def variable(self, what: str = "a variable") -> Variable:
        """Read `?x` or `$x`."""
        token = self.expect("var", what)
        return Variable(self._unescaped(token.text[1:], token))

    def variable_or_iri(self, what: str = "a variable or an IRI") -> Iri | Variable:
        """Read an IRI or a variable, as the name of a graph, a window or a predicate."""
        return self.variable() if self.token.key == "var" else self.iri(what)

    def fresh(self, letter: str) -> Variable:
        """Return a generated variable, `.b0`, `.b1`, …, that no query text can name."""
        counter = self._counters.setdefault(letter, itertools.count())
        return Variable("." + next(name for n in counter if (name := f"{letter}{n}") not in self._labels))

    def blank(self) -> Variable:
        """Read `_:label`; the variable is the same within one basic graph pattern, and allowed nowhere else."""
        token = self.expect("blank")
        label = token.text[2:]
        if self._block_of.setdefault(label, self._block) != self._block:
            raise self.fail(
                f"expected a new blank node, got _:{label} of another basic graph pattern; use a variable instead",
                token.offset,
            )
        return Variable("." + label)

    # Literals

    def literal(self) -> Literal:
        """Read a string, a number or a boolean."""
        key = self.token.key
        if key == "string":
            return self._string_literal()
        if key in ("TRUE", "FALSE"):
            return Literal(self.take().text.lower(), XSD_BOOLEAN)
        return self._number()

    def _number(self) -> Literal:
        """Read a number; a sign must directly precede it."""
        sign = self.take() if self.token.key in ("+", "-") else None
        if self.token.key not in _NUMBERS or (sign is not None and sign.end != self.token.offset):
            raise self.unexpected("a number")
        token = self.take()
        return Literal((sign.text if sign else "") + token.text, _NUMBERS[token.key])

    def sign_of_number(self) -> bool:
        """Return whether the current token, a sign, directly precedes a number."""
        after = self.tokens[self.at + 1]
        return after.key in _NUMBERS and after.offset == self.token.end

    def string(self) -> str:
        """Read a string in any of the four quotations."""
        token = self.expect("string", "a string in quotes")
        quotes = 3 if token.text[:3] in ('"""', "'''") and len(token.text) >= 6 else 1
        return self._unescaped(token.text[quotes:-quotes], token)

    def _string_literal(self) -> Literal:
        """Read a string with its language or datatype."""
        lexical = self.string()
        if self.token.key == "lang":
            return Literal.tagged(lexical, self.take().text[1:])
        if not self.accept("^^"):
            return Literal(lexical)
        start = self.token
        datatype = self.iri("a datatype").value
        if datatype == RDF_LANG_STRING:
            raise self.fail(
                'expected a datatype, got rdf:langString; write the language instead, as in "chat"@fr', start.offset
            )
        return Literal(lexical, datatype)

    def natural(self, what: str) -> int:
        """Read a whole number that is not negative."""
        token = self.expect("integer", what)
        if len(token.text) > _MAX_DIGITS:
            raise self.fail(
                f"expected {what} of at most {_MAX_DIGITS} digits, got {len(token.text)} digits", token.offset
            )
        return int(token.text)
