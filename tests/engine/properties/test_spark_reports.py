"""Spark = oracle = DuckDB for reports that form no grid: long random streams, one plan for each kind of window."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.windows.profile import CQELS, PRESETS, RSPQL, Profile
from hydrograph.windows.report import Policy, When
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.random_cases import Case, random_case
from tests.support.random_data import BASIC, Shape, random_stream
from tests.support.random_reports import random_report_case
from tests.support.reported import answer_any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FIRST_SEED = 95_000
LONG = Shape(elements=160, span=120)

KINDS: list[tuple[WindowDefinition, Profile]] = [
    (TimeWindow(8, None), CQELS),
    (TimeWindow(8, 3), PRESETS["cqels-cloud"]),
    (TimeWindow(6, 9), replace(PRESETS["csparql"], r2s_set=True)),
    (CountWindow(7, 3, triples=True), RSPQL),
    (NowWindow(), RSPQL),
    (AllWindow(), replace(RSPQL, report=Policy(When.PERIODIC, period=11, non_empty=True))),
    (PastWindow(9, 4, 5), replace(RSPQL, report=Policy(When.CONTENT_CHANGE))),
]


def long_case(number: int, definition: WindowDefinition, profile: Profile) -> Case:
    """Return a case of a query that has answers, with this window beside whatever others it draws."""
    seed = FIRST_SEED + 100 * number
    while True:
        case = random_report_case(seed) if number % 2 else random_case(seed, BASIC)
        window = replace(case.query.windows[0], definition=definition)
        query = replace(case.query, windows=(window, *case.query.windows[1:]))
        rng = Random(seed)
        elements = {stream: random_stream(rng, LONG) for stream in case.elements}
        case = replace(case, query=query, profile=profile, elements=elements, t0=0, from_=None, until=None)
        has_closing = profile.report.when is not When.WINDOW_CLOSE or all(
            not isinstance(w.definition, TimeWindow) or w.definition.slide is not None for w in query.windows
        )
        if has_closing and sum(bool(report.rows) for report in case.expected()) > 10:
            return case
        seed += 1


QUICK = {0, 3, 5}
"""Content change, counting and a period; the others are planned by the same steps and marked slow."""


@pytest.mark.spark
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, marks=[] if number in QUICK else [pytest.mark.slow], id=type(kind).__name__)
        for number, (kind, _) in enumerate(KINDS)
    ],
)
def test_reports_on_spark(spark: SparkSession, number: int) -> None:
    case = long_case(number, *KINDS[number])
    with Spark(spark) as placed:
        found = answer_any(case, placed, chunk=9 if number % 2 else None)
    assert not compare_reports(case.expected(), found), str(case)
    with Local(threads=1) as local:
        assert not compare_reports(found, answer_any(case, local)), str(case)
