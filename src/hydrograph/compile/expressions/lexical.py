"""Canonical texts of terms taken apart in SQL.

Canonical text escapes only quote, backslash, line feed and carriage return. Backslashes are never written into SQL,
because a session setting decides what they mean there.
"""

from __future__ import annotations

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.relation import Part, null_part
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind

_ESCAPABLE = frozenset({Kind.STRING, Kind.LANG, Kind.OTHER})
_NOT_PLAIN = _ESCAPABLE | {Kind.IRI, Kind.BLANK}
"""Of all others the lexical form holds no quote and no escape."""


def lexical(text: Sql) -> Sql:
    """Return the lexical form of a canonical simple string."""
    return sql.let(text, lambda whole: _unescaped(whole, quoted(whole)))


def quoted(text: Sql) -> Sql:
    """Return the text between the quotes of a canonical simple string; escapes are left as they are."""
    return _inner(text.copy(), sql.num(2))


def lexical_of(text: Sql, kinds: frozenset[Kind]) -> Sql:
    """Return the lexical form of a literal or the IRI itself, for a term of these kinds; NULL for blank nodes."""
    if kinds == {Kind.STRING}:
        return lexical(text)
    if not kinds & _NOT_PLAIN:
        return sql.call("split_part", text, sql.text('"'), sql.num(2))
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
    return nodes.TermSuffix(this=text)


def _inner(text: Sql, without: Sql) -> Sql:
    """Return the text from its second character on, `without` characters shorter than the whole."""
    return sql.call("substring", text, sql.num(2), sql.subtract(sql.call("length", text.copy()), without))


def _unescaped(text: Sql, inner: Sql) -> Sql:
    return sql.when((has_escape(text.copy()), unescaped(inner)), otherwise=inner.copy())


def has_escape(text: Sql) -> Sql:
    """Return whether there is an escape in a text."""
    return sql.more(sql.call("instr", text, sql.character(92)), sql.num(0))


def unescaped(text: Sql) -> Sql:
    """Return a text with its escapes resolved."""
    back = sql.character(92)
    plain = text
    # First every pair of backslashes becomes backslash-slash: then each backslash begins exactly one escape.
    for escape, character in (
        (_join(back, back), _join(back, sql.text("/"))),
        (_join(back, sql.character(34)), sql.character(34)),
        (_join(back, sql.text("n")), sql.character(10)),
        (_join(back, sql.text("r")), sql.character(13)),
        (_join(back, sql.text("/")), back),
    ):
        plain = sql.call("replace", plain, escape.copy(), character.copy())
    return plain


def _join(left: Sql, right: Sql) -> Sql:
    return sql.concat(left.copy(), right.copy())
