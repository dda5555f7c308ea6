"""Live equals replay: streams cut into batches, in disorder within the lateness, give the same lines byte for byte.

HYDROGRAPH_HISTORIES sets how many histories are run; a failure names its seed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from live_histories import History, lived, random_history, replayed

from hydrograph.runtime.placement.local import Local
from hydrograph.windows.report import When

HISTORIES = int(os.environ.get("HYDROGRAPH_HISTORIES", "500"))
BLOCK = 25


@pytest.fixture
def placed() -> Iterator[Local]:
    with Local(threads=1) as database:
        yield database


def is_one_by_one(seed: int) -> bool:
    return seed % 4 == 1


def check(history: History, placed: Local) -> None:
    expected = replayed(history.case, placed)
    found, record = lived(history, placed)
    seed = f"seed {history.case.seed}, batches {[sum(map(len, batch.values())) for batch in history.batches]}"
    assert found == expected, f"{seed}\n{history.case}"
    elements = sum(len(history.case.elements[stream]) for stream in history.streams)
    assert record.counts.total == elements, seed
    assert record.counts.late_partial == record.counts.late_dropped == 0, seed


@pytest.mark.parametrize("first", range(0, HISTORIES, BLOCK))
def test_any_batches_give_what_replay_gives(first: int, placed: Local) -> None:
    for seed in range(first, first + BLOCK):
        check(random_history(seed, one_by_one=is_one_by_one(seed)), placed)


def test_the_histories_cover_what_they_are_to_cover() -> None:
    seen: Counter[str] = Counter()
    for seed in range(HISTORIES):
        history = random_history(seed, one_by_one=is_one_by_one(seed))
        planned = history.registered().plan
        seen[planned.profile.report.when] += 1
        seen[f"operator {planned.operator}"] += 1
        seen["no grid"] += planned.reports is None
        seen["two streams"] += len(history.streams) > 1
        seen["waits for t0"] += not planned.is_placed
        seen["non-empty"] += planned.profile.report.non_empty
        seen["one by one"] += is_one_by_one(seed) and len(history.batches) > 10
        for sight in planned.sights.values():
            seen[type(sight).__name__] += 1
    missing = {str(when) for when in When} - {str(name) for name in seen}
    assert not missing
    assert all(number >= 10 for number in seen.values()), seen
