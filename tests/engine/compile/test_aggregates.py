"""Overlap-proof aggregates: the cost of a row does not grow with the number of windows that hold it."""

from __future__ import annotations

from itertools import count

import pytest

from hydrograph.algebra.nodes import Group
from hydrograph.algebra.walk import subpatterns
from hydrograph.compile import group
from hydrograph.compile.printers import Target
from hydrograph.language import parse
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Facts, plan
from hydrograph.windows.profile import RSPQL
from hydrograph_gauge.oracle.compare import compare_reports
from tests.support.random_cases import BASIC, FULL, Case, random_case
from tests.support.replay_adapter import answer

FIRST_SEED, CASES = 90_000, 30


def has_extreme(case: Case) -> bool:
    groups = [node for node in subpatterns(case.query.pattern) if isinstance(node, Group)]
    return any(aggregate.name in ("MIN", "MAX") for group in groups for _, aggregate in group.aggregates)


def test_the_dyadic_cover_equals_the_oracle(monkeypatch: pytest.MonkeyPatch, local: Local) -> None:
    monkeypatch.setattr(group, "SMALL_OVERLAP", 0)
    tried = 0
    for seed in count(FIRST_SEED):
        case = random_case(seed, FULL if seed % 3 else BASIC)
        if not has_extreme(case):
            continue
        got = answer(case, chunk_windows=None if seed % 2 else 1, placed=local)
        found = compare_reports(case.expected(), got)
        assert not found, f"seed {seed}\n{case}\n{found[0]}"
        tried += 1
        if tried == CASES:
            break


def program_text(aggregate: str, window: str) -> str:
    where = "WHERE { WINDOW <urn:w> { ?s <urn:p> ?o } }"
    text = f"SELECT ({aggregate} AS ?x) FROM NAMED WINDOW <urn:w> ON <urn:s> [{window}] {where}"
    return plan(parse(text), RSPQL, 0).program(Facts({}, exact_numbers=True)).text(Target.DUCKDB)


@pytest.mark.parametrize("aggregate", ["COUNT(?o)", "SUM(?o)", "AVG(?o)", "COUNT(DISTINCT ?o)", "SUM(DISTINCT ?o)"])
def test_sums_and_counts_never_look_at_every_rank(aggregate: str) -> None:
    text = program_text(aggregate, "RANGE PT24H STEP PT1S")
    assert "GENERATE_SERIES(lo, hi)" not in text.replace("WHEN FALSE THEN GENERATE_SERIES(lo, hi)", "")


def test_extremes_look_at_every_rank_only_where_windows_overlap_little() -> None:
    assert "GENERATE_SERIES" in program_text("MIN(?o)", "RANGE PT16S STEP PT1S")
    assert "POWER(2, level)" in program_text("MIN(?o)", "RANGE PT17S STEP PT1S")
    assert "GENERATE_SERIES" not in program_text("MIN(?o)", "RANGE PT24H STEP PT1S")
