"""Spark = oracle: many random streams in few plans, the stream's number a hidden key of every join, group and row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from hydrograph.algebra.expressions import Exists
from hydrograph.algebra.nodes import (
    Distinct,
    Extend,
    Filter,
    Group,
    LeftJoin,
    Minus,
    PathPattern,
    Slice,
    Union,
    Values,
)
from hydrograph.algebra.queries import ContinuousQuery, StreamOperator
from hydrograph.algebra.walk import subpatterns
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.windows.stream import Element
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.random_cases import BASIC, FULL, Case, Features, random_case
from tests.support.replay_adapter import answer_many

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANS, STREAMS = 10, 12
FIRST_SEED = 40_000
FIRST_FULL_SEED = 45_000
OPERATORS = (Distinct, Exists, Extend, Group, LeftJoin, Minus, PathPattern, Slice, Union, Values)


def has_answers(case: Case) -> bool:
    return sum(bool(report.rows) for report in case.expected()) > 1


def queries() -> list[Case]:
    """Return queries that have answers on their own stream, of different shapes."""
    found: list[Case] = []
    seed = FIRST_SEED
    while len(found) < PLANS:
        case = random_case(seed, BASIC)
        if has_answers(case):
            found.append(case)
        seed += 1
    return found


def operators(query: ContinuousQuery) -> set[object]:
    """Return what a query has of all that a plan may have to do."""
    nodes = list(subpatterns(query.pattern))
    found: set[object] = {type(node) for node in nodes}
    found |= {Exists for node in nodes if isinstance(node, Filter) and isinstance(node.condition, Exists)}
    return (found & set(OPERATORS)) | {query.operator}


def covering_queries() -> list[Case]:
    """Return few queries with answers that together have every operator, the ones with most that is new first."""
    cases = [random_case(seed, FULL) for seed in range(FIRST_FULL_SEED, FIRST_FULL_SEED + 150)]
    cases = [case for case in cases if has_answers(case)]
    missing: set[object] = {*OPERATORS, *StreamOperator}
    found: list[Case] = []
    while missing:
        best = max(cases, key=lambda case: len(operators(case.query) & missing))
        assert operators(best.query) & missing, f"no case has {missing}"
        missing -= operators(best.query)
        found.append(best)
    return found


def streams_of(case: Case, features: Features, rng: Random) -> list[Mapping[Iri, tuple[Element, ...]]]:
    """Return the case's own stream and others, moved to where its windows are."""
    streams: list[Mapping[Iri, tuple[Element, ...]]] = [case.elements]
    while len(streams) < STREAMS:
        elements = next(iter(random_case(rng.randrange(10**6), features).elements.values()), ())
        if elements:
            first = min(element.t for element in elements)
            moved = tuple(replace(element, t=element.t - first + case.t0) for element in elements)
            streams.append(dict.fromkeys(case.elements, moved))
    return streams


def check(template: Case, number: int, features: Features, spark: SparkSession, local: Local) -> int:
    """Compare all streams of a plan with the oracle and with the local placement; return how many reports have rows."""
    case = replace(template, from_=template.t0, until=template.t0 + 40)
    streams = streams_of(case, features, Random(FIRST_SEED + number))
    with Spark(spark, moving=number % 4 > 1) as placed:
        answers = answer_many(case, streams, placed, chunk_windows=1 if number % 2 else None)
    local.forget()
    here = answer_many(case, streams, local, chunk_windows=None)
    non_empty = 0
    for given, got, also in zip(streams, answers, here, strict=True):
        single = replace(case, elements=given)
        wanted = single.expected()
        assert not compare_reports(wanted, got), f"plan {number} of seed {template.seed}\n{single}"
        assert not compare_reports(got, also), f"placements differ\n{single}"
        non_empty += sum(bool(report.rows) for report in wanted)
    return non_empty


@contextmanager
def adaptive(spark: SparkSession, *, enabled: bool) -> Iterator[None]:
    """Let Spark change its plans while they run, or not."""
    setting = "spark.sql.adaptive.enabled"
    before = str(spark.conf.get(setting))
    spark.conf.set(setting, str(enabled).lower())
    try:
        yield
    finally:
        spark.conf.set(setting, before)


@pytest.mark.spark
@pytest.mark.slow
def test_many_streams_in_one_plan_equal_the_oracle(spark: SparkSession, local: Local) -> None:
    assert sum(check(case, number, BASIC, spark, local) for number, case in enumerate(queries())) > 100


@pytest.mark.spark
@pytest.mark.parametrize(
    "enabled", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["adaptive", "not-adaptive"]
)
def test_every_operator_on_spark_equals_the_oracle(spark: SparkSession, local: Local, enabled: bool) -> None:
    with adaptive(spark, enabled=enabled):
        assert sum(check(case, number, FULL, spark, local) for number, case in enumerate(covering_queries())) > 50


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("enabled", [True, False], ids=["adaptive", "not-adaptive"])
def test_random_nested_queries_on_spark_equal_the_oracle(spark: SparkSession, local: Local, enabled: bool) -> None:
    cases = (random_case(seed, FULL) for seed in range(FIRST_FULL_SEED + 1_000, FIRST_FULL_SEED + 1_060))
    with adaptive(spark, enabled=enabled):
        assert sum(check(case, number, FULL, spark, local) for number, case in enumerate(cases)) > 500
