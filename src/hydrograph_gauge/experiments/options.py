"""How a run is done, whatever the experiment is; what it says while it goes on, and where its time goes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hydrograph_gauge.experiments.data import Say, silent
from hydrograph_gauge.experiments.run_folder import PlayedRecord

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORLDS = "worlds"


@dataclass(slots=True)
class Options:
    """How a run is done."""

    worlds: Path | None = None
    """Where generated worlds are kept; by default in the folder of the run."""
    session: SparkSession | None = None
    """Where the oracle works; by default in processes of this machine."""
    processes: int | None = None
    say: Say = silent
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds by what they were spent on: data, play, oracle, judge."""

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Count the time of what is done inside."""
        begin = time.monotonic()
        try:
            yield
        finally:
            self.spent[what] = self.spent.get(what, 0.0) + time.monotonic() - begin

    def kept(self, folder: Path) -> Path:
        """Return where the data of a run in a folder is kept."""
        return self.worlds or folder / WORLDS

    def times(self) -> str:
        """Return where the time went.

        >>> Options(spent={"play": 61.2, "oracle": 5}).times()
        'time: play 61 s, oracle 5 s'
        """
        return "time: " + ", ".join(f"{what} {seconds:.0f} s" for what, seconds in self.spent.items())


def oracle_session(master: str | None) -> SparkSession | None:
    """Return the Spark on which the oracle works; None where none is named."""
    if master is None:
        return None
    from hydrograph.runtime.session import spark_session

    return spark_session(master, None)


def label(record: PlayedRecord) -> str:
    """Return a run of an engine in words: test, settings, engine, query, and the repetition where it is not the first.

    >>> label(PlayedRecord(test="load", engine="cqels", repetition=1, settings={"rate": 9}, questions={}, streams={}))
    'load, rate 9, cqels, repetition 2'
    """
    parts = [record.test, *(f"{key} {value}" for key, value in record.settings.items()), record.engine]
    if len(record.questions) == 1:
        parts.append(next(iter(record.questions)))
    elif record.questions:
        parts.append(f"{len(record.questions)} queries")
    if record.repetition:
        parts.append(f"repetition {record.repetition + 1}")
    return ", ".join(parts)
