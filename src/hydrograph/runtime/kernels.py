"""The fallbacks: functions that SQL of one target or both can't say, each one Arrow kernel under one name.

`explain` names the kernels a program calls. They are the only Python that ever sees rows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.compile.expressions.regex import InvalidPatternError, TranslatedPattern, translate
from hydrograph.language.iri import is_absolute, resolve
from hydrograph.rdf.encoding import encode_text, term_id
from hydrograph.rdf.nquads import IRIREF, term_text
from hydrograph.rdf.terms import Literal
from hydrograph.rdf.vocab import RDF_LANG_STRING
from hydrograph.rdf.xsd import Kind, double_decimal, double_string, double_text, lexical_kind, single_text

_DECIMAL = pa.decimal128(38, 18)
_SQL_DECIMAL = "DECIMAL(38, 18)"
_WIDE = Context(prec=60)
_IRI = re.compile(IRIREF)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A vectorised function of one or more columns."""

    name: str
    run: Callable[..., pa.Array]
    arguments: tuple[str, ...]
    result: str
    """SQL types that both targets know."""


def _each(function: Callable[..., Any], result: pa.DataType, *columns: pa.Array) -> pa.Array:
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    return pa.array([None if None in row else function(*row) for row in rows], result)


def _by_row(function: Callable[..., Any], result: pa.DataType, arity: int = 1) -> Callable[..., pa.Array]:
    """Return the kernel that calls a function for each row; NULL where an argument is NULL.

    Both targets read the number of arguments from the signature.
    """

    def one(a: pa.Array) -> pa.Array:
        return _each(function, result, a)

    def two(a: pa.Array, b: pa.Array) -> pa.Array:
        return _each(function, result, a, b)

    def four(a: pa.Array, b: pa.Array, c: pa.Array, d: pa.Array) -> pa.Array:
        return _each(function, result, a, b, c, d)

    kernels: dict[int, Callable[..., pa.Array]] = {1: one, 2: two, 4: four}
    return kernels[arity]


def _quotient(dividend: Decimal, divisor: Decimal) -> Decimal | None:
    """Return the quotient cut off after 18 places; None where it does not fit, or of a division by zero."""
    one, other = (int(value.scaleb(18, _WIDE)) for value in (dividend, divisor))
    if other == 0:
        return None
    scaled = abs(one) * 10**18 // abs(other)
    if scaled >= 10**38:
        return None
    return Decimal(scaled if (one < 0) == (other < 0) else -scaled).scaleb(-18, _WIDE)


def _typed(lexical: str, datatype: str) -> str | None:
    return None if datatype == RDF_LANG_STRING else term_text(Literal(lexical, datatype))


def _formed(lexical: str, datatype: str) -> str | None:
    """Return the lexical form itself if the datatype allows it."""
    return None if lexical_kind(lexical, datatype) is Kind.OTHER else lexical


def _iri(reference: str, base: str) -> str | None:
    """Return the absolute IRI; None where there is none."""
    if not base and not is_absolute(reference):
        return None
    found = resolve(reference, base) if base else reference
    return found if _IRI.fullmatch(f"<{found}>") and "\\" not in found else None


