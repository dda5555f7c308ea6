"""`Run`: a query bound to recorded data, as users hold it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self, TypeVar

from hydrograph.compile.program import Program
from hydrograph.errors import UsageError
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.replay.local import LocalReplay
from hydrograph.runtime.replay.replay import Data, Replay
from hydrograph.runtime.replay.spark import SparkReplay
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.runtime.reports import Report, ReportDigest
from hydrograph.runtime.result_formats import DIGEST, QueryResults, write_answers, write_digests
from hydrograph.runtime.session import spark_session
from hydrograph.streams import sources
from hydrograph.streams.bad_lines import ReadCounts
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.temporal import Instant
from hydrograph.windows.report import Range

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

Item = TypeVar("Item")
_LOCAL_ROWS = 1_000_000
"""Rows up to which a replay in the driver's process ends before Spark has started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Placement of a run, and the reports it returns: those in `(after, until]`."""

    placement: PlacementChoice = PlacementChoice.AUTO
    after: Instant | None = None
    until: Instant | None = None
    master: str | None = None
    memory: str | None = None
    session: SparkSession | None = None


@dataclass(slots=True)
class Run:
    """A query with its data bound, ready to return reports; a context manager that removes its temporary files."""

    plan: Plan
    data: Data
    options: Options = field(default_factory=Options)
    _stack: ExitStack = field(default_factory=ExitStack)
    _replay: Replay | None = None
    _is_open: bool = False
    _recorded_bad_lines: int = 0

    def __enter__(self) -> Self:
        """Choose the placement, load the streams and compile the program for them."""
        try:
            self._replay = self._open()
        except BaseException:
            self._stack.close()
            raise
        self.plan = self._replay.plan
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop views, tables and temporary files."""
        self._is_open = False
        self._stack.close()

    @property
    def placement(self) -> PlacementChoice:
        """Where the query runs."""
        return self._opened.choice

    @property
    def bad_lines(self) -> int:
        """Broken lines that were skipped, known once the data has been read."""
        return self._recorded_bad_lines + (0 if self._replay is None else self._replay.bad_lines)

    @property
    def program(self) -> Program:
        """The program that is run."""
        return self._opened.expected.program

    @property
    def ranks(self) -> ReportRanks:
        """The reports there are, where they form a grid; else more than there can be."""
        return self._opened.compiled.ranks

    @property
    def bounds(self) -> Mapping[Iri, Bounds]:
        """Time bounds and row count of each stream."""
        return self._opened.compiled.bounds

    def reports(self) -> Iterator[Report]:
        """Return every report, in order; empty ones if the profile reports them."""
        return self._opened.reports()

    def digests(self) -> Iterator[ReportDigest]:
        """Return row count and hash of every report; on Spark no row reaches the driver for it."""
        return self._opened.digests()

    def frame(self) -> DataFrame:
        """Return the results as a Spark DataFrame: `t` and one text column for each variable."""
        return self._opened.frame()

    def pandas(self) -> pd.DataFrame:
        """Return the results as a pandas DataFrame: open, close, t and one column of texts for each variable."""
        import pandas as pd

        names = ["open", "close", "t", *self.plan.variables]
        rows = [(report.open, report.close, report.t, *row) for report in self.reports() for row in report.rows]
        return pd.DataFrame(rows, columns=names)

    def write(
        self,
        target: str | Path | IO[bytes],
        format: str = "json",  # noqa: A002
        *,
        name: str = "query",
        on_report: Callable[[], None] = lambda: None,
    ) -> None:
        """Write the results to a file, an open stream, `-`, or `name/`: a directory with a document for each report.

        `format` is one of those that `hydrograph run --help` lists. `on_report` is called before each report is
        written.
        """
        target = str(target) if isinstance(target, Path) else target
        if format == DIGEST:
            write_digests(_each(self.digests(), on_report), target)
            return
        reports = _each(self.reports(), on_report)
        write_answers(QueryResults(name, self.plan.query.form, self.plan.variables, reports), format, target)

    def tasks(self) -> tuple[int, int] | None:
        """Return how many of the known Spark tasks are done, and how many there are; None without Spark."""
        return None if self._replay is None else self._replay.tasks()

    def explain_spark(self) -> str:
        """Return Spark's own plan of the program."""
        return self._opened.explain_spark()

    @property
    def _opened(self) -> Replay:
        if self._replay is None or not self._is_open:
            raise UsageError("the run is not open: write `with query.over(…) as run:` and ask for reports within")
        return self._replay

    def _open(self) -> Replay:
        self.data.check(self.plan.query)
        folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="hydrograph-")))
        names = dict.fromkeys(window.stream for window in self.plan.query.windows)
        streams = {
            name: sources.spool_stdin(self.data.streams[name], folder / str(number))
            for number, name in enumerate(names)
        }
        within = Range(self.options.after, self.options.until)
        if self._is_local(streams):
            return LocalReplay(self.plan, self.data, streams, within, self._stack)
        tally = ReadCounts()
        streams = {
            name: sources.record_as_parquet(stream, folder / "recorded", tally) for name, stream in streams.items()
        }
        self._recorded_bad_lines = tally.bad
        session = self.options.session or spark_session(self.options.master, self.options.memory)
        return SparkReplay(self.plan, self.data, streams, within, session, self._stack)

    def _is_local(self, streams: Mapping[Iri, RecordedStream]) -> bool:
        match self.options.placement:
            case PlacementChoice.LOCAL:
                return True
            case PlacementChoice.SPARK:
                return False
            case PlacementChoice.AUTO:
                rows = sum(map(sources.estimated_rows, streams.values()))
                return self.options.session is None and rows <= _LOCAL_ROWS


def _each(items: Iterator[Item], on_item: Callable[[], None]) -> Iterator[Item]:
    """Return the items; call `on_item` before each."""
    for item in items:
        on_item()
        yield item
