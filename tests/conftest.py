"""What several rooms' tests share: one Spark session and one database for the whole run."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from hydrograph.runtime.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hydrograph.runtime.placement.local import Local


gc.disable()  # while modules are imported there is nothing to collect


def pytest_collection_finish() -> None:
    """Collect garbage more seldom, and never look through what stands for the whole run.

    The trees of queries are cycles: with the usual settings the collector takes a sixth of the time of random cases.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    """Let go of everything at the end: DuckDB complains of what is never collected."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def local() -> Iterator[Local]:
    """One database for small cases: to open one takes about as long as to answer one of them."""
    from hydrograph.runtime.placement.local import Local

    with Local(threads=1, small=True) as placed:
        yield placed


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, no user interface, nothing reachable from outside, and a time zone no result may depend on."""
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("hydrograph-tests")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        # Small plans, each run once or twice: to make fast code of them would take longer than to run them.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.log.level", "OFF")
        .config("spark.sql.session.timeZone", "Pacific/Chatham")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