def _instant(milliseconds: int) -> str | None:
    """Return an instant as xsd:dateTime in UTC; None outside the years 1 to 9999."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    fraction = f".{moment.microsecond // 1000:03d}".rstrip("0") if moment.microsecond else ""
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}{fraction}Z"


@lru_cache(1024)
def _pattern(pattern: str, flags: str) -> TranslatedPattern | None:
    try:
        return translate(pattern, flags)
    except InvalidPatternError:
        return None


def _found(texts: pa.Array, pattern: str, *, ignore_case: bool) -> pa.Array:
    """Return whether a translated pattern is found: RE2, in linear time."""
    try:
        return pc.match_substring_regex(texts, pattern, ignore_case=ignore_case)
    except pa.ArrowInvalid:
        return pa.nulls(len(texts), pa.bool_())


def _match(texts: pa.Array, patterns: pa.Array, flags: pa.Array) -> pa.Array:
    """Return whether the translated pattern, the same in all rows, is found."""
    if not len(texts):
        return pa.array([], pa.bool_())
    return _found(texts, patterns[0].as_py(), ignore_case="i" in flags[0].as_py())


def _regex(texts: pa.Array, patterns: pa.Array, flags: pa.Array) -> pa.Array:
    """Return REGEX for patterns that are known only now."""

    def one(text: str, pattern: str, options: str) -> bool | None:
        wanted = _pattern(pattern, options)
        if wanted is None:
            return None
        found: bool | None = _found(pa.array([text]), wanted.text, ignore_case=wanted.ignore_case)[0].as_py()
        return found

    return _each(one, pa.bool_(), texts, patterns, flags)


def _replace(text: str, pattern: str, by: str, flags: str) -> str | None:
    """Return REPLACE; None where the pattern or the replacement is wrong, or the pattern matches nothing at all."""
    wanted = _pattern(pattern, flags)
    if wanted is None:
        return None
    groups = 0 if "q" in flags else wanted.text.replace("\\(", "").replace("(?", "").count("(")
    new = by.replace("\\", "\\\\") if "q" in flags else _replacement(by, groups)
    mode = "(?i)" if wanted.ignore_case else ""
    try:
        if new is None or pc.match_substring_regex(pa.array([""]), mode + wanted.text)[0].as_py():
            return None
        replaced: str = pc.replace_substring_regex(pa.array([text]), mode + wanted.text, new)[0].as_py()
    except pa.ArrowInvalid:
        return None
    return replaced


def _replacement(by: str, groups: int) -> str | None:
    r"""Return a replacement of XPath, `$1` and `\$`, as RE2 writes it; None where it is wrong."""
    written, at = [], 0
    while at < len(by):
        character, following = by[at], by[at + 1 : at + 2]
        if character == "\\":
            if following not in ("\\", "$"):
                return None
            written.append("\\\\" if following == "\\" else "$")
            at += 2
        elif character == "$":
            if not following.isdigit():
                return None
            # A group that the pattern does not have is empty.
            written.append(f"\\{following}" if int(following) <= groups else "")
            at += 2
        else:
            written.append(character)
            at += 1
    return "".join(written)


def _digest(function: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(function, text.encode()).hexdigest()


def _encode_for_uri(text: str) -> str:
    return quote(text, safe="-_.~")


def _double_string(value: float, is_float: bool) -> str:  # noqa: FBT001
    return double_string(float(single_text(value)) if is_float and abs(value) < 1e6 else value)


_TEXT, _NUMBER = pa.string(), pa.float64()
KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        kernel.name: kernel
        for kernel in (
            Kernel("hydrograph_term_id", _by_row(term_id, pa.int64()), ("VARCHAR",), "BIGINT"),
            Kernel("hydrograph_double_text", _by_row(double_text, _TEXT), ("DOUBLE",), "VARCHAR"),
            Kernel("hydrograph_single_text", _by_row(single_text, _TEXT), ("DOUBLE",), "VARCHAR"),
            Kernel("hydrograph_double_string", _by_row(_double_string, _TEXT, 2), ("DOUBLE", "BOOLEAN"), "VARCHAR"),
            Kernel("hydrograph_double_decimal", _by_row(double_decimal, _DECIMAL), ("DOUBLE",), _SQL_DECIMAL),
            Kernel("hydrograph_quotient", _by_row(_quotient, _DECIMAL, 2), (_SQL_DECIMAL, _SQL_DECIMAL), _SQL_DECIMAL),
            Kernel(
                "hydrograph_kind", _by_row(lambda text: int(encode_text(text).kind), pa.int8()), ("VARCHAR",), "TINYINT"
            ),
            Kernel("hydrograph_number", _by_row(lambda text: encode_text(text).num, _NUMBER), ("VARCHAR",), "DOUBLE"),
            Kernel(
                "hydrograph_decimal", _by_row(lambda text: encode_text(text).dec, _DECIMAL), ("VARCHAR",), _SQL_DECIMAL
            ),
            Kernel("hydrograph_typed", _by_row(_typed, _TEXT, 2), ("VARCHAR", "VARCHAR"), "VARCHAR"),
            Kernel("hydrograph_formed", _by_row(_formed, _TEXT, 2), ("VARCHAR", "VARCHAR"), "VARCHAR"),
            Kernel("hydrograph_iri", _by_row(_iri, _TEXT, 2), ("VARCHAR", "VARCHAR"), "VARCHAR"),
            Kernel("hydrograph_instant", _by_row(_instant, _TEXT), ("BIGINT",), "VARCHAR"),
            Kernel("hydrograph_encode_for_uri", _by_row(_encode_for_uri, _TEXT), ("VARCHAR",), "VARCHAR"),
            Kernel("hydrograph_upper", _by_row(str.upper, _TEXT), ("VARCHAR",), "VARCHAR"),
            Kernel("hydrograph_lower", _by_row(str.lower, _TEXT), ("VARCHAR",), "VARCHAR"),
            Kernel("hydrograph_sha384", _by_row(_digest("sha384"), _TEXT), ("VARCHAR",), "VARCHAR"),
            Kernel("hydrograph_sha512", _by_row(_digest("sha512"), _TEXT), ("VARCHAR",), "VARCHAR"),
            Kernel("hydrograph_match", _match, ("VARCHAR",) * 3, "BOOLEAN"),
            Kernel("hydrograph_regex", _regex, ("VARCHAR",) * 3, "BOOLEAN"),
            Kernel("hydrograph_replace", _by_row(_replace, _TEXT, 4), ("VARCHAR",) * 4, "VARCHAR"),
        )
    }
)


_CALL = re.compile(r"\b(hydrograph_\w+)\(")


def called_kernels(text: str) -> list[Kernel]:
    """Return the kernels that a SQL text calls."""
    names = set(_CALL.findall(text))
    return [kernel for name, kernel in KERNELS.items() if name in names]
