"""Sums and means of decimals are exact up to the largest decimal, and an error beyond, in both placements."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from random import Random
from typing import TYPE_CHECKING

import pytest

from hydrograph.language import parse
from hydrograph.rdf.terms import Iri, Literal, Triple
from hydrograph.rdf.vocab import XSD_DECIMAL
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.random_cases import Case
from tests.support.replay_adapter import answer_many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """PREFIX : <urn:> SELECT (SUM(?o) AS ?sum) (AVG(?o) AS ?mean)
FROM NAMED WINDOW :w ON :s [RANGE PT4S STEP PT1S] WHERE { WINDOW :w { ?s :p ?o } }"""
LARGEST = Decimal(f"{10**20 - 1}.{10**18 - 1}")
LOWEST = LARGEST.copy_negate()  # a minus sign would round
SMALLEST = Decimal(1).scaleb(-18)
NAMED = (
    (LARGEST,),
    (LARGEST, SMALLEST),
    (LARGEST, Decimal(5), Decimal(-5)),
    (LOWEST, -SMALLEST),
    (LOWEST, SMALLEST),
    (LARGEST, LARGEST, LOWEST),
    (LOWEST, LARGEST, SMALLEST),
    (Decimal(10**10), -SMALLEST),
    (Decimal(-(10**10)), SMALLEST),
    (Decimal(10**10), Decimal(-(10**10)), Decimal("0.5")),
    (Decimal("99999999999.5"), Decimal("0.5")),
    (Decimal("-99999999999.5"), Decimal("-0.5")),
    (Decimal("0.5"), Decimal("-20000000000.25")),
    (Decimal(10**20 - 1), Decimal(1)),
    (),
)


def random_values(rng: Random) -> tuple[Decimal, ...]:
    def value() -> Decimal:
        digits = Decimal(rng.randrange(10 ** rng.randrange(1, 38))) * rng.choice((1, -1))
        return digits.scaleb(-18)

    with localcontext(prec=60):
        return tuple(value() for _ in range(rng.randrange(1, 6)))


def cases() -> list[tuple[Decimal, ...]]:
    rng = Random(5)
    return [*NAMED, *(random_values(rng) for _ in range(60))]


def case_of(values: tuple[Decimal, ...]) -> Case:
    """Return a case with a value each second: sums grow, and shrink as values leave the window."""
    elements = tuple(
        Element(
            1000 * (n + 3), n, frozenset({Triple(Iri(f"urn:{n}"), Iri("urn:p"), Literal(f"{value:f}", XSD_DECIMAL))})
        )
        for n, value in enumerate(values)
    )
    return Case(0, parse(QUERY), {Iri("urn:s"): elements}, from_=0, until=11_000)


def sums(values: tuple[Decimal, ...]) -> Iterator[tuple[Decimal | None, Decimal | None]]:
    """Give the sum and the mean of every window; None where the sum is not below 10^20."""
    with localcontext(prec=60):
        for last in range(8):
            inside = values[max(0, last - 3) : last + 1]
            total = sum(inside, Decimal(0))
            mean = (total / max(1, len(inside))).quantize(SMALLEST, rounding="ROUND_DOWN")
            yield (None, None) if abs(total) >= 10**20 else (total, mean)


def same(got: list[tuple[Decimal | None, ...]], wanted: list[tuple[Decimal | None, ...]]) -> bool:
    """Tell whether sums are equal, and means but for the last digit of those that Spark does not cut."""

    def close(one: Decimal | None, other: Decimal | None) -> bool:
        if one is None or other is None or abs(other) < 10**19:
            return one == other
        with localcontext(prec=60):
            return abs(one - other) <= SMALLEST

    pairs = zip(got, wanted, strict=True)
    return all(one[0] == other[0] and close(one[1], other[1]) for one, other in pairs)


def found(reports: list[Report]) -> Iterator[tuple[Decimal | None, Decimal | None]]:
    for report in reports:
        (row,) = report.rows
        first, second = (Decimal(term.lexical) if isinstance(term, Literal) else None for term in row)
        yield first, second


def test_sums_without_a_session(local: Local) -> None:
    given = cases()
    streams = [case_of(values).elements for values in given]
    local.forget()
    answers = answer_many(case_of(given[0]), streams, local, chunk_windows=None)
    for values, reports in zip(given, answers, strict=True):
        assert list(found(reports)) == list(sums(values)), values


@pytest.mark.spark
def test_sums_on_spark(spark: SparkSession) -> None:
    given = cases()
    streams = [case_of(values).elements for values in given]
    with Spark(spark) as placed:
        answers = answer_many(case_of(given[0]), streams, placed, chunk_windows=None)
    for values, reports in zip(given, answers, strict=True):
        assert same(list(found(reports)), list(sums(values))), values
