"""Faults that show in rows alone: repeated, rounded, of another datatype, joined with themselves, or of another window.

A hypothesis counts only if it explains every wrong window. Rows are compared by value, by the policy of the experiment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from itertools import combinations

from hydrograph.rdf.terms import BlankNode, Literal, Term
from hydrograph.rdf.vocab import XSD
from hydrograph.rdf.xsd import NUMERIC, kind_of
from hydrograph_gauge.judge.faults import Fault, FaultKind
from hydrograph_gauge.judge.judge_input import EngineAnswer, ExpectedReport
from hydrograph_gauge.judge.row_compare import RowNumbers, Score
from hydrograph_gauge.oracle.compare import Comparison, format_row, rows_equal, terms_equal, without_labels
from hydrograph_gauge.oracle.dataset import Row, row_text, terms_of
from hydrograph_gauge.run_records import RowText

_PLACES = range(17, -7, -1)
_WAYS = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN, ROUND_FLOOR, ROUND_CEILING)
_SIDE_BY_SIDE = 200
"""Rows of a window that are compared one with another, where no key brings them together."""
_CHANGES = 3
"""Changes of datatypes that are listed."""


@dataclass(frozen=True, slots=True)
class AnsweredReport:
    """Report with its answer and their score; `before` is the previous report."""

    due: ExpectedReport
    said: EngineAnswer
    score: Score
    before: ExpectedReport | None


def find_repeated_rows(wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of repeated rows, if nothing else is wrong."""
    times = set()
    for each in wrong:
        if each.score.difference.missing:
            return None
        values = RowNumbers(each.score.comparison)
        expected, actual = values.numbers(each.due.rows), values.numbers(each.said.rows)
        if not actual.keys() <= expected.keys():
            return None
        # All blank nodes have one number, so that rows of other elements look like repeats: they are distinct rows.
        if _count_with_blank_nodes(each.said.rows) > _count_with_blank_nodes(each.due.rows):
            return None
        times |= {actual[number] // count for number, count in expected.items()}
    most = max(times, default=0)
    return Fault(FaultKind.REPEATS, f"rows come up to {most} times" if most > 1 else "some rows come twice")


def _count_with_blank_nodes(rows: Counter[RowText]) -> int:
    return sum(any(text is not None and text.startswith("_:") for text in row) for row in rows)


def find_rounding(wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of rounded numbers, if one way of rounding explains every window."""
    if any(each.score.difference.missing.total() != each.score.difference.extra.total() for each in wrong):
        return None
    # Most numbers of places are ruled out by a single row.
    first = wrong[0].score.difference
    one, came = next(iter(first.missing)), {tuple(map(_number, row)) for row in first.extra}
    for places in _PLACES:
        for way in _WAYS:
            if _rounded(one, places, way) in came and all(_is_rounded(each, places, way) for each in wrong):
                digits = f"to {places} digits after the point" if places >= 0 else f"to multiples of {10**-places}"
                return Fault(FaultKind.ROUNDS, digits)
    return None


def _is_rounded(each: AnsweredReport, places: int, way: str) -> bool:
    difference = each.score.difference
    return Counter(_rounded(row, places, way) for row in difference.missing.elements()) == Counter(
        tuple(map(_number, row)) for row in difference.extra.elements()
    )


def _rounded(row: Row, places: int, way: str) -> tuple[object, ...]:
    return tuple(_number(term, places, way) for term in row)


def _number(term: Term | None, places: int | None = None, way: str = ROUND_HALF_UP) -> object:
    """Return a number as its value, other terms as they are; numbers of several types may be told as one another."""
    if not isinstance(term, Literal) or kind_of(term) not in NUMERIC:
        return term
    try:
        number = Decimal(term.lexical)
        return number if places is None else number.quantize(Decimal(1).scaleb(-places), way).normalize()
    except InvalidOperation:  # infinite, or with more digits than there are
        return term


def find_changed_numbers(wrong: Iterable[AnsweredReport]) -> Fault | None:
    """Return the fault of numbers with other values, if each wrong row is a right one but for its numbers.

    Content of windows explains numbers of aggregates too: ask this after all that explains why they are wrong.
    """
    changed = 0
    example = ""
    for each in wrong:
        difference = each.score.difference
        waiting: dict[Row, list[Row]] = {}
        for row in difference.extra.elements():
            waiting.setdefault(_without_numbers(row), []).append(row)
        for row in difference.missing.elements():
            partners = waiting.get(_without_numbers(row))
            if not partners:
                return None
            example = example or f"{format_row(partners[-1])} for {format_row(row)}"
            partners.pop()
            changed += 1
        if any(waiting.values()):
            return None
    return Fault(FaultKind.VALUES, f"{changed} rows, such as {example}") if changed else None


def _without_numbers(row: Row) -> Row:
    return tuple(
        Literal("", term.datatype) if isinstance(term, Literal) and kind_of(term) in NUMERIC else term for term in row
    )


def find_changed_datatypes(wrong: Iterable[AnsweredReport]) -> Fault | None:
    """Return the fault of literals with another datatype or language, if their lexical forms or values are right."""
    found: list[tuple[Row, Row]] = []
    for each in wrong:
        difference = each.score.difference
        pairs = match_but_for_datatype([*difference.missing.elements()], [*difference.extra.elements()])
        if pairs is None:
            return None
        found += pairs
    return Fault(FaultKind.DATATYPE, name_changes(found)) if found else None


def name_changes(pairs: Iterable[tuple[Row, Row]]) -> str:
    """Return the changes of datatypes in rows that belong together, the most frequent ones."""
    changes = Counter(change for row, other in pairs for change in _changes(row, other))
    return "; ".join(change for change, _ in changes.most_common(_CHANGES))


def match_but_for_datatype(missing: Sequence[Row], extra: Sequence[Row]) -> list[tuple[Row, Row]] | None:
    """Return each missing row with the extra one that differs only in datatypes; None if some have no partner."""
    if len(missing) != len(extra):
        return None
    waiting: dict[object, list[Row]] = {}
    for row in extra:
        waiting.setdefault(_without_datatypes(row), []).append(row)
    found, left = [], []
    for row in missing:
        same = waiting.get(_without_datatypes(row))
        if same:
            found.append((row, same.pop()))
        else:
            left.append(row)
    rest = [row for rows in waiting.values() for row in rows]
    if len(left) > _SIDE_BY_SIDE:
        return None
    for row in left:  # values that a conversion has rounded
        place = next((place for place, other in enumerate(rest) if _differ_in_datatype(row, other)), None)
        if place is None:
            return None
        found.append((row, rest.pop(place)))
    return found if all(_differ_in_datatype(row, other) for row, other in found) else None


def _without_datatypes(row: Row) -> tuple[object, ...]:
    return tuple(_plain(term) if isinstance(term, Literal) else term for term in row)


def _plain(term: Literal) -> object:
    try:
        return float(term.lexical)
    except ValueError:
        return term.lexical


def _differ_in_datatype(row: Row, other: Row) -> bool:
    return len(row) == len(other) and all(
        terms_equal(one, two) or _is_retyped(one, two) for one, two in zip(row, other, strict=True)
    )


def _is_retyped(one: Term | None, two: Term | None) -> bool:
    if not isinstance(one, Literal) or not isinstance(two, Literal) or _datatype(one) == _datatype(two):
        return False
    return _plain(one) == _plain(two) or terms_equal(one, two, Comparison.VALUE)


def _changes(row: Row, other: Row) -> list[str]:
    return [
        f"{_datatype(two)} for {_datatype(one)}"
        for one, two in zip(row, other, strict=True)
        if isinstance(one, Literal) and isinstance(two, Literal) and _datatype(one) != _datatype(two)
    ]


def _datatype(term: Literal) -> str:
    if term.language is not None:
        return f"language {term.language}"
    return f"xsd:{term.datatype.removeprefix(XSD)}" if term.datatype.startswith(XSD) else f"<{term.datatype}>"


def find_confused_blank_nodes(wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of blank nodes that are one node in some rows and another in others, if all else is right."""
    for each in wrong:
        difference, values = each.score.difference, RowNumbers(each.score.comparison)
        rows = [*difference.missing, *difference.extra]
        if not all(any(isinstance(term, BlankNode) for term in row) for row in rows):
            return None
        one, other = (_numbers(values, bag) for bag in (difference.missing, difference.extra))
        if one != other:
            return None
    return Fault(FaultKind.BLANK_NODES, f"in {len(wrong)} windows no renaming makes them equal")


def _numbers(values: RowNumbers, rows: Counter[Row]) -> Counter[int]:
    found: Counter[int] = Counter()
    for row, count in rows.items():
        found[values.number(row_text(row))] += count
    return found


def find_stale_answers(due: Sequence[ExpectedReport], wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of answers that are right for an earlier report, if every wrong one is."""
    if not wrong or not all(each.said.rows for each in wrong):
        return None
    values = RowNumbers(wrong[0].score.comparison)
    places = {id(report): place for place, report in enumerate(due)}
    known = [values.numbers(report.rows) for report in due]
    oldest = 0
    for each in wrong:
        at, rows = places[id(each.due)], values.numbers(each.said.rows)
        back = next((back for back in range(1, at + 1) if known[at - back] == rows), None)
        if back is None:
            return None
        oldest = max(oldest, back)
    age = "of the report before" if oldest == 1 else f"of up to {oldest} reports before"
    return Fault(FaultKind.STALE, f"{len(wrong)} answers are those {age}")


def find_self_pairs(wrong: Sequence[AnsweredReport]) -> Fault | None:
    """Return the fault of pairs of a row with itself: rows in which two columns are equal come, or do not.

    All wrong rows are such pairs. No such row is expected, or none of those that are expected came.
    """
    missing = [row for each in wrong for row in each.score.difference.missing]
    extra = [row for each in wrong for row in each.score.difference.extra]
    if bool(missing) == bool(extra):
        return None
    rows = missing or extra
    width = min(map(len, rows))
    for one, two in combinations(range(width), 2):
        if not all(row[one] is not None and row[one] == row[two] for row in rows):
            continue
        others = [
            row
            for each in wrong
            for row in terms_of(each.said.rows if missing else each.due.rows)
            if row[one] is not None and row[one] == row[two]
        ]
        if not others:
            what = "are left out" if missing else "come too"
            return Fault(FaultKind.SELF_PAIRS, f"rows with equal columns {one + 1} and {two + 1} {what}")
    return None


def holds_row(rows: Iterable[Row], row: Row, by: Comparison) -> bool:
    """Tell whether some row is equal to a given one, whatever the labels of blank nodes."""
    plain = without_labels(row)
    return any(rows_equal(plain, without_labels(other), by) for other in rows)
