"""Standard input: `-`; the partition ends where the input does."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hydrograph.errors import UsageError
from hydrograph.live.sources.decoder import Feed
from hydrograph.live.sources.logged import LoggedPartition
from hydrograph.live.sources.source import PartitionSpec, SinglePartitionSource


class StandardInputSource(SinglePartitionSource):
    """The standard input of the process."""

    def list_partitions(self) -> Sequence[str]:
        """Return the one partition; raise UsageError if standard input is closed."""
        if sys.stdin is None:  # set by Python when the descriptor was closed before it started
            raise UsageError("standard input is closed: expected a stream in it, or another URL than -")
        return ("",)

    def open(self, partition: PartitionSpec) -> LoggedPartition:
        """Return the reader."""
        return LoggedPartition(partition, _receive)


def _receive(partition: LoggedPartition) -> None:
    feed = Feed(sys.stdin.fileno(), partition.stopping.is_set)
    partition.take_all(feed)
    if not feed.cut:
        partition.finish()
