"""REGEX and REPLACE: SQL where a constant pattern is safe in both targets, else a kernel that takes linear time."""

from __future__ import annotations

from hydrograph.compile import sql
from hydrograph.compile.expressions import nodes
from hydrograph.compile.expressions.computed import StringValue, TruthValue
from hydrograph.compile.expressions.numbers import NOTHING
from hydrograph.compile.expressions.regex import InvalidPatternError, Pattern, is_plain, translate
from hydrograph.compile.expressions.strings import SIMPLE, string
from hydrograph.compile.expressions.values import ConstantValue, Parameters, Value
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Literal


def _constant(value: Value | None) -> str | None:
    """Return the text of a constant simple string, empty for a missing argument; None of anything else."""
    if value is None:
        return ""
    if isinstance(value, ConstantValue) and value.kind is Kind.STRING and isinstance(value.term, Literal):
        return value.term.lexical
    return None


def _translated(pattern: Value, flags: Value | None) -> Pattern | None:
    """Return the translation of constants; None where the pattern is known only at run time, or wrong."""
    text, options = _constant(pattern), _constant(flags)
    if text is None or options is None:
        return None
    try:
        return translate(text, options)
    except InvalidPatternError:
        return None


def _flags(flags: Value | None) -> Sql | None:
    return sql.text("") if flags is None else string(flags, SIMPLE)


def matches(value: Value, pattern: Value, flags: Value | None, parameters: Parameters) -> Value:
    """Return REGEX."""
    text, wanted, options = string(value), string(pattern, SIMPLE), _flags(flags)
    if text is None or wanted is None or options is None:
        return NOTHING
    plain = _constant(pattern)
    if plain is not None and is_plain(plain) and flags is None:
        return TruthValue(sql.call("CONTAINS", text, wanted))
    translated = _translated(pattern, flags)
    if translated is None:
        return TruthValue(sql.kernel("hydrograph_regex", text, wanted, options))
    case = "i" if translated.ignore_case else ""
    return TruthValue(
        nodes.Matches(this=text, expression=parameters(translated.text), flags=case, safe=translated.safe)
    )


def replace(value: Value, pattern: Value, by: Value, flags: Value | None) -> Value:
    """Return REPLACE: an error where the pattern matches an empty string."""
    text, wanted, new, options = string(value), string(pattern, SIMPLE), string(by, SIMPLE), _flags(flags)
    if text is None or wanted is None or new is None or options is None:
        return NOTHING
    plain, replacement = _constant(pattern), _constant(by)
    if plain and is_plain(plain) and flags is None and replacement is not None and not set(replacement) & set("$\\"):
        return StringValue(sql.call("replace", text, wanted, new), value.language())
    return StringValue(sql.kernel("hydrograph_replace", text, wanted, new, options), value.language())
