"""Compare two answers as bags of rows (A12), by one of three policies.

`exact`: integers, decimals, booleans and dates are equal by value, within one datatype; doubles and floats within 4
units in the last place of their own precision; every other term by identity; blank nodes up to a bijection of the whole
answer. `value`: numbers of different datatypes are equal too, if their values are: of integers and decimals exactly,
otherwise within the tolerance of the less precise of the two. `double`: the lexical form of every number is read as a
double, whatever its datatype, and doubles are compared; CSRBench's oracle does so. Only literals of numeric datatypes
are numbers: the string "1" is never equal to the integer 1.

Quotients of decimals (and AVG) are the one inexact place of exact numbers: pyoxigraph cuts 10/3 after 18 fraction
digits, rdflib rounds to 28 significant ones, and others round at 18. So two decimals are also equal if they differ by
at most one unit of the 18th fraction digit and at least one of them has that many.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from hydrograph.rdf.nquads import term_text
from hydrograph.rdf.terms import BlankNode, Literal, Term
from hydrograph.rdf.xsd import Kind, double_of, kind_of
from hydrograph.temporal import Instant
from hydrograph_gauge.oracle.dataset import Row
from hydrograph_gauge.oracle.evaluate import Report

ULPS = 4
QUOTIENT_DIGITS = 18
_TOLERANT = {Kind.DECIMAL, Kind.DOUBLE, Kind.FLOAT}
_DIGITS = {Kind.DOUBLE: (53, -1074), Kind.FLOAT: (24, -149)}  # bits of precision, exponent of the least number
_NUMBERS = {Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.FLOAT}
_PRECISION = (Kind.INTEGER, Kind.DECIMAL, Kind.DOUBLE, Kind.FLOAT)  # the most precise first


class Comparison(StrEnum):
    """Policy by which terms of two answers are equal."""

    EXACT = "exact"
    """Same datatype, equal value within it."""
    VALUE = "value"
    """Equal numeric value, whatever the datatypes."""
    DOUBLE = "double"
    """Equal as doubles, whatever the datatypes."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows that one answer lacks and rows that it has too many; false if the answers are equal."""

    missing: Counter[Row] = field(default_factory=Counter)
    extra: Counter[Row] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        """Tell whether there is a difference."""
        return bool(self.missing or self.extra)

    def __str__(self) -> str:
        """Show the rows, one a line."""
        lines = [f"missing {count} x {format_row(row)}" for row, count in self.missing.items()]
        lines += [f"extra   {count} x {format_row(row)}" for row, count in self.extra.items()]
        return "\n".join(lines) or "no difference"


def format_row(row: Row) -> str:
    """Return a row as N-Triples terms; a dash is unbound."""
    return " ".join("-" if term is None else term_text(term) for term in row)


def compare(expected: Counter[Row], got: Counter[Row], by: Comparison = Comparison.EXACT) -> Difference:
    """Return what `got` lacks and has too much."""
    left, right = _cancel(expected, got, by)
    if not left and not right:
        return Difference()
    ground = [row for row in left if not _has_blank(row)], [row for row in right if not _has_blank(row)]
    missing, extra = _cancel_near(*ground, by)
    blank = [row for row in expected.elements() if _has_blank(row)], [row for row in got.elements() if _has_blank(row)]
    if not _isomorphic(*blank, by):
        lacking, surplus = _cancel_up_to_blank_nodes(*blank, by)
        if not lacking and not surplus:  # the rows are alike, and their blank nodes are connected in another way
            lacking = [row for row in left if _has_blank(row)]
            surplus = [row for row in right if _has_blank(row)]
        missing += lacking
        extra += surplus
    return Difference(Counter(missing), Counter(extra))


def _cancel_up_to_blank_nodes(left: Sequence[Row], right: Sequence[Row], by: Comparison) -> tuple[list[Row], list[Row]]:
    """Return the rows left when rows that differ only in labels of blank nodes have cancelled out.

    For answers that are known to differ: one lost row would otherwise show as the loss of every row with blank nodes.
    """
    named: dict[Hashable, list[Row]] = {}
    for row in right:
        named.setdefault(row_value(without_labels(row), by), []).append(row)
    lacking = []
    for row in left:
        if same := named.get(row_value(without_labels(row), by)):
            same.pop()
        else:
            lacking.append(row)
    return lacking, [row for rows in named.values() for row in rows]


