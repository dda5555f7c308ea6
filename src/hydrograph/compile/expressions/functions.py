"""[Built-in functions](https://www.w3.org/TR/sparql11-query/#SparqlOps) by name; casts by IRI."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from hydrograph.compile.expressions import dates, numbers, strings, terms
from hydrograph.compile.expressions.casts import CASTS
from hydrograph.compile.expressions.compare import same_term
from hydrograph.compile.expressions.context import EvaluationContext
from hydrograph.compile.expressions.values import LITERALS, BooleanValue, Value
from hydrograph.errors import UnsupportedError
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.terms import Iri

UNARY: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        "STR": terms.str_,
        "LANG": terms.lang,
        "DATATYPE": terms.datatype,
        "ISIRI": lambda value: terms.is_of(value, frozenset({Kind.IRI})),
        "ISBLANK": lambda value: terms.is_of(value, frozenset({Kind.BLANK})),
        "ISLITERAL": lambda value: terms.is_of(value, LITERALS),
        "ISNUMERIC": terms.is_numeric,
        "ABS": numbers.absolute,
        "CEIL": numbers.ceiling,
        "FLOOR": numbers.floor,
        "ROUND": numbers.rounded,
        "STRLEN": strings.length,
        "UCASE": strings.upper,
        "LCASE": strings.lower,
        "ENCODE_FOR_URI": strings.encode_for_uri,
        "YEAR": dates.year,
        "MONTH": dates.month,
        "DAY": dates.day,
        "HOURS": dates.hours,
        "MINUTES": dates.minutes,
        "SECONDS": dates.seconds,
        "TIMEZONE": dates.timezone,
        "TZ": dates.tz,
        **{name: strings.digest(name) for name in ("MD5", "SHA1", "SHA256", "SHA384", "SHA512")},
    }
)
BINARY: Mapping[str, Callable[[Value, Value], Value]] = MappingProxyType(
    {
        "SAMETERM": lambda left, right: BooleanValue(same_term(left, right)),
        "STRSTARTS": strings.starts_with,
        "STRENDS": strings.ends_with,
        "CONTAINS": strings.contains,
        "STRBEFORE": strings.before,
        "STRAFTER": strings.after,
        "LANGMATCHES": strings.language_matches,
        "STRLANG": terms.str_lang,
        "STRDT": terms.str_dt,
    }
)
NULLARY: Mapping[str, Callable[[EvaluationContext], Value]] = MappingProxyType(
    {
        "NOW": EvaluationContext.now,
        "RAND": EvaluationContext.random,
        "UUID": EvaluationContext.uuid,
        "STRUUID": EvaluationContext.str_uuid,
    }
)


def call(function: str | Iri, arguments: Sequence[Value], context: EvaluationContext) -> Value:
    """Return the value of a function that evaluates all its arguments."""
    if isinstance(function, Iri):
        return _cast(function, arguments)
    match function, tuple(arguments):
        case name, () if name in NULLARY:
            return NULLARY[name](context)
        case name, (value,) if name in UNARY:
            return UNARY[name](value)
        case name, (left, right) if name in BINARY:
            return BINARY[name](left, right)
        case "CONCAT", values:
            return strings.concat(values)
        case "SUBSTR", (value, start, *rest):
            return strings.substring(value, start, *rest)
        case "IRI", (value, *rest):
            return terms.iri(value, rest[0] if rest else None)
        case "BNODE", ():
            return context.blank_node(None)
        case "BNODE", (label,):
            text = strings.string(label, strings.SIMPLE)
            return numbers.NOTHING if text is None else context.blank_node(text)
        case "BNODE", (label, solution):  # made by `share_blank_node_labels` only
            text, named = strings.string(label, strings.SIMPLE), strings.string(solution, strings.SIMPLE)
            return numbers.NOTHING if text is None or named is None else context.blank_node(text, named)
        case "REGEX", (value, pattern, *rest):
            return strings.matches(value, pattern, rest[0] if rest else None, context.parameters)
        case "REPLACE", (value, pattern, by, *rest):
            return strings.replace(value, pattern, by, rest[0] if rest else None)
        case name, _:
            raise UnsupportedError(f"{name} with {len(arguments)} arguments is not supported")


def _cast(name: Iri, arguments: Sequence[Value]) -> Value:
    cast = CASTS.get(name.value)
    if cast is None or len(arguments) != 1:
        known = ", ".join(sorted(CASTS))
        raise UnsupportedError(f"no function <{name.value}> of {len(arguments)} arguments; known casts: {known}")
    return cast(arguments[0])
