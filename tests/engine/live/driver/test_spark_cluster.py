"""A live query on a cluster: a standalone master and workers that join and leave, and Spark's own small cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kill_harness import Site
from tests.support.spark_cluster import Cluster
from tests.support.waiting import until

OPTIONS = ("--driver", "spark", "--placement", "spark", "--memory", "1g")
PATIENCE = 150.0


@pytest.mark.slow
def test_workers_join_and_leave_while_a_query_runs(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "cluster").mkdir()
    site = Site(tmp_path / "site", seed=5, files=16)
    site.give(4)
    with Cluster(tmp_path / "cluster") as cluster:
        first = cluster.join()
        with site.driver(None, *OPTIONS, "--master", cluster.url) as driver:
            until(lambda: bool(site.found()), PATIENCE, lambda: driver.poll() is None)  # the first reports
            cluster.join()
            until(lambda: cluster.executors() == 2, PATIENCE, lambda: driver.poll() is None)
            before = len(site.found())
            site.give(4)
            until(lambda: len(site.found()) > before, PATIENCE, lambda: driver.poll() is None)  # reports of two workers
            cluster.leave(first)
            before = len(site.found())
            site.give(4)
            until(lambda: len(site.found()) > before, PATIENCE, lambda: driver.poll() is None)
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
