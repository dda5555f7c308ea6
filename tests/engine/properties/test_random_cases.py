"""Engine = oracle, on random streams and queries; a failure shows the seed and the smallest case that still fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.windows.stream import Element, delayed
from hydrograph_gauge.oracle.compare import compare_reports
from hydrograph_gauge.oracle.evaluate import Report
from tests.support.random_cases import BASIC, Case, random_case, shrink
from tests.support.replay_adapter import answer, case_plan, case_ranks
from tests.support.seed_blocks import seed_blocks

FIRST_SEED = 20_000
CASES, BLOCK = 2000, 100
QUICK = 4
"""Blocks that `make test` runs; the others are slow."""


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    with Local(threads=1, small=True) as placed:
        yield placed


def differs(case: Case, local: Local, chunk_windows: int | None = None) -> bool:
    """Tell whether the engine's answer is not the oracle's."""
    return bool(compare_reports(case.expected(), answer(case, chunk_windows=chunk_windows, placed=local)))


@pytest.mark.parametrize("first", seed_blocks(range(FIRST_SEED, FIRST_SEED + CASES, BLOCK), QUICK))
def test_random_cases_equal_the_oracle(first: int, local: Local) -> None:
    for seed in range(first, first + BLOCK):
        case = random_case(seed, BASIC)
        chunk_windows = None if seed % 2 else 1  # every other one is cut by time into the smallest chunks
        if differs(case, local, chunk_windows):
            small = shrink(case, lambda one: differs(one, local, chunk_windows))  # noqa: B023 - used at once
            found = compare_reports(small.expected(), answer(small, chunk_windows=chunk_windows, placed=local))
            pytest.fail(f"seed {seed}, chunks {chunk_windows}\n{small}\n" + "\n".join(map(str, found)))


def non_empty_cases(first: int, count: int) -> list[Case]:
    """Return cases that have answers, so that a law about them is not trivial."""
    found: list[Case] = []
    seed = first
    while len(found) < count:
        case = random_case(seed, BASIC)
        if any(report.rows for report in case.expected()):
            found.append(case)
        seed += 1
    return found


def mapped(case: Case, change: object) -> Case:
    """Return the case with every stream changed."""
    assert callable(change)
    return replace(case, elements={name: change(elements) for name, elements in case.elements.items()})


def test_shifted_time_shifts_the_answers(local: Local) -> None:
    for case in non_empty_cases(31_000, 40):
        by = 977 * (1 + case.seed % 3)
        moved = replace(mapped(case, lambda elements, by=by: delayed(elements, by)), t0=case.t0 + by)
        moved = replace(
            moved,
            from_=None if case.from_ is None else case.from_ + by,
            until=None if case.until is None else case.until + by,
        )
        shifted = [
            replace(r, t=r.t + by, open=_plus(r.open, by), close=_plus(r.close, by)) for r in answer(case, placed=local)
        ]
        assert not compare_reports(shifted, answer(moved, placed=local)), case


def _plus(t: int | None, by: int) -> int | None:
    return None if t is None else t + by


def test_doubled_events_change_nothing(local: Local) -> None:
    def doubled(elements: tuple[Element, ...]) -> tuple[Element, ...]:
        last = max((element.seq for element in elements), default=0)
        return (*elements, *(replace(element, seq=element.seq + last + 1) for element in elements))

    for case in non_empty_cases(32_000, 40):
        assert not compare_reports(answer(case, placed=local), answer(mapped(case, doubled), placed=local)), case


def test_any_cut_of_the_report_range_gives_the_same_answers(local: Local) -> None:
    """S17, for Rstream; the other operators look one report back, which a cut has to carry along."""
    checked = 0
    for case in non_empty_cases(33_000, 80):
        planned = case_plan(case)
        ranks = case_ranks(planned, case.elements, case)
        if planned.operator.value != "rstream" or len(ranks) < 3:
            continue
        whole = answer(case, placed=local)
        for middle in {ranks.start + 1, (ranks.start + ranks.end) // 2, ranks.end - 1}:
            parts: list[Report] = []
            for part in (ReportRanks(ranks.start, middle), ReportRanks(middle, ranks.end)):
                parts += answer(case, ranks=part, placed=local)
            assert not compare_reports(whole, parts), case
            checked += 1
    assert checked > 30
