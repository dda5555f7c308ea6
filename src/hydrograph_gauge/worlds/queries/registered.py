"""A query as a language wants it registered: under a name, and over the stream that the language has."""

from __future__ import annotations

from dataclasses import replace

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.language.dialects.strider import STREAM as STRIDERS_STREAM


def registered(query: ContinuousQuery, name: str, language: str) -> ContinuousQuery:
    """Return the query under a name, which is a word; in Strider over its one stream, which has no other name there."""
    match language:
        case "csparql":
            return replace(query, name=name)
        case "strider" if len({window.stream for window in query.windows}) == 1:
            windows = tuple(replace(window, stream=STRIDERS_STREAM) for window in query.windows)
            return replace(query, name=name, windows=windows)
        case _:
            return query
