"""Watermarks (S32): how far time has come in each partition, which partitions count, and whom not to believe (A8).

Pure. The wall clock enters only as the set of idle partitions, which is decided outside and recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hydrograph.live.step.input_batch import Partition
from hydrograph.temporal import Duration, Instant

Times = npt.NDArray[np.int64]

FOREVER: Instant = 2**61
"""The watermark of a stream that has ended: later than any time of a stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """How long is waited for late elements, and when a time is not believed."""

    delay: Duration = 0
    """How much earlier than the newest element of its partition an element may be and still count everywhere."""
    max_ahead: Duration | None = None
    """An element further ahead of the watermark is held back; None believes every time."""
    agreeing: int = 3
    """So many further elements that agree with a time in the future make it believed."""


def compute_watermark(
    newest: Mapping[Partition, Instant],
    partitions: Collection[Partition],
    idle: Collection[Partition],
    ended: Collection[Partition],
    delay: Duration,
) -> Instant | None:
    """Return the time up to which everything is known; None while some partition has said nothing.

    What has ended can say nothing more, and is not waited for; if all have, the watermark is `FOREVER`. Of partitions
    that are all idle nothing is known either: see `step`, which then closes the windows that hold something.

    >>> compute_watermark({"a": 10, "b": 7}, ["a", "b"], [], [], 2), compute_watermark({"a": 10}, ["a", "b"], ["b"], [], 2)
    (5, 8)
    """
    if all(partition in ended for partition in partitions):
        return FOREVER
    waiting = [partition for partition in partitions if partition not in ended and partition not in idle]
    if not waiting or any(partition not in newest for partition in waiting):
        return None
    return min(newest[partition] for partition in waiting) - delay


def latest_plausible_time(times: Times, start: Instant | None, others: Times, lateness: Lateness) -> Instant | None:
    """Return the latest time that is believed of a partition's elements, in any order; None if there is none.

    Time may jump by `max_ahead` from `start` or from one element to the next; None as `start` believes the first
    element. A jump further is believed if `others`, times of other partitions, or enough of the elements behind it,
    agree: they lie within `max_ahead` of the first one there.

    >>> quick = Lateness(max_ahead=100, agreeing=2)
    >>> latest_plausible_time(np.array([10, 90, 5_000]), 0, np.array([]), quick)
    90
    >>> latest_plausible_time(np.array([10, 90, 5_000, 5_001, 5_050]), 0, np.array([]), quick)
    5050
    >>> latest_plausible_time(np.array([10, 90, 5_000]), 0, np.array([4_950]), quick)
    5000
    >>> latest_plausible_time(np.array([10, 700, 5_000, 5_001, 5_050, 9_000]), 0, np.array([]), quick)
    5050
    """
    if not len(times):
        return None
    if lateness.max_ahead is None:
        return int(times.max())
    ahead = lateness.max_ahead
    # The first element to arrive is believed, the earliest in time need not be the first.
    current = int(times[0]) if start is None else start
    in_order = np.sort(times)
    before = np.maximum(np.concatenate(([current], in_order[:-1])), current)
    jumps = np.flatnonzero(in_order > before + ahead).tolist()
    # From the last one back: if a time is believed, so is all before it, whoever else was alone with his time there.
    for jump, behind in reversed([*pairwise([*jumps, len(in_order)])]):
        first = int(in_order[jump])
        together = int(np.searchsorted(in_order, first + ahead, side="right")) - jump
        agrees = bool(len(others)) and bool((np.abs(others - first) <= ahead).any())
        if together > lateness.agreeing or agrees:
            return int(in_order[behind - 1])
    until = jumps[0] if jumps else len(in_order)
    return int(in_order[until - 1]) if until else None
