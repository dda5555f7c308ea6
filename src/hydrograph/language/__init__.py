"""Query texts to algebra and back: SPARQL 1.1 and the languages of RDF streams.

>>> query = parse("SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10s] { WINDOW <urn:w> { ?s ?p ?o } }")
>>> query.windows[0].definition
TimeWindow(width=10000, slide=10000)
"""

from __future__ import annotations

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UsageError
from hydrograph.language.cursor import did_you_mean
from hydrograph.language.dialects import DIALECTS
from hydrograph.language.lexer import Token, tokenize
from hydrograph.language.printer import print_query, print_sparql

__all__ = ["DIALECTS", "parse", "print_query", "print_sparql"]


def parse(text: str, dialect: str | None = None, *, base: str | None = None) -> ContinuousQuery:
    """Return the algebra of a query text.

    Without a `dialect` the text decides: REGISTER, WINDOW or a stream operator is RSP-QL, the rest plain SPARQL.
    Relative IRIs start from `base` unless the text declares its own.
    """
    tokens = tokenize(text)
    name = _recognise(tokens) if dialect is None else dialect
    if name not in DIALECTS:
        suggestion = did_you_mean(name, DIALECTS)
        raise UsageError(f"unknown dialect {name!r}; known dialects: {', '.join(sorted(DIALECTS))}{suggestion}")
    return DIALECTS[name](text, tokens, base).query()


def _recognise(tokens: list[Token]) -> str:
    """Return the name of the dialect whose keywords a text uses."""
    keys = {token.key for token in tokens}
    return next((name for name, dialect in DIALECTS.items() if keys & dialect.marks), "sparql")