def without_labels(row: Row) -> Row:
    """Return a row in which all blank nodes are one."""
    return tuple(BlankNode("") if isinstance(term, BlankNode) else term for term in row)


@dataclass(frozen=True, slots=True)
class ReportDifference:
    """A report that differs: its rows, or that only one side has it."""

    t: Instant
    reason: str

    def __str__(self) -> str:
        """Show when and how."""
        return f"report at {self.t}: {self.reason}"


def compare_reports(
    expected: Sequence[Report], got: Sequence[Report], *, ordered: bool = False
) -> list[ReportDifference]:
    """Return the reports that differ; instants, windows and rows must agree.

    `ordered` asks for the order of the rows too, where ORDER BY gives one; ask only if it leaves no ties.
    """
    keys = [_key(report) for report in expected]
    others = [_key(report) for report in got]
    if keys != others:
        odd = sorted(set(keys) ^ set(others), key=str)
        found = [ReportDifference(k[0], f"{'missing' if k in keys else 'extra'}: [{k[1]}, {k[2]})") for k in odd]
        return found or [ReportDifference(keys[0][0], "the same reports in another order or number")]
    found = []
    for mine, other in zip(expected, got, strict=True):
        if difference := compare(mine.rows, other.rows):
            found.append(ReportDifference(mine.t, f"rows differ\n{difference}"))
        elif ordered and not _same_order(mine.ordered or (), other.ordered or ()):
            found.append(ReportDifference(mine.t, "rows are in another order"))
    return found


def _same_order(left: Sequence[Row], right: Sequence[Row]) -> bool:
    return len(left) == len(right) and all(rows_equal(a, b) for a, b in zip(left, right, strict=True))


def _key(report: Report) -> tuple[Instant, Instant | None, Instant | None, int | None]:
    return report.t, report.open, report.close, report.seq


def _cancel(expected: Counter[Row], got: Counter[Row], by: Comparison) -> tuple[list[Row], list[Row]]:
    """Return the rows left of each side when equal values have cancelled out, blank nodes by label."""
    left: dict[Hashable, list[Row]] = {}
    rest = []
    for row in expected.elements():
        left.setdefault(row_value(row, by), []).append(row)
    for row in got.elements():
        if same := left.get(row_value(row, by)):
            same.pop()
        else:
            rest.append(row)
    return [row for rows in left.values() for row in rows], rest


def _cancel_near(left: Sequence[Row], right: Sequence[Row], by: Comparison) -> tuple[list[Row], list[Row]]:
    """Return the rows left when rows within the tolerances have cancelled out, each with the first that fits.

    Only rows that are equal in all terms without a tolerance are put side by side: there may be many rows.
    """
    rest: dict[Hashable, list[Row]] = {}
    for row in right:
        rest.setdefault(but_for_tolerance(row, by), []).append(row)
    missing = []
    for row in left:
        near = rest.get(but_for_tolerance(row, by), [])
        place = next((place for place, other in enumerate(near) if rows_equal(row, other, by)), None)
        if place is None:
            missing.append(row)
        else:
            del near[place]
    return missing, [row for rows in rest.values() for row in rows]


def but_for_tolerance(row: Row, by: Comparison = Comparison.EXACT) -> tuple[Hashable, ...]:
    """Return what must be equal for two rows to be equal within the tolerances."""
    return tuple(_rough(term, by) for term in row)


def _rough(term: Term | None, by: Comparison) -> Hashable:
    if not isinstance(term, Literal):
        return term
    kind = kind_of(term)
    if by is not Comparison.EXACT and kind in _NUMBERS:
        return _NUMBER
    return term.datatype if kind in _TOLERANT else _value(term, by)


_NUMBER = "number"
"""Key of all datatypes of numbers, where they are not told apart."""


def rows_equal(left: Row, right: Row, by: Comparison = Comparison.EXACT) -> bool:
    """Tell whether two rows are equal within the tolerances."""
    return len(left) == len(right) and all(terms_equal(a, b, by) for a, b in zip(left, right, strict=True))


