"""Terms, property paths and durations as query text."""

from __future__ import annotations

import re
from typing import assert_never

from hydrograph.algebra.nodes import (
    Alternative,
    Inverse,
    Link,
    NegatedSet,
    OneOrMore,
    Path,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)
from hydrograph.rdf.terms import BlankNode, Iri, Literal
from hydrograph.rdf.vocab import XSD_BOOLEAN, XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER, XSD_STRING

_BARE = {
    XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
    XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD_DOUBLE: re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"),
    XSD_BOOLEAN: re.compile(r"true|false"),
}
_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"},
)
_LOCAL = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_ALTERNATIVE, _SEQUENCE, _STEP, _ELEMENT, _PRIMARY = range(5)


class TermPrinter:
    """Prints terms with the prefixes of one query."""

    def __init__(self, prefixes: tuple[tuple[str, str], ...] = ()) -> None:
        """Prefer the prefix with the longest namespace."""
        # The last declaration of a prefix is the one that holds.
        self._namespaces = sorted(((iri, name) for name, iri in dict(prefixes).items()), key=lambda one: -len(one[0]))

    def iri(self, iri: Iri) -> str:
        """Return a prefixed name where the rest is simple, else the whole IRI."""
        for namespace, prefix in self._namespaces:
            if iri.value.startswith(namespace) and _LOCAL.fullmatch(iri.value, len(namespace)):
                return f"{prefix}:{iri.value[len(namespace) :]}"
        return f"<{iri.value}>"

    def literal(self, literal: Literal) -> str:
        """Return numbers and booleans bare, all others in quotes."""
        bare = _BARE.get(literal.datatype)
        if bare is not None and bare.fullmatch(literal.lexical):
            return literal.lexical
        return self.quoted(literal)

    def quoted(self, literal: Literal) -> str:
        """Return a literal in quotes, with its language or datatype."""
        text = quote(literal.lexical)
        if literal.language is not None:
            return f"{text}@{literal.language}"
        return text if literal.datatype == XSD_STRING else f"{text}^^{self.iri(Iri(literal.datatype))}"

    def term(self, term: Iri | Literal | BlankNode | None) -> str:
        """Return a term of inline data or of a template; None is UNDEF."""
        match term:
            case None:
                return "UNDEF"
            case Iri():
                return self.iri(term)
            case Literal():
                return self.literal(term)
            case BlankNode(label):
                return f"_:{label}"
            case _:
                assert_never(term)

    def path(self, path: Path, least: int = _ALTERNATIVE) -> str:
        """Return a path, in brackets where it binds weaker than `least`."""
        text, rank = self._path(path)
        return text if rank >= least else f"({text})"

    def _path(self, path: Path) -> tuple[str, int]:
        """Return a path and how strongly it binds."""
        match path:
            case Link(predicate):
                return self.iri(predicate), _PRIMARY
            case Alternative(left, right):
                return f"{self.path(left)}|{self.path(right, _SEQUENCE)}", _ALTERNATIVE
            case Sequence(left, right):
                return f"{self.path(left, _SEQUENCE)}/{self.path(right, _STEP)}", _SEQUENCE
            case Inverse(inner):
                return f"^{self.path(inner, _ELEMENT)}", _STEP
            case ZeroOrMore(inner):
                return f"{self.path(inner, _PRIMARY)}*", _ELEMENT
            case OneOrMore(inner):
                return f"{self.path(inner, _PRIMARY)}+", _ELEMENT
            case ZeroOrOne(inner):
                return f"{self.path(inner, _PRIMARY)}?", _ELEMENT
            case NegatedSet(forward, backward):
                members = [self.iri(one) for one in forward] + [f"^{self.iri(one)}" for one in backward]
                return f"!({'|'.join(members)})", _PRIMARY
            case _:
                assert_never(path)


def quote(text: str) -> str:
    r"""Return a string in quotes.

    >>> print(quote('say "hi"'))
    "say \"hi\""
    """
    return f'"{text.translate(_ESCAPES)}"'
