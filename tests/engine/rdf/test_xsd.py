"""Lexical rules of XSD, and the numbers behind them."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hydrograph.rdf.terms import Literal
from hydrograph.rdf.vocab import XSD
from hydrograph.rdf.xsd import Kind, decimal_of, double_of, kind_of


@pytest.mark.parametrize(
    "text", ["1_000", " 1", "1 ", "0x10", "inf", "nan", "Infinity", "", ".", "+", "1e5x", "\uff11"]
)
@pytest.mark.parametrize("datatype", ["integer", "decimal", "double", "float", "long"])
def test_no_numbers(text: str, datatype: str) -> None:
    assert kind_of(Literal(text, XSD + datatype)) is Kind.OTHER


@pytest.mark.parametrize(
    ("text", "datatype", "kind"),
    [
        ("5.", "decimal", Kind.DECIMAL),
        (".5", "decimal", Kind.DECIMAL),
        ("1e5", "decimal", Kind.OTHER),
        ("1e5", "double", Kind.DOUBLE),
        ("+INF", "double", Kind.DOUBLE),
        ("-INF", "float", Kind.FLOAT),
        ("-NaN", "float", Kind.OTHER),
        ("5.0", "integer", Kind.OTHER),
        ("-0", "nonNegativeInteger", Kind.INTEGER),
        ("-1", "nonNegativeInteger", Kind.OTHER),
        ("0", "positiveInteger", Kind.OTHER),
        ("+0", "nonPositiveInteger", Kind.INTEGER),
        ("0", "negativeInteger", Kind.OTHER),
        ("-128", "byte", Kind.INTEGER),
        ("-129", "byte", Kind.OTHER),
        ("9223372036854775807", "long", Kind.INTEGER),
        ("9223372036854775808", "long", Kind.OTHER),
        ("18446744073709551615", "unsignedLong", Kind.INTEGER),
        ("18446744073709551616", "unsignedLong", Kind.OTHER),
        ("0" * 5000 + "7", "unsignedByte", Kind.INTEGER),
        ("9" * 5000, "long", Kind.OTHER),
        ("9" * 5000, "integer", Kind.INTEGER),
        ("1", "boolean", Kind.BOOLEAN),
        ("True", "boolean", Kind.OTHER),
        ("2024-02-29", "date", Kind.DATE),
        ("2100-02-29", "date", Kind.OTHER),
        ("12400-02-29", "date", Kind.DATE),
        ("02024-01-01", "date", Kind.OTHER),
        ("2024-01-01T24:00:00", "dateTime", Kind.DATETIME),
        ("2024-01-01T00:00:00", "dateTimeStamp", Kind.OTHER),
        ("P1DT", "duration", Kind.OTHER),
        ("P1Y", "dayTimeDuration", Kind.OTHER),
        ("PT0.5S", "dayTimeDuration", Kind.DURATION),
        ("x", "string", Kind.STRING),
        ("2024", "gYear", Kind.OTHER),
    ],
)
def test_kinds(text: str, datatype: str, kind: Kind) -> None:
    assert kind_of(Literal(text, XSD + datatype)) is kind


def test_language_tagged_strings() -> None:
    assert kind_of(Literal.tagged("x", "en")) is Kind.LANG


def test_doubles() -> None:
    assert double_of("9" * 400, Kind.INTEGER) == math.inf
    assert double_of("+INF", Kind.DOUBLE) == math.inf
    assert math.isnan(double_of("NaN", Kind.FLOAT) or 0.0)
    assert str(double_of("-1e-60", Kind.FLOAT)) == "-0.0"


LARGEST_BUT_ONE = float(np.nextafter(np.finfo(np.float32).max, np.float32(0)))
"""The largest single that has one above it."""


@given(
    st.floats(max_value=LARGEST_BUT_ONE, allow_nan=False, allow_infinity=False, width=32),
    st.integers(-3, 3),
    st.integers(20, 30),
)
def test_floats_are_rounded_once(single: float, nudge: int, digits: int) -> None:
    # Next to the tie between two neighbouring singles, where rounding by way of the double goes wrong.
    above = float(np.nextafter(np.float32(single), np.float32(math.inf)))
    if math.isinf(above):
        return
    tie = (Decimal(single) + Decimal(above)) / 2
    exact = Fraction(tie) + Fraction(nudge, 10 ** (digits + 60))
    text = format(Decimal(exact.numerator) / Decimal(exact.denominator), "f")
    got = Fraction(double_of(text, Kind.FLOAT) or 0.0)
    value = Fraction(Decimal(text))
    assert abs(got - value) == min(abs(Fraction(single) - value), abs(Fraction(above) - value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.50", Decimal("1.5")),
        ("-007", Decimal(-7)),
        ("1." + "0" * 40, Decimal(1)),
        ("0." + "1" * 18, Decimal("0." + "1" * 18)),
        ("0." + "1" * 19, None),
        ("9" * 20 + "." + "9" * 18, Decimal("9" * 20 + "." + "9" * 18)),
        ("1" + "0" * 20, None),
    ],
)
def test_exact_decimals(text: str, value: Decimal | None) -> None:
    assert decimal_of(text, Kind.DECIMAL) == value
