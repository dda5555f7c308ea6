"""A mistake planted in each family of expressions: the table must notice every one."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from sqlglot import exp

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions import casts, compare, context, dates, evaluate, functions, numbers, strings, terms
from hydrograph.compile.expressions.values import BooleanValue, IntegerValue, StringValue
from hydrograph.compile.printers import Target
from tests.support.expression_table import Case, differences, read_cases, run_locally

Patch = Callable[[pytest.MonkeyPatch], None]


def function(name: str, changed: Callable[[Any], Any]) -> Patch:
    """Return the mistake that puts another function in the place of a built-in one."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        for table in ("UNARY", "BINARY", "NULLARY"):
            known = getattr(functions, table)
            if name in known:
                patch.setattr(functions, table, MappingProxyType({**known, name: changed(known[name])}))
                return
        raise AssertionError(name)

    return plant


def replaced(module: Any, name: str, changed: Callable[[Any], Any]) -> Patch:
    """Return the mistake that puts something else in the place of a module's own."""
    return lambda patch: patch.setattr(module, name, changed(getattr(module, name)))


def by_doubles(operation: Callable[..., sql.Sql]) -> Callable[[sql.Sql, sql.Sql, Any], sql.Sql]:
    """Compute with doubles what has to be exact."""

    def compute(left: sql.Sql, right: sql.Sql, _: Any) -> sql.Sql:
        one, other = (sql.cast(side, "DOUBLE") for side in (left, right))
        return sql.safe_cast(operation(this=one, expression=other), sql.DECIMAL)

    return compute


def swapped(inner: Callable[..., Any]) -> Callable[..., Any]:
    return lambda left, right, *rest: inner(right, left, *rest)


def operator(was: str, is_: str) -> Patch:
    """Return the mistake that takes one operator for another."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        known: Callable[..., Any] = compare.compare
        patch.setattr(evaluate, "compare", lambda op, *sides: known(is_ if op == was else op, *sides))

    return plant


def arithmetic(was: str, is_: str) -> Patch:
    def plant(patch: pytest.MonkeyPatch) -> None:
        known: Callable[..., Any] = numbers.calculate
        patch.setattr(evaluate, "calculate", lambda op, *sides: known(is_ if op == was else op, *sides))

    return plant


def cast_to(datatype: str, other: str) -> Patch:
    """Return the mistake that makes one cast another."""
    name = f"http://www.w3.org/2001/XMLSchema#{datatype}"

    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(functions, "CASTS", {**casts.CASTS, name: casts.CASTS[name.replace(datatype, other)]})

    return plant


def one_more(inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def changed(value: Any) -> Any:
        found = inner(value)
        return IntegerValue(sql.add(found.value, sql.num(1))) if isinstance(found, IntegerValue) else found

    return changed


def without_tag(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Forget the language of a string."""

    def changed(*values: Any) -> Any:
        found = inner(*values)
        return StringValue(found.text) if isinstance(found, StringValue) else found

    return changed


DIGESTS = {"MD5": "SHA1", "SHA1": "MD5", "SHA256": "SHA1", "SHA384": "SHA256", "SHA512": "SHA384"}


def digest_as(name: str, other: str) -> Patch:
    return function(name, lambda _: strings.digest(other))


WITHOUT_A_VALUE = {"RAND", "UUID", "STRUUID"}
"""Functions whose values differ at each call."""