def terms_equal(left: Term | None, right: Term | None, by: Comparison = Comparison.EXACT) -> bool:
    """Tell whether two terms are equal by a policy.

    >>> from hydrograph.rdf.vocab import XSD_DECIMAL, XSD_DOUBLE, XSD_INTEGER
    >>> terms_equal(Literal("2.50", XSD_DECIMAL), Literal("2.5", XSD_DECIMAL))
    True
    >>> terms_equal(Literal("2", XSD_DECIMAL), Literal("2", XSD_INTEGER))
    False
    >>> terms_equal(Literal("2.0", XSD_DOUBLE), Literal("2", XSD_INTEGER), Comparison.VALUE)
    True
    """
    if left == right or _value(left, by) == _value(right, by):
        return True
    if not isinstance(left, Literal) or not isinstance(right, Literal):
        return False
    one, other = kind_of(left), kind_of(right)
    if one not in _NUMBERS or other not in _NUMBERS:
        return False
    match by:
        case Comparison.EXACT:
            return left.datatype == right.datatype and _same_number(left, right, one)
        case Comparison.VALUE:
            return _same_number(left, right, max(one, other, key=_PRECISION.index))
        case Comparison.DOUBLE:
            return _near(float(left.lexical), float(right.lexical), Kind.DOUBLE)
        case _:
            assert_never(by)


def _same_number(left: Literal, right: Literal, kind: Kind) -> bool:
    """Tell whether two numbers are equal within the tolerance of a kind; both are read as that kind."""
    if kind is Kind.DECIMAL:
        return _same_quotient(Decimal(left.lexical), Decimal(right.lexical))
    if kind in _DIGITS:
        return _near(double_of(left.lexical, kind), double_of(right.lexical, kind), kind)
    return False


def _same_quotient(left: Decimal, right: Decimal) -> bool:
    digits = max(-int(number.as_tuple().exponent) for number in (left, right))
    return digits >= QUOTIENT_DIGITS and abs(left - right) <= Decimal(1).scaleb(-QUOTIENT_DIGITS)


def _near(left: float | None, right: float | None, kind: Kind) -> bool:
    if left is None or right is None or math.isinf(left) or math.isinf(right):
        return left == right
    bits, least = _DIGITS[kind]
    exponent = max(math.frexp(left)[1], math.frexp(right)[1]) - bits
    return abs(left - right) <= ULPS * 2.0 ** max(exponent, least)


def row_value(row: Row, by: Comparison = Comparison.EXACT) -> Hashable:
    """Return what must be equal for two rows to be exactly equal, blank nodes by label."""
    return tuple(_value(term, by) for term in row)


def _value(term: Term | None, by: Comparison) -> Hashable:
    """Return what must be equal for two terms to be exactly equal: datatype and value, or the term itself."""
    if not isinstance(term, Literal):
        return term
    kind = kind_of(term)
    if kind in _NUMBERS:
        return _number(term, kind, by)
    if kind is Kind.BOOLEAN:
        return term.datatype, term.lexical in ("true", "1")
    if kind in (Kind.DATETIME, Kind.DATE, Kind.TIME):
        return term.datatype, _moment(term.lexical)
    return term


def _number(term: Literal, kind: Kind, by: Comparison) -> Hashable:
    datatype = term.datatype if by is Comparison.EXACT else _NUMBER
    if kind not in _DIGITS and by is not Comparison.DOUBLE:
        return datatype, Decimal(term.lexical)
    number = float(term.lexical) if by is Comparison.DOUBLE else double_of(term.lexical, kind)
    # The hash of a float and of a decimal of the same value are one, and so are the numbers.
    return datatype, "NaN" if number is None or math.isnan(number) else number


_MOMENT = re.compile(r"(?:(-?\d+)-(\d\d)-(\d\d))?T?(?:(\d\d):(\d\d):(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:\d\d)?")


def _moment(lexical: str) -> Hashable:
    """Return seconds since a fixed day in UTC, and whether a zone was given."""
    found = _MOMENT.fullmatch(lexical)
    assert found is not None, lexical
    year, month, day, hour, minute, second, zone = found.groups()
    seconds = Decimal(second or 0) + 60 * int(minute or 0) + 3600 * int(hour or 0)
    if year is not None:
        seconds += 86400 * _days(int(year), int(month), int(day))
    if zone is not None and zone != "Z":
        offset = 60 * (60 * int(zone[1:3]) + int(zone[4:6]))
        seconds -= offset if zone[0] == "+" else -offset
    return seconds, zone is not None


