"""Watermarks (S32): the event time up to which every element is known.

Pure. The wall clock enters only as the set of idle partitions, which the driver decides and records.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hydrograph.live.step.input_batch import Partition
from hydrograph.temporal import END_OF_TIME, Duration, Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Limits of event times: how late an element may be, and how far ahead."""

    delay: Duration = 0
    """Maximum delay of an element behind the newest of its partition at which it still counts everywhere."""
    max_ahead: Duration | None = None
    """An element further ahead of the watermark goes into quarantine; None accepts every time."""
    agreeing: int = 3
    """Number of further elements near an implausible time that make it plausible."""


def compute_watermark(
    newest: Mapping[Partition, Instant],
    partitions: Collection[Partition],
    idle: Collection[Partition],
    ended: Collection[Partition],
    delay: Duration,
) -> Instant | None:
    """Return the smallest event time reached by any partition, minus the lateness; None while one has no element.

    Partitions that have ended or are idle do not count. If all have ended, the watermark is `END_OF_TIME`. If all are
    idle there is none; the step then closes the windows that hold elements.

    >>> compute_watermark({"a": 10, "b": 7}, ["a", "b"], [], [], 2)
    5
    >>> compute_watermark({"a": 10}, ["a", "b"], ["b"], [], 2)
    8
    """
    if all(partition in ended for partition in partitions):
        return END_OF_TIME
    waiting = [partition for partition in partitions if partition not in ended and partition not in idle]
    if not waiting or any(partition not in newest for partition in waiting):
        return None
    return min(newest[partition] for partition in waiting) - delay
