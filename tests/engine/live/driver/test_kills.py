"""Killed processes, full disks, fenced drivers, clock jumps and cut connections: no result is lost or duplicated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hydrograph.live.failpoints import POINTS
from tests.support.accidents import clock_jumps, disk_full, socket_cut, two_drivers
from tests.support.kill_harness import Site


def test_a_kill_at_any_point_of_a_batch_loses_and_duplicates_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=1)
    for number, point in enumerate(POINTS):
        site.give(4)
        ran = site.run(f"{point}:1")
        assert site.kills == number + 1, f"{point}: the process was not killed\n{ran.stderr}"
    site.give(site.files)
    ran = site.run()
    assert ran.returncode == 0, ran.stderr
    assert site.expected()
    assert site.lost_and_doubled() == (0, 0)
    assert site.found() == site.expected()


Accident = Callable[[Site, int], str | None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("happens", "seed"),
    [(disk_full, 1), (clock_jumps, 1), (socket_cut, 1), *((two_drivers, seed) for seed in range(len(POINTS)))],
)
def test_an_accident_loses_and_duplicates_nothing(happens: Accident, seed: int, tmp_path: Path) -> None:
    site = Site(tmp_path, seed=seed, files=12)
    assert happens(site, seed) is None
    assert site.expected()
    assert site.lost_and_doubled() == (0, 0)