def _days(year: int, month: int, day: int) -> int:
    """Return the number of a day of the proleptic Gregorian calendar, whose years begin in March here."""
    year -= month <= 2
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day


def _has_blank(row: Row) -> bool:
    return any(isinstance(term, BlankNode) for term in row)


def _isomorphic(left: Sequence[Row], right: Sequence[Row], by: Comparison) -> bool:
    """Tell whether one renaming of blank nodes makes the rows equal.

    Blank nodes are coloured by the rows that they are in, until no colour is split any more. Rows can be equal only if
    their colours are. Each row takes the first partner that fits; the search steps back where none does.
    """
    if len(left) != len(right):
        return False
    mine, others = _colour_rows((left, right), by)
    partners: dict[Hashable, list[int]] = {}
    for place, colour in enumerate(others):
        partners.setdefault(colour, []).append(place)
    if Counter(mine) != Counter(others):
        return False
    order = sorted(range(len(left)), key=lambda place: len(partners[mine[place]]))
    names: dict[BlankNode, BlankNode] = {}
    images: dict[BlankNode, BlankNode] = {}
    taken: set[int] = set()
    steps: list[tuple[int, list[BlankNode]]] = []
    tried = [0]
    while len(steps) < len(order):
        place = order[len(steps)]
        candidates = partners[mine[place]]
        new, other = None, -1
        while new is None and tried[-1] < len(candidates):
            other = candidates[tried[-1]]
            tried[-1] += 1
            if other not in taken:
                new = _rename(left[place], right[other], names, images, by)
        if new is not None:
            taken.add(other)
            steps.append((other, new))
            tried.append(0)
        elif not steps:
            return False
        else:
            other, new = steps.pop()
            taken.discard(other)
            tried.pop()
            for node in new:
                del images[names.pop(node)]
    return True


def _colour_rows(sides: tuple[Sequence[Row], Sequence[Row]], by: Comparison) -> tuple[list[Hashable], list[Hashable]]:
    """Return what must be equal for rows of two answers to be equal up to a renaming of blank nodes."""
    rough = [[but_for_tolerance(row, by) for row in rows] for rows in sides]
    colours = [{cell: 0 for row in rows for cell in row if isinstance(cell, BlankNode)} for rows in rough]
    count = 0
    while True:
        coloured = [
            [tuple((_BLANK, colour[c]) if isinstance(c, BlankNode) else c for c in row) for row in rows]
            for rows, colour in zip(rough, colours, strict=True)
        ]
        if count == (count := len({each for colour in colours for each in colour.values()})):
            return [*coloured[0]], [*coloured[1]]
        numbers: dict[Hashable, int] = {}
        colours = [
            _split(rows, keys, colour, numbers) for rows, keys, colour in zip(rough, coloured, colours, strict=True)
        ]


_BLANK = "blank node"


def _split(
    rows: Sequence[tuple[Hashable, ...]],
    keys: Sequence[Hashable],
    colour: dict[BlankNode, int],
    numbers: dict[Hashable, int],
) -> dict[BlankNode, int]:
    """Return new colours: blank nodes keep one only if they are at the same places of rows of the same colours."""
    places: dict[BlankNode, Counter[Hashable]] = {node: Counter() for node in colour}
    for row, key in zip(rows, keys, strict=True):
        for place, cell in enumerate(row):
            if isinstance(cell, BlankNode):
                places[cell][place, key] += 1
    return {
        node: numbers.setdefault((colour[node], frozenset(found.items())), len(numbers))
        for node, found in places.items()
    }


def _rename(
    row: Row, other: Row, names: dict[BlankNode, BlankNode], images: dict[BlankNode, BlankNode], by: Comparison
) -> list[BlankNode] | None:
    """Extend the renaming so that it makes `row` into `other`; return the nodes that got a name, None if none fits."""
    new: list[BlankNode] = []
    for term, image in zip(row, other, strict=True):
        if isinstance(term, BlankNode) and isinstance(image, BlankNode):
            if term not in names and image not in images:
                names[term], images[image] = image, term
                new.append(term)
            fits = names.get(term) == image
        else:
            fits = terms_equal(term, image, by)
        if not fits:
            for node in new:
                del images[names.pop(node)]
            return None
    return new
