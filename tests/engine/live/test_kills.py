"""Six real kills, one at each point of a batch, in a row on one checkpoint: nothing lost, nothing doubled."""

from __future__ import annotations

from pathlib import Path

from hydrograph.live.failpoints import POINTS
from tests.support.kill_harness import Site


def test_a_process_may_be_killed_at_every_point(tmp_path: Path) -> None:
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
