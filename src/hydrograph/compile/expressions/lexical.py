"""Canonical texts of terms taken apart in SQL.

Canonical text escapes only quote, backslash, line feed and carriage return. Backslashes are never written into SQL,
because a session setting decides what they mean there.
"""

from __future__ import annotations

from hydrograph.compile import sql
from hydrograph.compile.relation import Part, null_part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

_ESCAPABLE = frozenset({Kind.STRING, Kind.LANG, Kind.OTHER})


def lexical(text: Sql) -> Sql:
    """Return the lexical form of a canonical simple string."""
    return sql.let(text, lambda whole: _unescaped(whole, _inner(whole, sql.num(2))))


def lexical_of(text: Sql, kinds: frozenset[Kind]) -> Sql:
    """Return the lexical form of a literal or the IRI itself, for a term of these kinds; NULL for blank nodes."""
    if kinds == {Kind.STRING}:
        return lexical(text)
    return sql.let(text, lambda whole: _any_lexical(whole, kinds))


def _any_lexical(text: Sql, kinds: frozenset[Kind]) -> Sql:
    first = sql.call("left", text.copy(), sql.num(1))
    branches: list[tuple[Sql, Sql]] = []
    if Kind.IRI in kinds:
        branches.append((sql.equal(first.copy(), sql.text("<")), _inner(text.copy(), sql.num(2))))
    if Kind.BLANK in kinds:
        branches.append((sql.equal(first.copy(), sql.text("_")), null_part(Part.TEXT)))
    outside = sql.add(sql.call("length", suffix_of(text.copy())), sql.num(2))
    inner = _inner(text.copy(), outside)
    literal = _unescaped(text.copy(), inner) if kinds & _ESCAPABLE else inner
    return sql.when(*branches, otherwise=literal) if branches else literal


def suffix_of(text: Sql) -> Sql:
    """Return what follows the lexical form of a literal: nothing, `@tag` or `^^<datatype>`."""
    return sql.TermSuffix(this=text)


def _inner(text: Sql, without: Sql) -> Sql:
    """Return the text from its second character on, `without` characters shorter than the whole."""
    return sql.call("substring", text, sql.num(2), sql.subtract(sql.call("length", text.copy()), without))


def _unescaped(text: Sql, inner: Sql) -> Sql:
    back = sql.character(92)
    plain = inner
    # First every pair of backslashes becomes backslash-slash: then each backslash begins exactly one escape.
    for escape, character in (
        (_join(back, back), _join(back, sql.text("/"))),
        (_join(back, sql.character(34)), sql.character(34)),
        (_join(back, sql.text("n")), sql.character(10)),
        (_join(back, sql.text("r")), sql.character(13)),
        (_join(back, sql.text("/")), back),
    ):
        plain = sql.call("replace", plain, escape.copy(), character.copy())
    has_escape = sql.more(sql.call("instr", text.copy(), back.copy()), sql.num(0))
    return sql.when((has_escape, plain), otherwise=inner.copy())


def _join(left: Sql, right: Sql) -> Sql:
    return sql.concat(left.copy(), right.copy())
