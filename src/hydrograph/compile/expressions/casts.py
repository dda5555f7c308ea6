"""[Constructor functions](https://www.w3.org/TR/sparql11-query/#FunctionMapping): casts to XSD types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from hydrograph.compile import sql
from hydrograph.compile import sql_nodes as nodes
from hydrograph.compile.expressions.dates import DateTimeFields, midnight, with_fields
from hydrograph.compile.expressions.numbers import NOTHING
from hydrograph.compile.expressions.strings import SIMPLE, of_kinds, string
from hydrograph.compile.expressions.values import (
    EXACT,
    INEXACT,
    NUMBERS,
    BooleanValue,
    Kinds,
    LexicalValue,
    NumberValue,
    StringValue,
    Value,
    double,
)
from hydrograph.compile.sql import Sql
from hydrograph.rdf.encoding import Kind
from hydrograph.rdf.vocab import (
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATE_TIME,
    XSD_DAY_TIME_DURATION,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_DURATION,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
    XSD_TIME,
)

_BOOLEAN: Kinds = frozenset({Kind.BOOLEAN})
_INTEGER_FORM = "^[+-]?[0-9]+$"
_DECIMAL_FORM = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)$"
_DOUBLE_FORM = "^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_SPECIAL = (("INF", "Infinity"), ("+INF", "Infinity"), ("-INF", "-Infinity"), ("NaN", "NaN"))


def _stripped(value: Value) -> Sql | None:
    """Return a simple string without white space around it."""
    text = string(value, SIMPLE)
    if text is None:
        return None
    spaces = sql.concat(sql.text(" "), sql.character(9), sql.character(10), sql.character(13))
    return nodes.StripCharacters(this=text, characters=spaces)


def _first(*sources: Sql | None) -> Sql | None:
    """Return the first that is not NULL; None if there is none at all."""
    given = [source for source in sources if source is not None]
    if not given:
        return None
    return given[0] if len(given) == 1 else sql.coalesce(*given)


def _number(kind: Kind, exact: Sql | None = None, inexact: Sql | None = None) -> Value:
    if exact is None and inexact is None:
        return NOTHING
    return NumberValue(frozenset({kind}), sql.num(kind), exact, inexact)


def _written_as(text: Sql, form: str, to: str) -> Sql:
    return sql.let(
        text, lambda t: sql.when((nodes.Matches(this=t, expression=sql.text(form)), sql.safe_cast(t.copy(), to)))
    )


def _bit(value: Value, one: Sql, zero: Sql) -> Sql | None:
    def read() -> Sql:
        truth = sql.paren(value.truth())
        return sql.when((truth, one), (sql.negate(truth.copy()), zero))

    return of_kinds(value, _BOOLEAN, read)


def _decimal_of(value: Value, form: str) -> Sql | None:
    text = _stripped(value)
    inexact = value.inexact()
    return _first(
        value.exact(),
        None if inexact is None else sql.kernel("hydrograph_double_decimal", inexact),
        _bit(value, sql.cast(sql.num(1), sql.DECIMAL), sql.cast(sql.num(0), sql.DECIMAL)),
        None if text is None else _written_as(text, form, sql.DECIMAL),
    )


def to_decimal(value: Value) -> Value:
    """Return xsd:decimal."""
    return _number(Kind.DECIMAL, _decimal_of(value, _DECIMAL_FORM))


def to_integer(value: Value) -> Value:
    """Return xsd:integer: a fraction is cut off."""
    found = _decimal_of(value, _INTEGER_FORM)
    if found is None:
        return NOTHING
    if value.kinds & NUMBERS <= {Kind.INTEGER}:
        return _number(Kind.INTEGER, found)

    def cut(x: Sql) -> Sql:
        down, up = (nodes.RoundDecimal(this=x.copy(), function=function) for function in ("FLOOR", "CEIL"))
        return sql.when((sql.less(x.copy(), sql.num(0)), up), otherwise=down)

    return _number(Kind.INTEGER, sql.let(found, cut))


def _double_of(value: Value, *, single: bool) -> Sql | None:
    text = _stripped(value)
    written = None if text is None else sql.let(text, lambda t: _parsed(t, single=single))
    number = of_kinds(value, NUMBERS, value.double) if value.kinds & NUMBERS else None
    if single and number is not None:
        number = sql.let(number, lambda x: nodes.SinglePrecision(this=x))
    return _first(number, _bit(value, double(1.0), double(0.0)), written)


def _parsed(text: Sql, *, single: bool) -> Sql:
    special = [(sql.equal(text.copy(), sql.text(name)), sql.cast(sql.text(x), "DOUBLE")) for name, x in _SPECIAL]
    formed = nodes.Matches(this=text.copy(), expression=sql.text(_DOUBLE_FORM))
    return sql.when(*special, (formed, nodes.ParseDouble(this=text.copy(), single=single)))


def to_double(value: Value) -> Value:
    """Return xsd:double."""
    return _number(Kind.DOUBLE, None, _double_of(value, single=False))


def to_float(value: Value) -> Value:
    """Return xsd:float."""
    return _number(Kind.FLOAT, None, _double_of(value, single=True))


def to_boolean(value: Value) -> Value:
    """Return xsd:boolean: of numbers, all but zero and NaN are true."""
    text = _stripped(value)
    sources: list[Sql | None] = [of_kinds(value, _BOOLEAN, value.truth) if Kind.BOOLEAN in value.kinds else None]
    if value.kinds & NUMBERS:
        sources.append(of_kinds(value, NUMBERS, lambda: non_zero(value)))
    if text is not None:
        sources.append(
            sql.let(
                text,
                lambda t: sql.when(
                    (sql.one_of_texts(t.copy(), ["true", "1"]), sql.TRUE.copy()),
                    (sql.one_of_texts(t.copy(), ["false", "0"]), sql.FALSE.copy()),
                ),
            )
        )
    found = _first(*sources)
    return NOTHING if found is None else BooleanValue(found)


def non_zero(value: Value) -> Sql:
    """Return whether a number is neither zero nor NaN."""
    return sql.let(
        value.double(),
        lambda x: sql.negate(sql.any_of([sql.equal(x.copy(), double(0.0)), nodes.IsNan(this=x.copy())])),
    )


def to_string(value: Value) -> Value:
    """Return xsd:string: an IRI, or the canonical form of a value."""
    as_written = value.kinds & {Kind.IRI, Kind.STRING, Kind.DATETIME, Kind.DATE, Kind.TIME, Kind.DURATION}
    exact, inexact = value.exact(), value.inexact()
    found = _first(
        of_kinds(value, as_written, value.lexical) if as_written else None,
        None if exact is None else nodes.DecimalText(this=exact),
        None if inexact is None else nodes.DoubleString(this=inexact, single=_is_float(value)),
        _bit(value, sql.text("true"), sql.text("false")),
        of_kinds(value, EXACT, value.lexical) if value.kinds & EXACT else None,  # beyond DECIMAL(38,18)
    )
    return NOTHING if found is None else StringValue(found)


def _is_float(value: Value) -> Sql:
    if value.kinds & INEXACT == {Kind.DOUBLE}:
        return sql.FALSE.copy()
    return sql.equal(value.number_kind(), sql.num(Kind.FLOAT))


def _lexical_cast(
    kind: Kind, datatype: str, convert: Mapping[Kind, Callable[[DateTimeFields], Sql]] = MappingProxyType({})
) -> Callable[[Value], Value]:
    """Return the cast to a type whose values are kept as they are written."""

    def cast(value: Value) -> Value:
        text = _stripped(value)
        sources = [of_kinds(value, frozenset({kind}), value.lexical) if kind in value.kinds else None]
        for source, read in convert.items():
            if source in value.kinds:
                sources.append(
                    of_kinds(
                        value,
                        frozenset({source}),
                        lambda read=read: with_fields(value.lexical(), read),  # type: ignore[misc]
                    )
                )
        if text is not None:
            sources.append(sql.kernel("hydrograph_formed", text, sql.text(datatype)))
        found = _first(*sources)
        return NOTHING if found is None else LexicalValue(frozenset({kind}), found, datatype)

    return cast


def _date_of(fields: DateTimeFields) -> Sql:
    date = sql.call("left", fields.lexical.copy(), sql.subtract(_t_position(fields), sql.num(1)))
    return sql.concat(date, fields.zone())


def _time_of(fields: DateTimeFields) -> Sql:
    return sql.call("substring", fields.lexical.copy(), sql.add(_t_position(fields), sql.num(1)))


def _t_position(fields: DateTimeFields) -> Sql:
    return sql.call("instr", fields.lexical.copy(), sql.text("T"))


CASTS: Mapping[str, Callable[[Value], Value]] = MappingProxyType(
    {
        XSD_STRING: to_string,
        XSD_BOOLEAN: to_boolean,
        XSD_INTEGER: to_integer,
        XSD_DECIMAL: to_decimal,
        XSD_FLOAT: to_float,
        XSD_DOUBLE: to_double,
        XSD_DATE_TIME: _lexical_cast(Kind.DATETIME, XSD_DATE_TIME, {Kind.DATE: midnight}),
        XSD_DATE: _lexical_cast(Kind.DATE, XSD_DATE, {Kind.DATETIME: _date_of}),
        XSD_TIME: _lexical_cast(Kind.TIME, XSD_TIME, {Kind.DATETIME: _time_of}),
        XSD_DURATION: _lexical_cast(Kind.DURATION, XSD_DURATION),
        XSD_DAY_TIME_DURATION: _lexical_cast(Kind.DURATION, XSD_DAY_TIME_DURATION),
    }
)
"""The casts, by the IRI of the type."""
