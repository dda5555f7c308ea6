"""Which lexical forms the XSD datatypes allow, and the numbers they stand for.

The rules are those of [XSD 1.1](https://www.w3.org/TR/xmlschema11-2/), not the lax ones of Python or SQL: `1_000`,
` 1 `, `0x10` and `inf` are no numbers. Each rule is one regular expression in the subset that Python and Java share, so
that both readers of a stream decide by the same text.
"""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from decimal import ROUND_DOWN, Context, Decimal
from enum import IntEnum

from hydrograph.rdf.terms import Literal
from hydrograph.rdf.vocab import (
    RDF_LANG_STRING,
    XSD,
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


class Kind(IntEnum):
    """What a term is, as far as expressions need to know; an ill-typed literal is OTHER."""

    IRI = 0
    BLANK = 1
    STRING = 2
    LANG = 3
    INTEGER = 4
    DECIMAL = 5
    FLOAT = 6
    DOUBLE = 7
    BOOLEAN = 8
    DATETIME = 9
    DATE = 10
    TIME = 11
    DURATION = 12
    OTHER = 15


NUMERIC = (Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT, Kind.DOUBLE)
INEXACT = frozenset({int(Kind.FLOAT), int(Kind.DOUBLE)})


@dataclass(frozen=True, slots=True)
class Rule:
    """The lexical forms of one datatype, as a regular expression."""

    kind: Kind
    pattern: str


_INTEGER = "[+-]?[0-9]+"
_DECIMAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DOUBLE = rf"{_DECIMAL}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN"
_YEAR = "(?=(?:[1-9][0-9]{3,}|0[0-9]{3})-)"
_LEAP = "[0-9]*(?:(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
_DAY = (
    "(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_DATE = f"-?{_YEAR}(?:[0-9]+-{_DAY}|{_LEAP}-02-29)"
_TIME = r"(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
_ZONE = "(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
_MONTHS = "(?:[0-9]+Y)?(?:[0-9]+M)?"
_SECONDS = r"(?:[0-9]+D)?(?:T(?=[0-9])(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:\.[0-9]+)?S)?)?"


def _at_most(number: int) -> str:
    """Return a regular expression for the decimal digits of 0 to `number`."""
    digits = str(number)
    shorter = [f"[0-9]{{1,{len(digits) - 1}}}"]
    below = [
        f"{digits[:at]}[0-{int(digit) - 1}][0-9]{{{len(digits) - at - 1}}}"
        for at, digit in enumerate(digits)
        if digit != "0"
    ]
    return f"(?:{'|'.join([*shorter, *below, digits])})"


def _signed(bits: int) -> Rule:
    most = 2 ** (bits - 1)
    return Rule(Kind.INTEGER, rf"\+?0*{_at_most(most - 1)}|-0*{_at_most(most)}")


def _unsigned(bits: int) -> Rule:
    return Rule(Kind.INTEGER, rf"\+?0*{_at_most(2**bits - 1)}|-0+")


RULES: dict[str, Rule] = {
    XSD_INTEGER: Rule(Kind.INTEGER, _INTEGER),
    XSD_DECIMAL: Rule(Kind.DECIMAL, _DECIMAL),
    XSD_DOUBLE: Rule(Kind.DOUBLE, _DOUBLE),
    XSD_FLOAT: Rule(Kind.FLOAT, _DOUBLE),
    XSD_BOOLEAN: Rule(Kind.BOOLEAN, "true|false|1|0"),
    XSD_DATE_TIME: Rule(Kind.DATETIME, f"{_DATE}T{_TIME}{_ZONE}?"),
    XSD + "dateTimeStamp": Rule(Kind.DATETIME, f"{_DATE}T{_TIME}{_ZONE}"),
    XSD_DATE: Rule(Kind.DATE, f"{_DATE}{_ZONE}?"),
    XSD_TIME: Rule(Kind.TIME, f"{_TIME}{_ZONE}?"),
    XSD_DURATION: Rule(Kind.DURATION, f"-?P(?=[0-9T]){_MONTHS}{_SECONDS}"),
    XSD_DAY_TIME_DURATION: Rule(Kind.DURATION, f"-?P(?=[0-9T]){_SECONDS}"),
    XSD + "yearMonthDuration": Rule(Kind.DURATION, f"-?P(?=[0-9]){_MONTHS}"),
    XSD + "nonNegativeInteger": Rule(Kind.INTEGER, r"\+?[0-9]+|-0+"),
    XSD + "positiveInteger": Rule(Kind.INTEGER, r"\+?0*[1-9][0-9]*"),
    XSD + "nonPositiveInteger": Rule(Kind.INTEGER, r"-[0-9]+|\+?0+"),
    XSD + "negativeInteger": Rule(Kind.INTEGER, "-0*[1-9][0-9]*"),
    XSD + "long": _signed(64),
    XSD + "int": _signed(32),
    XSD + "short": _signed(16),
    XSD + "byte": _signed(8),
    XSD + "unsignedLong": _unsigned(64),
    XSD + "unsignedInt": _unsigned(32),
    XSD + "unsignedShort": _unsigned(16),
    XSD + "unsignedByte": _unsigned(8),
}
"""The datatypes whose values Hydrograph knows; the common ones first."""

DATATYPES: dict[Kind, str] = {
    Kind.STRING: XSD_STRING,
    Kind.LANG: RDF_LANG_STRING,
    Kind.INTEGER: XSD_INTEGER,
    Kind.DECIMAL: XSD_DECIMAL,
    Kind.FLOAT: XSD_FLOAT,
    Kind.DOUBLE: XSD_DOUBLE,
    Kind.BOOLEAN: XSD_BOOLEAN,
    Kind.DATETIME: XSD_DATE_TIME,
    Kind.DATE: XSD_DATE,
    Kind.TIME: XSD_TIME,
}
"""The datatype of a computed literal of each kind."""

EXACT = r"[+-]?0*[0-9]{0,20}(?:\.[0-9]{0,18}0*)?"
"""Which of the lexical forms of integers and decimals fit DECIMAL(38,18) without rounding."""

_PATTERNS = {datatype: re.compile(rule.pattern) for datatype, rule in RULES.items()}
_EXACT = re.compile(EXACT)
_PLACES = 18
_WIDE = Context(prec=40)  # more than any exact value needs, so that cutting zeros off never rounds


def kind_of(literal: Literal) -> Kind:
    """Return what `literal` is; OTHER if its datatype is unknown or its lexical form not one of the datatype.

    >>> kind_of(Literal("5.", XSD_DECIMAL)), kind_of(Literal("1_000", XSD_INTEGER))
    (<Kind.DECIMAL: 5>, <Kind.OTHER: 15>)
    >>> kind_of(Literal("127", XSD + "byte")), kind_of(Literal("128", XSD + "byte"))
    (<Kind.INTEGER: 4>, <Kind.OTHER: 15>)
    """
    if literal.language is not None:
        return Kind.LANG
    if literal.datatype == XSD_STRING:
        return Kind.STRING
    return lexical_kind(literal.lexical, literal.datatype)


def lexical_kind(lexical: str, datatype: str) -> Kind:
    """Return the kind of a typed literal that is not a string."""
    pattern = _PATTERNS.get(datatype)
    if pattern is None or pattern.fullmatch(lexical) is None:
        return Kind.OTHER
    return RULES[datatype].kind


def double_of(lexical: str, kind: Kind) -> float | None:
    """Return the number of a well-formed lexical form as a double (a float rounded to single precision), else None.

    >>> double_of("-INF", Kind.DOUBLE), double_of("0.1", Kind.FLOAT), double_of("true", Kind.BOOLEAN)
    (-inf, 0.10000000149011612, None)
    """
    if kind is Kind.FLOAT:
        return _single(lexical)
    return float(lexical) if kind in NUMERIC else None


def decimal_of(lexical: str, kind: Kind) -> Decimal | None:
    """Return the exact value of an integer or decimal if it fits DECIMAL(38,18), else None.

    >>> decimal_of("1.50", Kind.DECIMAL), decimal_of("1e3", Kind.DOUBLE), decimal_of("9" * 21, Kind.INTEGER)
    (Decimal('1.50'), None, None)
    """
    if kind not in (Kind.INTEGER, Kind.DECIMAL) or _EXACT.fullmatch(lexical) is None:
        return None
    value = Decimal(lexical)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return value if exponent >= -_PLACES else value.quantize(Decimal((0, (1,), -_PLACES)), context=_WIDE)


_TINY, _HUGE = 1e-50, 1e39  # outside, every double rounds to zero or infinity as a single


def _single(lexical: str) -> float:
    """Return the single-precision number nearest to `lexical`, rounded once and not by way of the double."""
    double = float(lexical)
    if not _TINY < abs(double) < _HUGE:
        return double * (0.0 if abs(double) <= _TINY else math.inf)  # keeps the sign, and NaN
    exact, (bits,) = Decimal(lexical), struct.unpack("<q", struct.pack("<d", double))
    if exact != Decimal(double) and not bits & 1:
        # Round to odd: keeps on which side of a tie between two singles the text lies.
        double = math.nextafter(double, math.inf if exact > Decimal(double) else -math.inf)
    try:
        return float(struct.unpack("<f", struct.pack("<f", double))[0])
    except OverflowError:
        return math.copysign(math.inf, double)


def is_single(value: float) -> bool:
    """Tell whether single precision holds the number exactly.

    >>> is_single(30.0), is_single(0.1)
    (True, False)
    """
    try:
        return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)
    except OverflowError:
        return False


def double_text(value: float) -> str:
    """Return the canonical lexical form of a double.

    >>> double_text(0.1), double_text(1e21), double_text(-250.0)
    ('1.0E-1', '1.0E21', '-2.5E2')
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "INF" if value > 0 else "-INF"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) - 1 + exponent if any(digits) else 0
    return f"{'-' if sign else ''}{written[0]}.{written[1:] or '0'}E{power}"


def double_string(value: float) -> str:
    """Return a double as a [cast to xsd:string](https://www.w3.org/TR/xpath-functions/#casting-to-string) writes it.

    >>> double_string(0.1), double_string(-250.0), double_string(1e21), double_string(-0.0)
    ('0.1', '-250', '1.0E21', '-0')
    """
    if value == 0 or 1e-6 <= abs(value) < 1e6:
        written = format(Decimal(repr(value)), "f")
        return written.rstrip("0").rstrip(".") if "." in written else written
    return double_text(value)


def double_decimal(value: float) -> Decimal | None:
    """Return the decimal with the digits of a double, cut off after 18 places; None where it does not fit.

    >>> double_decimal(0.1), double_decimal(1e20), double_decimal(float("nan"))
    (Decimal('0.100000000000000000'), None, None)
    """
    if not abs(value) < 10.0 ** (38 - _PLACES):
        return None
    return Decimal(repr(value)).quantize(Decimal((0, (1,), -_PLACES)), ROUND_DOWN, context=_WIDE)


def single_text(value: float) -> str:
    """Return the canonical lexical form of a number that single precision holds: as few digits as tell it apart.

    >>> single_text(0.10000000149011612), double_text(0.10000000149011612)
    ('1.0E-1', '1.0000000149011612E-1')
    """
    if value != value or math.isinf(value) or value == 0:
        return double_text(value)
    for digits in range(1, 10):
        written = f"{value:.{digits - 1}e}"
        if _single(written) == value:
            return double_text(float(written))
    return double_text(value)
