"""The SparkSession: the user's own if there is one, else one of ours with settings that suit streams."""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil

from hydrograph.errors import RunError, UsageError
from hydrograph.runtime.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GIB = 1024**3
_MOST_MEMORY = 16
_LOOPBACK = "127.0.0.1"


def spark_session(master: str | None = None, memory: str | None = None) -> SparkSession:
    """Return the active session, or start one; a caller that starts a session stops it."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    return _start(master or "local[*]", memory or _half_of_memory())


def _half_of_memory() -> str:
    gibibytes = max(1, min(_MOST_MEMORY, psutil.virtual_memory().total // (2 * _GIB)))
    return f"{gibibytes}g"


def _start(master: str, memory: str) -> SparkSession:
    from pyspark.errors import PySparkException, PySparkRuntimeError
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java())
    # Workers must run the driver's Python, and nothing may listen beyond this machine unless the master is elsewhere.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    address = os.environ.setdefault("SPARK_LOCAL_IP", own_address(master))
    builder = SparkSession.builder.appName("hydrograph").master(master)
    for name, value in _settings(memory, address).items():
        builder = builder.config(name, value)
    with _java_words() as words:
        try:
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
        except (PySparkException, PySparkRuntimeError) as error:
            said = words.read_text("utf-8", "replace").strip()
            raise RunError(f"Spark did not start: {str(error).splitlines()[0]}\n{said}".strip()) from error
    return session


def own_address(master: str) -> str:
    """Return the address of this machine at which executors find the driver: loopback, unless the master is elsewhere.

    >>> own_address("local[2]"), own_address("spark://localhost:7077"), own_address("local-cluster[2,1,1024]")
    ('127.0.0.1', '127.0.0.1', '127.0.0.1')
    """
    first = master.partition("://")[2].partition(",")[0]
    if not first or not master.startswith("spark://"):
        return _LOOPBACK
    found = urlsplit(f"spark://{first}")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.connect((found.hostname or "", found.port or 7077))  # sends nothing: which way would it go?
            return str(asking.getsockname()[0])
    except OSError as error:
        raise UsageError(f"no way to {master}: {error.strerror or error}; expected spark://host:port") from None


@contextmanager
def _java_words() -> Iterator[Path]:
    """Give the file that gets what Java writes to standard error; it is shown only if Spark does not start.

    Java prints several lines at start, before any setting can turn them off.
    """
    sys.stderr.flush()
    with tempfile.NamedTemporaryFile(prefix="hydrograph-java-", suffix=".log") as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield Path(file.name)
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _settings(memory: str, address: str) -> dict[str, str]:
    cores = os.cpu_count() or 1
    return {
        "spark.driver.memory": memory,
        # A quarter less CPU than Java's own choice: few long-lived objects, many short-lived rows.
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.executor.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.driver.bindAddress": address,
        "spark.driver.host": address,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(max(4, 2 * cores)),
        # Plans are hinted; re-planning between stages costs more than it finds at one machine's sizes.
        "spark.sql.adaptive.enabled": "false",
        # A shuffled hash join is asked for by hint where a chunk bounds it.
        "spark.sql.join.preferSortMergeJoin": "true",
        # Rows that are spread by chunk need not be spread again by chunk and key.
        "spark.sql.requireAllClusterKeysForCoPartition": "false",
        # One query may have ninety classes: of Spark's hundred the next run would compile a third again.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "false",
    }