MUTANTS: dict[str, tuple[Patch, tuple[str, ...]]] = {
    "comparison": (operator("<", "<="), ("<",)),
    "equality": (operator("=", "<="), ("=",)),
    "equal numbers of other types": (
        replaced(compare, "equal_numbers", lambda _: compare.same_term),
        ("=",),
    ),
    "order of strings": (replaced(compare, "compare_strings", lambda inner: swapped(inner)), ("<", ">")),
    "NaN": (replaced(compare, "no_nan_conditions", lambda _: lambda *_values: []), ("NaN",)),
    "dates without a zone": (replaced(dates, "LARGEST_ZONE", lambda _: 0), ("T",)),
    "durations": (replaced(dates, "SECONDS_PER_DAY", lambda day: day + 1), ("uration",)),
    "sameTerm": (
        function("SAMETERM", lambda _: lambda one, other: BooleanValue(compare.compare("=", one, other))),
        ("sameTerm",),
    ),
    "addition": (arithmetic("+", "-"), ("+",)),
    "subtraction": (arithmetic("-", "+"), ("-",)),
    "multiplication": (arithmetic("*", "+"), ("*",)),
    "division": (arithmetic("/", "*"), ("/",)),
    "promotion": (
        replaced(
            numbers,
            "promoted_kind",
            lambda inner: lambda *a, **k: sql.num(min(a[2])) if len(a[2]) > 1 else inner(*a, **k),
        ),
        ("+",),
    ),
    "single precision": (replaced(numbers, "round_to_single", lambda _: lambda value, *_rest: value), ("float",)),
    "quotients are cut": (replaced(numbers, "decimal_quotient", lambda _: by_doubles(exp.Div)), ("/",)),
    "negation": (replaced(evaluate, "negated", lambda _: lambda value: value), ("-",)),
    "effective boolean value": (
        replaced(evaluate, "non_zero", lambda _: lambda value: value.bound()),
        ("!", "IF", "&&", "||"),
    ),
    "errors in conditions": (
        replaced(
            evaluate, "effective_boolean", lambda inner: lambda value: sql.coalesce(inner(value), sql.FALSE.copy())
        ),
        ("!", "IF", "&&", "||"),
    ),
    "NOT": (replaced(sql, "negate", lambda _: sql.paren), ("!",)),
    "ABS": (function("ABS", lambda _: lambda value: value), ("ABS",)),
    "CEIL": (function("CEIL", lambda _: numbers.floor), ("CEIL",)),
    "FLOOR": (function("FLOOR", lambda _: numbers.ceiling), ("FLOOR",)),
    "ROUND": (function("ROUND", lambda _: numbers.floor), ("ROUND",)),
    "STR": (function("STR", lambda _: lambda value: value), ("STR(",)),
    "LANG": (function("LANG", lambda _: terms.str_), ("LANG(",)),
    "DATATYPE": (function("DATATYPE", lambda _: terms.str_), ("DATATYPE",)),
    "IRI": (replaced(terms, "iri", lambda inner: lambda value, _base: inner(value, None)), ("IRI(", "URI(")),
    "isIRI": (function("ISIRI", lambda _: terms.is_numeric), ("isIRI", "isURI")),
    "isBlank": (function("ISBLANK", lambda _: terms.is_numeric), ("isBlank",)),
    "isLiteral": (function("ISLITERAL", lambda _: terms.is_numeric), ("isLiteral",)),
    "isNumeric": (function("ISNUMERIC", lambda _: functions.UNARY["ISLITERAL"]), ("isNumeric",)),
    "STRLANG": (function("STRLANG", lambda _: lambda value, _tag: terms.str_(value)), ("STRLANG",)),
    "STRDT": (function("STRDT", lambda _: lambda value, _type: terms.str_(value)), ("STRDT",)),
    "STRLEN": (function("STRLEN", one_more), ("STRLEN",)),
    "UCASE": (function("UCASE", lambda _: strings.lower), ("UCASE",)),
    "LCASE": (function("LCASE", lambda _: strings.upper), ("LCASE",)),
    "SUBSTR": (
        replaced(strings, "substring", lambda inner: lambda value, start, *_count: inner(value, start)),
        ("SUBSTR",),
    ),
    "STRSTARTS": (function("STRSTARTS", lambda _: strings.ends_with), ("STRSTARTS",)),
    "STRENDS": (function("STRENDS", lambda _: strings.starts_with), ("STRENDS",)),
    "CONTAINS": (function("CONTAINS", swapped), ("CONTAINS",)),
    "STRBEFORE": (function("STRBEFORE", lambda _: strings.after), ("STRBEFORE",)),
    "STRAFTER": (function("STRAFTER", lambda _: strings.before), ("STRAFTER",)),
    "compatible languages": (replaced(strings, "compatible_languages", lambda _: lambda *_sides: True), ("@",)),
    "CONCAT": (replaced(strings, "concat", lambda inner: lambda values: inner(tuple(reversed(values)))), ("CONCAT",)),
    "languages of results": (replaced(strings, "concat", without_tag), ("CONCAT",)),
    "langMatches": (function("LANGMATCHES", swapped), ("langMatches",)),
    "ENCODE_FOR_URI": (function("ENCODE_FOR_URI", lambda _: terms.str_), ("ENCODE_FOR_URI",)),
    "REGEX": (replaced(strings, "matches", lambda inner: lambda a, b, _flags, c: inner(a, b, None, c)), ("REGEX",)),
    "REPLACE": (
        replaced(strings, "replace", lambda inner: lambda a, b, c, _flags: inner(a, b, c, None)),
        ("REPLACE",),
    ),
    "YEAR": (function("YEAR", lambda _: dates.month), ("YEAR",)),
    "MONTH": (function("MONTH", lambda _: dates.day), ("MONTH",)),
    "DAY": (function("DAY", lambda _: dates.month), ("DAY",)),
    "HOURS": (function("HOURS", lambda _: dates.minutes), ("HOURS",)),
    "MINUTES": (function("MINUTES", lambda _: dates.hours), ("MINUTES",)),
    "SECONDS": (function("SECONDS", lambda _: dates.minutes), ("SECONDS",)),
    "TIMEZONE": (function("TIMEZONE", lambda _: dates.tz), ("TIMEZONE",)),
    "TZ": (function("TZ", lambda _: dates.timezone), ("TZ(",)),
    "days of months": (
        replaced(dates, "days_since_epoch", lambda _: lambda fields: sql.multiply(fields.month(), sql.num(30))),
        ("date",),
    ),
    **{name: (digest_as(name, other), (name,)) for name, other in DIGESTS.items()},
    "NOW": (
        replaced(context, "report_time", lambda inner: lambda validity: sql.add(inner(validity), sql.num(1))),
        ("NOW",),
    ),
    "cast to integer": (cast_to("integer", "decimal"), ("xsd:integer(",)),
    "cast to decimal": (cast_to("decimal", "double"), ("xsd:decimal(",)),
    "cast to double": (cast_to("double", "float"), ("xsd:double(",)),
    "cast to float": (cast_to("float", "double"), ("xsd:float(",)),
    "cast to boolean": (cast_to("boolean", "string"), ("xsd:boolean(",)),
    "cast to string": (cast_to("string", "boolean"), ("xsd:string(",)),
    "cast to dateTime": (cast_to("dateTime", "string"), ("xsd:dateTime(",)),
    "products of decimals": (
        lambda patch: patch.setattr(
            nodes, "DecimalProduct", lambda this, expression: by_doubles(exp.Mul)(this, expression, None)
        ),
        ("*",),
    ),
    "COALESCE": (
        replaced(
            evaluate, "ChoiceValue", lambda inner: lambda chosen, *switch: inner(tuple(reversed(chosen)), *switch)
        ),
        ("COALESCE", "IF("),
    ),
}


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    return read_cases()


@pytest.mark.parametrize("family", MUTANTS)
def test_a_planted_mistake_is_noticed(family: str, cases: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    mutant, words = MUTANTS[family]
    asked = [case for case in cases if any(word in case.text for word in words)]
    mutant(monkeypatch)
    try:
        found = differences(asked, run_locally, Target.DUCKDB, lift=False, batch=130)
    except AssertionError:  # what reads the values, or the table itself, holds them for impossible
        return
    assert found, f"none of {len(asked)} expressions notices it"


def test_every_function_has_a_mistake() -> None:
    known = {*functions.UNARY, *functions.BINARY, *functions.NULLARY, "CONCAT", "SUBSTR", "IRI", "REGEX", "REPLACE"}
    assert {name.upper() for name in known} - {name.upper() for name in MUTANTS} == WITHOUT_A_VALUE
