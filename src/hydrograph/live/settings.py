"""Settings of a live query."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from hydrograph.live.step.records import Lateness
from hydrograph.runtime.placement import PlacementChoice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Driver(StrEnum):
    """Caller of the batch loop: a plain loop, or Spark Structured Streaming."""

    LOOP = "loop"
    SPARK = "spark"


class ProgressTracking(StrEnum):
    """Time at which Spark writes its own progress: asynchronously, or with each batch."""

    ASYNC = "async"
    SYNC = "sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a live query."""

    checkpoint: str
    results: str | None = None
    lateness: Lateness = field(default_factory=Lateness)
    idle_after: float | None = None
    """Seconds without input after which a partition is idle and no longer holds back the watermark; None is never."""
    bad: str = "skip"
    sync: bool = False
    """Whether to call fsync after each write: survives a power loss, and costs milliseconds per batch."""
    placement: PlacementChoice = PlacementChoice.AUTO
    master: str | None = None
    memory: str | None = None
    driver: Driver = Driver.LOOP
    progress: ProgressTracking = ProgressTracking.ASYNC
    """Spark's own progress is never used for recovery, so results are the same either way."""
    threads: int | None = None
    local_bytes: int | None = None
    """Bytes of memory that a query may use in the driver before it moves to Spark, if it may; None: half of all.

    The need of a query is estimated from its rows, see `placement_policy.needed_bytes`.
    """
    session: SparkSession | None = None
    linger: float = 0.0
    """Seconds to wait for more input before a batch, for fewer and larger batches."""
