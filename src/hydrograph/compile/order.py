"""The one total order of terms (S26).

Unbound, blank nodes, IRIs, then literals: numbers by value, strings by code point, tagged strings, booleans, dateTimes,
dates and times by their place on the time line (without a zone: as if in UTC), and last all others by their text.
"""

from __future__ import annotations

from collections.abc import Callable

from hydrograph.compile import sql
from hydrograph.compile.expressions.compare import lexical
from hydrograph.compile.expressions.dates import TEMPORAL, as_date_time, timeline, with_fields
from hydrograph.compile.expressions.values import TermValue
from hydrograph.compile.relation import Part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

_CLASSES = (
    (1, (Kind.BLANK,)),
    (2, (Kind.IRI,)),
    (4, (Kind.STRING,)),
    (5, (Kind.LANG,)),
    (6, (Kind.BOOLEAN,)),
    (7, (Kind.DATETIME,)),
    (8, (Kind.DATE,)),
    (9, (Kind.TIME,)),
    (10, (Kind.DURATION,)),
)
_NUMBERS, _OTHERS = 3, 11


def term_order(part: Callable[[Part], Sql]) -> list[tuple[str, Sql]]:
    """Return the sort keys of a bound term, by name; none is NULL, so that both targets order them alike."""
    kind = part(Part.KIND)
    classes = [(sql.one_of(kind.copy(), kinds), sql.num(rank)) for rank, kinds in _CLASSES]
    is_number = (sql.not_null(part(Part.NUMBER)), sql.num(_NUMBERS))
    string = sql.equal(kind.copy(), sql.num(Kind.STRING))
    text = part(Part.TEXT)
    truth = TermValue(part, frozenset({Kind.BOOLEAN})).truth()
    is_true = sql.all_of([sql.equal(kind.copy(), sql.num(Kind.BOOLEAN)), sql.paren(truth)])
    return [
        ("class", sql.when(is_number, *classes, otherwise=sql.num(_OTHERS))),
        ("number", sql.coalesce(part(Part.NUMBER), _bit(is_true))),
        ("exact", sql.coalesce(part(Part.DECIMAL), _place(part))),
        ("lexical", sql.when((string, lexical(text)), otherwise=text.copy())),
        ("written", text.copy()),
    ]


def _bit(condition: Sql) -> Sql:
    return sql.cast(sql.when((condition, sql.num(1)), otherwise=sql.num(0)), "DOUBLE")


def _place(part: Callable[[Part], Sql]) -> Sql:
    """Return the place of a date or time on the time line, 0 of everything else."""
    is_time = sql.one_of(part(Part.KIND), sorted(int(kind) for kind in TEMPORAL))
    place = with_fields(as_date_time(TermValue(part, TEMPORAL)), timeline)
    zero = sql.cast(sql.num(0), sql.DECIMAL)
    return sql.coalesce(sql.when((is_time, place)), zero)
