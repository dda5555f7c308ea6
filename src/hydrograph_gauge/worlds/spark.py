"""Spark helpers of the generators: constant arrays, numbers of tasks, progress, and Java options."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession


def to_bigint(*values: Column | int) -> list[Column]:
    """Return the values as columns of type BIGINT; Spark hashes an INT differently."""
    from pyspark.sql import functions as F  # noqa: N812

    return [(F.lit(value) if isinstance(value, int) else value).cast("bigint") for value in values]


def constant_strings(values: Sequence[str]) -> Column:
    """Return a constant array of texts, which must not contain line ends."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.split(F.lit("\n".join(values)), "\n")


def constant_numbers(values: Sequence[float] | Sequence[int], type_: str = "double") -> Column:
    """Return a constant array; it is sent to Java as one string, because single literals take a millisecond each."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.split(F.lit(",".join(map(repr, values))), ",").cast(f"array<{type_}>")


_FORCED: ContextVar[int | None] = ContextVar("partitions", default=None)


def task_count(rows: float, per_task: int) -> int:
    """Return the number of tasks for a number of rows; tests of partition independence force it.

    >>> task_count(2_500_000, 1_000_000)
    3
    """
    forced = _FORCED.get()
    return max(1, -int(-rows // per_task)) if forced is None else forced


@contextmanager
def force_task_count(count: int) -> Iterator[None]:
    """Run every generation step inside the `with` block with `count` tasks."""
    before = _FORCED.set(count)
    try:
        yield
    finally:
        _FORCED.reset(before)


_OPTION = "-XX:-DontCompileHugeMethods"


def compile_long_methods() -> None:
    """Let Java compile methods of more than 8,000 bytes, such as the generated code that builds triples.

    This affects the next Java process that Spark starts.
    """
    known = os.environ.get("JDK_JAVA_OPTIONS", "")
    if _OPTION not in known.split():
        os.environ["JDK_JAVA_OPTIONS"] = f"{known} {_OPTION}".strip()


def count_active_tasks(spark: SparkSession) -> tuple[int, int]:
    """Return the numbers of completed and of all tasks of the running stages."""
    tracker = spark.sparkContext.statusTracker()
    stages = [info for stage in tracker.getActiveStageIds() if (info := tracker.getStageInfo(stage)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
