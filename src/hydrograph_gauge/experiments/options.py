"""Options of a run that do not depend on the experiment, its progress messages, and the time spent on each step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORLDS = "worlds"
Progress = Callable[[str], None]
"""Receiver of progress messages."""


def ignore_progress(_: str) -> None:
    """Ignore a progress message."""


@dataclass(slots=True)
class RunOptions:
    """Options of a run."""

    worlds: Path | None = None
    """Folder of generated worlds; by default in the folder of the run."""
    session: SparkSession | None = None
    """Spark session of the oracle; by default the oracle uses processes of this machine."""
    processes: int | None = None
    progress: Progress = ignore_progress
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds spent on each step: data, play, oracle, judge."""

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Add the time of the enclosed work to a step."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spent[step] = self.spent.get(step, 0.0) + time.monotonic() - begin

    def data_folder(self, folder: Path) -> Path:
        """Return the folder in which the data of a run is cached."""
        return self.worlds or folder / WORLDS

    def format_times(self) -> str:
        """Return the time spent on each step, as text.

        >>> RunOptions(spent={"play": 61.2, "oracle": 5}).format_times()
        'time: play 61 s, oracle 5 s'
        """
        return "time: " + ", ".join(f"{step} {seconds:.0f} s" for step, seconds in self.spent.items())


def start_oracle_session(master: str | None) -> SparkSession | None:
    """Return a Spark session for the oracle; None without a master."""
    if master is None:
        return None
    from hydrograph.runtime.session import spark_session

    return spark_session(master, None)
