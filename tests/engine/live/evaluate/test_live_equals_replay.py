"""Live equals replay: streams cut into batches, in disorder within the lateness, give the same lines byte for byte.

Histories with one element per batch also restart at random, from their record and the log.

HYDROGRAPH_HISTORIES sets how many histories are run; a failure names its seed.
"""

from __future__ import annotations

import os
from collections import Counter
from random import Random

import pytest

from hydrograph.live.evaluate.choose import IncrementalWithFallback, choose_evaluation
from hydrograph.live.evaluate.incremental import Incremental
from hydrograph.live.evaluate.incremental_r2s import IncrementalR2S
from hydrograph.runtime.placement.local import Local
from hydrograph.windows.report import When
from tests.support.live_histories import History, lived, random_histories, replayed
from tests.support.seed_blocks import seed_blocks

HISTORIES = int(os.environ.get("HYDROGRAPH_HISTORIES", "500"))
CUTS = 5
"""Ways in which each case is cut into batches: once element by element, and at random."""
BLOCK = 5
QUICK = 3
"""Blocks that `make test` runs; the others are slow."""


def check(history: History, expected: list[str], placed: Local, restarts: Random | None = None) -> None:
    found, record = lived(history, placed, restarts)
    seed = f"seed {history.case.seed}, batches {[sum(map(len, batch.values())) for batch in history.batches]}"
    assert found == expected, f"{seed}\n{history.case}"
    elements = sum(len(history.case.elements[stream]) for stream in history.streams)
    assert record.counts.total == elements, seed
    assert record.counts.late_partial == record.counts.late_dropped == 0, seed


@pytest.mark.parametrize("first", seed_blocks(range(0, HISTORIES // CUTS, BLOCK), QUICK))
def test_batches_of_any_size_give_the_reports_of_replay(first: int, placed: Local) -> None:
    for seed in range(first, first + BLOCK):
        histories = random_histories(seed, CUTS)
        expected = replayed(histories[0].case, placed)
        for history in histories[1:]:
            check(history, expected, placed)
        check(histories[0], expected, placed, Random(f"restarts {seed}"))


def test_the_histories_cover_all_policies_and_evaluations() -> None:
    seen: Counter[str] = Counter()
    for seed in range(HISTORIES // CUTS):
        history = random_histories(seed, 1)[0]
        planned = history.registered().plan
        seen[planned.profile.report.when] += 1
        seen[f"operator {planned.operator}"] += 1
        seen["no grid"] += planned.reports is None
        with Local(threads=1, small=True) as database:
            evaluation = choose_evaluation(planned.starting(0), history.static(), database)
        seen["rows kept"] += evaluation.keeps_rows
        seen["rows kept without a grid"] += evaluation.keeps_rows and planned.reports is None
        if isinstance(evaluation, IncrementalWithFallback) and isinstance(evaluation.current, Incremental):
            seen["changes kept"] += isinstance(evaluation.current.results, IncrementalR2S)
        seen["two streams"] += len(history.streams) > 1
        seen["waits for t0"] += not planned.is_placed
        seen["non-empty"] += planned.profile.report.non_empty
        for visibility in planned.visibilities.values():
            seen[type(visibility).__name__] += 1
    missing = {str(when) for when in When} - {str(name) for name in seen}
    assert not missing
    assert all(number >= 2 for number in seen.values()), seen
