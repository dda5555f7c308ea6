"""Fixtures of all tests: one Spark session and one database for the whole run."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from hydrograph.runtime.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from hydrograph.runtime.placement.local import Local


settings.register_profile("no-deadline", deadline=None)  # a busy machine is not a failure
settings.load_profile("no-deadline")

gc.disable()  # while modules are imported there is nothing to collect


def pytest_collection_finish() -> None:
    """Collect garbage less often, and exclude the objects that live for the whole run.

    Query trees are cyclic: with the default settings the collector takes a sixth of the time of random cases.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


def pytest_unconfigure() -> None:
    """Make all objects collectable again: DuckDB reports those that never are."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def local() -> Iterator[Local]:
    """Open one database for all small cases: opening takes about as long as answering a case."""
    from hydrograph.runtime.placement.local import Local

    with Local(threads=1, small=True) as placed:
        yield placed


@pytest.fixture
def placed() -> Iterator[Local]:
    """A database of its own, for tests that keep tables in it from query to query."""
    from hydrograph.runtime.placement.local import Local

    with Local(threads=1, small=True) as database:
        yield database


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Start Spark with two cores, on loopback only, in a time zone that no result may depend on."""
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
        # Each small plan runs once or twice: compiling it to fast code would take longer than running it.
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
