"""How a live query runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from hydrograph.live.step.watermark import Lateness
from hydrograph.runtime.options import Placement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Driver(StrEnum):
    """Who calls the step: a plain loop, or Spark Structured Streaming."""

    LOOP = "loop"
    SPARK = "spark"


class Tracking(StrEnum):
    """When Spark writes down how far it has come: behind the batches, or with each of them."""

    ASYNC = "async"
    SYNC = "sync"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a live query runs."""

    checkpoint: str
    results: str | None = None
    lateness: Lateness = field(default_factory=Lateness)
    idle_after: float | None = None
    """Seconds after which a silent stream is no longer waited for; None waits for ever."""
    bad: str = "skip"
    sync: bool = False
    """Whether to wait until the disk has what is written: survives a loss of power, and costs milliseconds a batch."""
    placement: Placement = Placement.AUTO
    master: str | None = None
    memory: str | None = None
    driver: Driver = Driver.LOOP
    progress: Tracking = Tracking.ASYNC
    """What is recorded of a batch is the same either way: Spark's own progress is never gone by."""
    threads: int | None = None
    local_bytes: int | None = None
    """Bytes that a query may need in the driver before it moves to Spark, if it may; None is half of the memory.

    What runs out first beside the driver is memory: joins hold their rows several times, and executors elsewhere bring
    their own. What a query needs is known from its rows, see `places`.
    """
    session: SparkSession | None = None
    linger: float = 0.0
    """Seconds that a batch waits for more to come: fewer and larger batches."""
