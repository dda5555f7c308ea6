"""Disks that are full, drivers that wake up too late, clocks that jump, lines that are cut: nothing lost or doubled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hydrograph.live.failpoints import POINTS
from tests.support.accidents import clock_jumps, disk_full, socket_cut, two_drivers
from tests.support.kill_harness import Site

Happens = Callable[[Site, int], str | None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("happens", "seed"),
    [(disk_full, 1), (clock_jumps, 1), (socket_cut, 1), *((two_drivers, seed) for seed in range(len(POINTS)))],
)
def test_an_accident_costs_nothing(happens: Happens, seed: int, tmp_path: Path) -> None:
    site = Site(tmp_path, seed=seed, files=12)
    assert happens(site, seed) is None
    assert site.expected()
    assert site.lost_and_doubled() == (0, 0)
