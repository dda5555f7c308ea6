"""Every expression of the table for one row on both targets: written with constants, and over columns of the data."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyoxigraph
import pytest

from hydrograph.algebra.expressions import Expression
from hydrograph.compile.expressions.demand import expression_demand, reads_clock
from hydrograph.compile.printers import Target
from hydrograph.rdf.encoding import decode, encode_text
from hydrograph.rdf.nquads import parse_term, term_text
from hydrograph.rdf.terms import Literal, Variable
from hydrograph.rdf.xsd import NUMERIC
from tests.support.expression_table import (
    PROLOGUE,
    Case,
    differences,
    on_spark,
    read_cases,
    read_expression,
    run_locally,
    texts,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPARK_BATCH = 40
"""Spark plans a query of more columns at once more slowly than several queries."""


@pytest.fixture(scope="session")
def cases() -> list[Case]:
    return read_cases()


@pytest.mark.parametrize("lift", [False, True], ids=["constants", "columns"])
def test_locally(cases: list[Case], *, lift: bool) -> None:
    assert differences(cases, run_locally, Target.DUCKDB, lift=lift, batch=130) == []


@contextmanager
def ansi(spark: SparkSession, value: str) -> Iterator[None]:
    """Run with Spark's ANSI mode on or off."""
    before = spark.conf.get("spark.sql.ansi.enabled")
    spark.conf.set("spark.sql.ansi.enabled", value)
    try:
        yield
    finally:
        spark.conf.set("spark.sql.ansi.enabled", str(before))


@pytest.mark.spark
@pytest.mark.parametrize("share", [27, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_columns_on_spark(cases: list[Case], spark: SparkSession, share: int) -> None:
    with ansi(spark, "true"):
        assert differences(cases[::share], on_spark(spark), Target.SPARK, lift=True, batch=_SPARK_BATCH) == []


@pytest.mark.spark
@pytest.mark.parametrize("share", [12, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_constants_on_spark(cases: list[Case], spark: SparkSession, share: int) -> None:
    """Spark computes what is constant while it plans."""
    with ansi(spark, "true"):
        assert differences(cases[1::share], on_spark(spark), Target.SPARK, lift=False, batch=_SPARK_BATCH) == []


@pytest.mark.spark
def test_some_on_spark_without_ansi(cases: list[Case], spark: SparkSession) -> None:
    """A part of each family; both zeros are among them, which Spark may take for one."""
    some = [case for number, case in enumerate(cases) if number % 30 == 1 or "ROUND" in case.text]
    with ansi(spark, "false"):
        for lift in (False, True):
            assert differences(some, on_spark(spark), Target.SPARK, lift=lift, batch=_SPARK_BATCH) == []


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("lift", [False, True], ids=["constants", "columns"])
def test_all_on_spark_without_ansi(cases: list[Case], spark: SparkSession, *, lift: bool) -> None:
    with ansi(spark, "false"):
        assert differences(cases, on_spark(spark), Target.SPARK, lift=lift, batch=_SPARK_BATCH) == []


def by_oxigraph(text: str) -> str | None:
    """Return what pyoxigraph gives, as canonical text; None for an error."""
    solutions = pyoxigraph.Store().query(f"{PROLOGUE} SELECT ({text} AS ?x) {{}}")
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    (solution,) = solutions
    found = solution["x"]
    return None if found is None else term_text(parse_term(str(found)))


def alike(left: str | None, right: str | None) -> bool:
    """Tell whether two answers are the same term, or numbers of one datatype and the same value (A12)."""
    if left is None or right is None or left == right:
        return left == right
    one, other = encode_text(left), encode_text(right)
    ours, theirs = decode(left), decode(right)
    if one.kind not in NUMERIC or not isinstance(ours, Literal) or not isinstance(theirs, Literal):
        return False
    nan = one.num != one.num and other.num != other.num
    return ours.datatype == theirs.datatype and (nan or (one.num == other.num and one.dec == other.dec))


def test_the_table_agrees_with_pyoxigraph_except_where_it_says_so(cases: list[Case]) -> None:
    wrong = [
        (case.text, case.expected, answer)
        for case in cases
        if alike(case.expected, answer := by_oxigraph(case.text)) is (case.deviation is not None)
    ]
    assert wrong == []


_ATOMS = {
    "number": ["0", "1", "-3", "2.5", "-0.1", "1e0", "-2.5e1", '"1.5"^^xsd:float', '"7"^^xsd:int', "100"],
    "string": ['""', '"a"', '"abc"', '"Bé"', '"a"@en', '"abc"@fr', '"5"', '"x y"'],
    "boolean": ["true", "false", '"1"^^xsd:boolean'],
    "date": [
        '"2020-01-01T00:00:00Z"^^xsd:dateTime',
        '"2020-02-29T23:59:59.5+02:00"^^xsd:dateTime',
        '"1999-12-31T12:00:00"^^xsd:dateTime',
    ],
    "other": ["<urn:a>", '"x"^^<urn:t>', "?unbound"],
}


def draw(rng: random.Random, depth: int) -> str:
    """Return a random expression."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(_ATOMS[rng.choice(list(_ATOMS))])
    one, two, three = (draw(rng, depth - 1) for _ in range(3))
    return rng.choice(
        [
            f"({one} + {two})", f"({one} - {two})", f"({one} * {two})", f"({one} = {two})", f"({one} < {two})",
            f"({one} >= {two})", f"({one} && {two})", f"({one} || {two})", f"(!{one})", f"IF({one}, {two}, {three})",
            f"COALESCE({one}, {two})", f"STR({one})", f"STRLEN({one})", f"CONCAT({one}, {two})", f"UCASE({one})",
            f"CONTAINS({one}, {two})", f"DATATYPE({one})", f"LANG({one})", f"isNumeric({one})", f"ABS({one})",
            f"CEIL({one})", f"YEAR({one})", f"SECONDS({one})", f"xsd:integer({one})", f"xsd:boolean({one})",
            f"({one} IN ({two}, {three}))", f"sameTerm({one}, {two})", f"STRBEFORE({one}, {two})",
        ]
    )  # fmt: skip


def is_settled(text: str) -> bool:
    """Tell whether an expression touches what pyoxigraph is known to do otherwise.

    It forgets lexical forms of numbers, and holds the truth of a tagged string for an error.
    """
    tagged_truth = "@" in text and any(word in text for word in ("!", "&&", "||", "IF(", "xsd:boolean("))
    return "sameTerm" in text or "STR(" in text or tagged_truth


@pytest.mark.parametrize("seed", range(3))
def test_random_expressions_agree_with_pyoxigraph(seed: int) -> None:
    rng = random.Random(seed)
    drawn = [text for text in (draw(rng, 2) for _ in range(60)) if not is_settled(text)]
    found = texts([read_expression(text) for text in drawn], run_locally, Target.DUCKDB, lift=False, batch=60)
    answers = [(text, got, by_oxigraph(text)) for text, got in zip(drawn, found, strict=True)]
    assert [answer for answer in answers if not alike(answer[1], answer[2])] == []


def test_what_reads_the_clock() -> None:
    assert reads_clock(read_expression("YEAR(NOW()) + 1 = 2020"))
    assert reads_clock(read_expression("IF(true, BNODE(), 1)"))
    assert not reads_clock(read_expression("YEAR(?t) IN (1, 2)"))


def test_a_number_compared_with_a_constant_needs_no_text() -> None:
    test: Expression = read_expression("?v > 30")
    assert {part.value for part in expression_demand(test)[Variable("v")]} == {"num", "dec"}
