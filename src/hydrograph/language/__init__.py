"""Parser and printer of SPARQL 1.1 and of the RDF stream query languages.

>>> query = parse("SELECT ?s FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE 10s] { WINDOW <urn:w> { ?s ?p ?o } }")
>>> query.windows[0].definition
TimeWindow(width=10000, slide=10000)
"""

from __future__ import annotations

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.errors import UsageError
from hydrograph.language.dialects import DIALECTS
from hydrograph.language.lexer import Token, did_you_mean, tokenize
from hydrograph.language.printer import print_query, print_sparql
from hydrograph.language.query_parser import SparqlParser

__all__ = ["DIALECTS", "dialect_of", "parse", "print_query", "print_sparql"]


def parse(text: str, dialect: str | None = None, *, base: str | None = None) -> ContinuousQuery:
    """Return the algebra of a query text.

    Without a `dialect` the text decides, see `dialect_of`. Relative IRIs start from `base` unless the text declares
    its own.
    """
    tokens = tokenize(text)
    return _named(dialect, tokens)(text, tokens, base).query()


def dialect_of(text: str, dialect: str | None = None) -> type[SparqlParser]:
    """Return the named dialect, or detect it from the text; a text without any dialect's keywords is plain SPARQL.

    >>> dialect_of("SELECT ?s { STREAM <urn:s> [NOW] { ?s ?p ?o } }").title
    'CQELS-QL'
    """
    return _named(dialect, [] if dialect is not None else tokenize(text))


def _named(name: str | None, tokens: list[Token]) -> type[SparqlParser]:
    """Return a dialect by its name, or by the tokens of a text."""
    if name is None:
        return _recognised(tokens)
    if name not in DIALECTS:
        suggestion = did_you_mean(name, DIALECTS)
        raise UsageError(f"unknown dialect {name!r}; known dialects: {', '.join(sorted(DIALECTS))}{suggestion}")
    return DIALECTS[name]


def _recognised(tokens: list[Token]) -> type[SparqlParser]:
    """Return the first dialect one of whose marks occurs among the tokens."""
    keys = [token.key for token in tokens]
    places: dict[str, list[int]] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    for dialect in DIALECTS.values():
        for mark in dialect.marks:
            words = mark.split()
            for at in places.get(words[0], ()):
                run = keys[at : at + len(words)]
                if len(run) == len(words) and all(word in ("*", key) for word, key in zip(words, run, strict=True)):
                    return dialect
    return DIALECTS["sparql"]
