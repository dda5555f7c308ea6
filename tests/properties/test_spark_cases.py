"""Spark = oracle: many random streams in few plans, the stream's number a hidden key of every join, group and row."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from hydrograph.bench.engines.replay import answer, answer_many
from hydrograph.bench.oracle.cases import BASIC, Case, random_case
from hydrograph.bench.oracle.compare import compare_reports
from hydrograph.runtime.placement.spark import Spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLANS, STREAMS = 10, 12
FIRST_SEED = 40_000


def queries() -> list[Case]:
    """Return queries that have answers on their own stream, of different shapes."""
    found: list[Case] = []
    seed = FIRST_SEED
    while len(found) < PLANS:
        case = random_case(seed, BASIC)
        if sum(bool(report.rows) for report in case.expected()) > 1:
            found.append(case)
        seed += 1
    return found


@pytest.mark.spark
def test_many_streams_in_one_plan_equal_the_oracle(spark: SparkSession) -> None:
    compared, non_empty = 0, 0
    for number, template in enumerate(queries()):
        case = replace(template, from_=template.t0, until=template.t0 + 40)
        rng = Random(FIRST_SEED + number)
        others = [random_case(rng.randrange(10**6), BASIC) for _ in range(200)]
        streams = [case.elements]
        for other in others:
            elements = next(iter(other.elements.values()), ())
            if elements and len(streams) < STREAMS:
                moved = tuple(replace(e, t=e.t - min(x.t for x in elements) + case.t0) for e in elements)
                streams.append(dict.fromkeys(case.elements, moved))
        with Spark(spark) as placed:
            answers = answer_many(case, streams, placed, chunk_windows=1 if number % 2 else None)
        for given, got in zip(streams, answers, strict=True):
            single = replace(case, elements=given)
            wanted = single.expected()
            assert not compare_reports(wanted, got), f"plan {number} of seed {template.seed}\n{single}"
            assert not compare_reports(got, answer(single)), f"placements differ\n{single}"
            compared += 1
            non_empty += sum(bool(report.rows) for report in wanted)
    assert compared >= 100
    assert non_empty > 100
