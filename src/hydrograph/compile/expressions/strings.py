"""[Functions on strings](https://www.w3.org/TR/sparql11-query/#func-strings); characters are code points.

REGEX and REPLACE are SQL where a constant pattern is safe in both targets, else a kernel that takes linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.numbers import NOTHING
from hydrograph.compile.expressions.regex import InvalidPatternError, TranslatedPattern, is_plain, translate
from hydrograph.compile.expressions.values import (
    STRINGS,
    BooleanValue,
    ConstantValue,
    IntegerValue,
    Kinds,
    Parameters,
    StringValue,
    Value,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Literal

SIMPLE: Kinds = frozenset({Kind.STRING})
_FAR = 10**9


def of_kinds(value: Value, kinds: Kinds, read: Callable[[], Sql]) -> Sql | None:
    """Return what is read of a value of one of these kinds, NULL for others; None if it is never one."""
    known = value.is_kind(kinds)
    if known is False:
        return None
    return read() if known is True else sql.when((known, read()))


def string(value: Value, kinds: Kinds = STRINGS) -> Sql | None:
    """Return the lexical form of a string; None if the value never is one."""
    return of_kinds(value, kinds, value.lexical)


def compatible_languages(left: Value, right: Value) -> Sql | bool:
    """Return the test that two strings are [compatible](https://www.w3.org/TR/sparql11-query/#func-arg-compatibility)."""
    ours, theirs = left.language(), right.language()
    if theirs is None:
        return True
    absent = sql.is_null(theirs)
    if ours is None:
        return absent
    return sql.paren(sql.any_of([absent, sql.equal(theirs.copy(), ours)]))


def _pair(left: Value, right: Value) -> tuple[Sql, Sql] | None:
    """Return both strings; the second is NULL where they are not compatible, None if they are never strings."""
    ours, theirs = string(left), string(right)
    if ours is None or theirs is None:
        return None
    fits = compatible_languages(left, right)
    return ours, theirs if isinstance(fits, bool) else sql.when((fits, theirs))


def _test(function: Callable[[Sql, Sql], Sql]) -> Callable[[Value, Value], Value]:
    def test(left: Value, right: Value) -> Value:
        pair = _pair(left, right)
        return NOTHING if pair is None else BooleanValue(function(*pair))

    return test


starts_with = _test(lambda text, start: exp.StartsWith(this=text, expression=start))
ends_with = _test(lambda text, end: exp.EndsWith(this=text, expression=end))
contains = _test(lambda text, part: sql.call("CONTAINS", text, part))


def length(value: Value) -> Value:
    """Return STRLEN."""
    text = string(value)
    return NOTHING if text is None else IntegerValue(sql.cast(sql.call("length", text), "BIGINT"))


def upper(value: Value) -> Value:
    """Return UCASE."""
    text = string(value)
    return NOTHING if text is None else StringValue(nodes.ChangeCase(this=text, to="upper"), value.language())


def lower(value: Value) -> Value:
    """Return LCASE."""
    text = string(value)
    return NOTHING if text is None else StringValue(nodes.ChangeCase(this=text, to="lower"), value.language())


def substring(value: Value, start: Value, count: Value | None = None) -> Value:
    """Return SUBSTR: the characters at positions `start <= p < start + count`, counted from 1."""
    text, first = string(value), _position(start)
    amount = None if count is None else _position(count)
    if text is None or first is None or (count is not None and amount is None):
        return NOTHING
    one = sql.cast(sql.num(1), "BIGINT")

    def cut(at: Sql) -> Sql:
        begin = sql.when((sql.less(at.copy(), one), one.copy()), otherwise=at.copy())
        end = sql.cast(sql.num(2 * _FAR), "BIGINT") if amount is None else sql.add(at.copy(), amount)
        size = sql.subtract(end, begin)
        size = sql.when((sql.more(size, sql.num(0)), size.copy()), (sql.not_null(size.copy()), sql.num(0)))
        return sql.call("substring", text, sql.cast(begin.copy(), "INT"), sql.cast(size, "INT"))

    return StringValue(sql.let(first, cut), value.language())


def _position(value: Value) -> Sql | None:
    """Return an integer as BIGINT, within a billion; None if the value never is one."""
    exact = of_kinds(value, frozenset({Kind.INTEGER}), lambda: _decimal(value))
    if exact is None:
        return None
    high, low = (sql.cast(sql.num(bound), sql.DECIMAL) for bound in (_FAR, -_FAR))

    def near(x: Sql) -> Sql:
        far = (sql.more(x.copy(), high), high.copy()), (sql.less(x.copy(), low), low.copy())
        return sql.when(*far, otherwise=x.copy())

    return sql.cast(sql.let(exact, near), "BIGINT")


def _decimal(value: Value) -> Sql:
    exact = value.exact()
    assert exact is not None
    return exact


def before(value: Value, mark: Value) -> Value:
    """Return STRBEFORE: the text before the first occurrence; a simple empty string where there is none."""

    def cut(text: Sql, found: Sql, at: Sql) -> Sql:
        return sql.when(
            (sql.equal(found, sql.text("")), sql.text("")),
            (sql.more(at.copy(), sql.num(0)), sql.call("left", text, sql.cast(sql.subtract(at, sql.num(1)), "INT"))),
            (sql.not_null(at.copy()), sql.text("")),
        )

    return _around(value, mark, cut)


def after(value: Value, mark: Value) -> Value:
    """Return STRAFTER: what follows the first occurrence; a simple empty string where there is none."""

    def cut(text: Sql, found: Sql, at: Sql) -> Sql:
        rest = sql.cast(sql.add(at, sql.call("length", found.copy())), "INT")
        return sql.when(
            (sql.equal(found, sql.text("")), text),
            (sql.more(at.copy(), sql.num(0)), sql.call("substring", text.copy(), rest)),
            (sql.not_null(at.copy()), sql.text("")),
        )

    return _around(value, mark, cut)


def _around(value: Value, mark: Value, cut: Callable[[Sql, Sql, Sql], Sql]) -> Value:
    pair = _pair(value, mark)
    if pair is None:
        return NOTHING
    text, found = pair
    at = sql.call("instr", text, found)
    result = sql.let(
        text.copy(), lambda t: sql.let(found.copy(), lambda f: cut(t, f, sql.call("instr", t.copy(), f.copy())))
    )
    tag = value.language()
    if tag is None:
        return StringValue(result)
    there = sql.any_of([sql.equal(found.copy(), sql.text("")), sql.more(at, sql.num(0))])
    return StringValue(result, sql.when((there, tag)))


def concat(values: Sequence[Value]) -> Value:
    """Return CONCAT: tagged only if all strings have the same tag."""
    texts = [string(value) for value in values]
    given = [text for text in texts if text is not None]
    if len(given) < len(texts):
        return NOTHING
    if not given:
        return StringValue(sql.text(""))
    joined = sql.concat(*given)
    tags = [tag for value in values if (tag := value.language()) is not None]
    if len(tags) < len(values):
        return StringValue(joined)
    same = [sql.equal(tags[0].copy(), tag) for tag in tags[1:]]
    return StringValue(joined, sql.when((sql.all_of(same), tags[0])) if same else tags[0])


def language_matches(tag: Value, wanted: Value) -> Value:
    """Return langMatches: [basic filtering](https://www.rfc-editor.org/rfc/rfc4647#section-3.3.1)."""
    tags, ranges = string(tag, SIMPLE), string(wanted, SIMPLE)
    if tags is None or ranges is None:
        return NOTHING
    ours, theirs = sql.call("LOWER", tags), sql.call("LOWER", ranges)
    prefix = exp.StartsWith(this=ours.copy(), expression=sql.concat(theirs.copy(), sql.text("-")))
    return BooleanValue(
        sql.when(
            (sql.equal(ranges.copy(), sql.text("*")), exp.NEQ(this=tags.copy(), expression=sql.text(""))),
            otherwise=sql.any_of([sql.equal(ours, theirs), prefix]),
        )
    )


def encode_for_uri(value: Value) -> Value:
    """Return ENCODE_FOR_URI."""
    text = string(value)
    return NOTHING if text is None else StringValue(sql.kernel("hydrograph_encode_for_uri", text))


def digest(function: str) -> Callable[[Value], Value]:
    """Return MD5, SHA1, SHA256, SHA384 or SHA512: lower-case hexadecimal digits of the UTF-8 bytes."""

    def compute(value: Value) -> Value:
        text = string(value, SIMPLE)
        return NOTHING if text is None else StringValue(nodes.TextDigest(this=text, function=function))

    return compute


def _constant(value: Value | None) -> str | None:
    """Return the text of a constant simple string, empty for a missing argument; None of anything else."""
    if value is None:
        return ""
    if isinstance(value, ConstantValue) and value.kind is Kind.STRING and isinstance(value.term, Literal):
        return value.term.lexical
    return None


def _translated(pattern: Value, flags: Value | None) -> TranslatedPattern | None:
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
        return BooleanValue(sql.call("CONTAINS", text, wanted))
    translated = _translated(pattern, flags)
    if translated is None:
        return BooleanValue(sql.kernel("hydrograph_regex", text, wanted, options))
    case = "i" if translated.ignore_case else ""
    return BooleanValue(
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
