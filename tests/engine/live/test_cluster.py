"""A live query on a cluster: a standalone master and workers that join and leave, and Spark's own small cluster."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.kill_harness import Site
from tests.support.spark_cluster import Cluster

OPTIONS = ("--driver", "spark", "--placement", "spark", "--memory", "1g")
PATIENCE = 150.0


def until(driver: subprocess.Popen[str], happens: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert driver.poll() is None, f"the driver has ended while it was waited for {what}: {driver.communicate()[1]}"
        assert time.monotonic() < end, f"waited too long for {what}"
        time.sleep(0.2)


@pytest.mark.slow
def test_workers_join_and_leave_while_a_query_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "cluster").mkdir()
    site = Site(tmp_path / "site", seed=5, files=16)
    site.give(4)
    with Cluster(tmp_path / "cluster") as cluster:
        first = cluster.join()
        with site.driver(None, *OPTIONS, "--master", cluster.url) as driver:
            until(driver, lambda: bool(site.found()), "the first reports")
            cluster.join()
            until(driver, lambda: cluster.executors() == 2, "executors on both workers")
            before = len(site.found())
            site.give(4)
            until(driver, lambda: len(site.found()) > before, "reports of two workers")
            cluster.leave(first)
            before = len(site.found())
            site.give(4)
            until(driver, lambda: len(site.found()) > before, "reports of the worker that is left")
            site.give(site.files)
            _, err = driver.communicate(timeout=PATIENCE)
    assert driver.returncode == 0, err
    assert site.found() == site.expected()


@pytest.mark.slow
def test_a_query_runs_on_a_local_cluster(tmp_path: Path) -> None:
    site = Site(tmp_path, seed=6, files=8)
    site.give(site.files)
    ran = site.run(None, *OPTIONS, "--master", "local-cluster[2,1,1024]", patience=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    assert site.found() == site.expected()
