"""The one total order of terms: unbound, blank nodes, IRIs, numbers by value, strings, other literals (S26)."""

from __future__ import annotations

from collections.abc import Callable

from hydrograph.compile import sql
from hydrograph.compile.expressions.compare import lexical
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

_CLASSES = ((1, (Kind.BLANK,)), (2, (Kind.IRI,)), (4, (Kind.STRING,)), (5, (Kind.LANG,)), (6, (Kind.BOOLEAN,)))
_NUMBERS, _OTHERS = 3, 7


def term_order(part: Callable[[Part], Sql]) -> list[tuple[str, Sql]]:
    """Return the sort keys of a bound term, by name; none is NULL, so that both targets order them alike."""
    kind = part(Part.KIND)
    classes = [(sql.one_of(kind.copy(), kinds), sql.num(rank)) for rank, kinds in _CLASSES]
    is_number = (sql.not_null(part(Part.NUMBER)), sql.num(_NUMBERS))
    string = sql.equal(kind.copy(), sql.num(Kind.STRING))
    text = part(Part.TEXT)
    return [
        ("class", sql.when(is_number, *classes, otherwise=sql.num(_OTHERS))),
        ("number", sql.coalesce(part(Part.NUMBER), sql.cast(sql.num(0), "DOUBLE"))),
        ("exact", sql.coalesce(part(Part.DECIMAL), sql.cast(sql.num(0), sql.DECIMAL))),
        ("lexical", sql.when((string, lexical(text)), otherwise=text.copy())),
        ("written", text.copy()),
    ]
