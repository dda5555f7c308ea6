"""One query over recorded data, from files to reports, in either placement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

import pyarrow as pa
from sqlglot import exp

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile.inputs import CLOSES, GRAPHS, QUADS, STATIC, Chunking, Deduplication
from hydrograph.compile.output_queries import by_report, by_stretch, instants
from hydrograph.compile.program import Let, Program
from hydrograph.errors import UsageError
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.local_loader import LocalIntake
from hydrograph.runtime.options import Data, Options, is_exact, rows_guess, span_of
from hydrograph.runtime.placement import PlacementChoice
from hydrograph.runtime.placement.local import Local, as_columns
from hydrograph.runtime.placement.spark import Spark, collect
from hydrograph.runtime.plan import Facts, Plan, follows_events
from hydrograph.runtime.readable import recorded, spooled
from hydrograph.runtime.report_ranks import Ranks, held_ranks
from hydrograph.runtime.reports import Report, ReportDigest, RowsByRank, digest, stretches, sweep
from hydrograph.runtime.result_formats import QueryResults, write_answers
from hydrograph.runtime.session import spark_session
from hydrograph.runtime.spark_loader import Intake, deduplication_of
from hydrograph.streams import sources
from hydrograph.streams.formats.tnt_spark import NotAsExpectedError
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.temporal import Instant
from hydrograph.windows.report import Held, Range

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

_LOCAL_ROWS = 1_000_000
"""Up to here a replay beside the driver ends before Spark has started."""
_ROWS_AT_ONCE = 1_000_000
"""So many rows of answers are expected in memory at once; of more, some reports are computed after the others."""
_STATIC_PREFIX = "static_"
_BROADCAST_ROWS = 2_000_000
"""Static rows that are sent to every task instead of being moved by key."""


@dataclass(slots=True)
class Run:
    """A query with its data bound, ready to be asked for reports; a context manager that cleans up behind itself."""

    plan: Plan
    data: Data
    options: Options = field(default_factory=Options)
    bad_lines: int = 0
    """Broken lines that were left out, known once the data has been read."""
    _stack: ExitStack = field(default_factory=ExitStack)
    _bounds: dict[Iri, Bounds] = field(default_factory=dict)
    _streams: dict[Iri, RecordedStream] = field(default_factory=dict)
    _local: Local | None = None
    _spark: Spark | None = None
    _ranks: Ranks = field(default_factory=lambda: Ranks(0, 0))
    _program: Program | None = None
    _chunks: Chunking | None = None
    _facts: Facts = field(default_factory=lambda: Facts({}))
    _rows_known: int = 0
    _held: dict[Iri, Held] = field(default_factory=dict)
    _content: frozenset[int] | None = None
    _observing: Intake | None = None
    """Set where the query that is run tells which reports there are."""

    def __enter__(self) -> Self:
        """Read what has to be known of the data and make the program for it."""
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drop views, tables and temporary files."""
        self._program = None
        self._stack.close()

    @property
    def placement(self) -> PlacementChoice:
        """Where the query runs."""
        return PlacementChoice.LOCAL if self._local is not None else PlacementChoice.SPARK

    @property
    def program(self) -> Program:
        """The program that is run."""
        if self._program is None:
            raise UsageError("the run is not open: write `with query.over(…) as run:` and ask for reports within")
        return self._program

    @property
    def ranks(self) -> Ranks:
        """The reports there are, where they form a grid; else more than there can be."""
        if self._observing is not None:
            self._open_surveyed()
        return self._ranks

    def reports(self) -> Iterator[Report]:
        """Return every report, in order; empty ones as the profile says."""
        program = self.program
        if self.plan.reports is None:
            table, found = self._several([by_report(program), instants(program)])
            return replay.reports_at(self.plan, replay.found_instants(found), self._by_rank(table))
        known = self._rows_known or sum(known.rows for known in self._bounds.values())
        parts = replay.parts(self.plan, self._ranks, known, _ROWS_AT_ONCE)
        if len(parts) > 1:
            return self._reports_in_parts(self._local, parts) if self._local is not None else self._reports_kept()
        rows = self._by_rank(self._rows(by_report))
        return replay.reports_of(self.plan, self._ranks, rows, self._with_content())

    def _reports_in_parts(self, placed: Local, parts: list[Ranks]) -> Iterator[Report]:
        """Return the reports part by part, so that the answers of one part at a time are in memory (S17)."""
        final, held = by_report(self.program), self._with_content()
        prepared = placed.prepare(self.program, [final], _STATIC_PREFIX)
        placed.load_static(prepared)
        for part in parts:
            # What changed is known against the report before, which is evaluated too, but not given.
            earlier = int(self.plan.operator is not StreamOperator.RSTREAM and part.start > self._ranks.start)
            evaluated = Ranks(part.start - earlier, part.end)
            if self.program.domain is not None:
                placed.add_table(self.program.domain, replay.domain_table(replay.domain(None, evaluated), None))
            given = {**replay.parameters(self.plan, self.program, evaluated), "r_from": part.start}
            rows = self._by_rank(placed.run(prepared, given)[0])
            yield from replay.reports_of(self.plan, part, rows, held)

    def _reports_kept(self) -> Iterator[Report]:
        """Return the reports out of answers that Spark computes at once and keeps, so that few are in memory here."""
        assert self._spark is not None
        if self._observing is not None:  # nobody could look at what a kept frame has seen
            self._open_surveyed()
        held, start = self._with_content(), self._ranks.start
        frame = self._spark.frame(self.program, by_report(self.program), self._parameters())
        with sources.data_errors():
            for end, table in self._spark.in_parts(frame, _ROWS_AT_ONCE):
                yield from replay.reports_of(self.plan, Ranks(start, end), self._by_rank(table), held)
                start = end
        yield from replay.reports_of(self.plan, Ranks(start, self._ranks.end), {}, held)

    def _by_rank(self, table: pa.Table) -> RowsByRank:
        return RowsByRank(self.program, table)

    def _with_content(self) -> frozenset[int] | None:
        """Return the reports of a grid at which a window has content; None where nobody asks."""
        if self._content is None and self.plan.needs_content:
            windows = self.plan.inputs(self._facts, self._prefix)
            if self._spark is not None:
                intake = Intake(self._spark, self.plan, self._streams)
                windows = intake.add_times(windows, self._bounds)
                with sources.data_errors():
                    self._content = held_ranks(windows, self._spark, self._ranks)
            else:
                assert self._local is not None
                self._content = held_ranks(windows, self._local, self._ranks)
        return self._content

    def digests(self) -> Iterator[ReportDigest]:
        """Return row count and hash of every report; on Spark no row ever reaches the driver for it."""
        if self._spark is None:
            yield from map(digest, self.reports())
            return
        times: Iterator[tuple[int, Instant, int | None]]
        if self.plan.reports is None:
            table, found = self._several([by_stretch(self.program), instants(self.program)])
            times, start, end = replay.found_instants(found), 0, found.num_rows
        else:
            table = self._rows(by_stretch)
            start, end = self._ranks.start, self._ranks.end
            times = replay.instants_of(self.plan, self._ranks, self._with_content())
        sums = dict(enumerate(sweep(stretches(as_columns(table)), start, end), start))
        for rank, t, _ in times:
            count, hashed = sums[rank]
            if count or self.plan.profile.emit_empty:
                yield ReportDigest(t, count, hashed)

    def frame(self) -> DataFrame:
        """Return the answers as a Spark DataFrame: `t` and one text column for each variable."""
        program = self.program
        if self._spark is None:
            raise UsageError("a DataFrame needs Spark: choose the placement spark")
        from hydrograph.runtime.frames import answer_frame, found_frame

        if self._observing is not None:  # nobody will be there to look at what a frame has seen
            self._open_surveyed()
        if self.plan.reports is None:
            finals = [by_report(program), instants(program)]
            raw, found = self._spark.frames(self._spark.prepare(program, finals), self._parameters())
            return found_frame(raw, found, program, self.plan)
        raw = self._spark.frame(self.program, by_report(self.program), self._parameters())
        content = self._with_content()
        if content is not None:
            ranks = pa.table({"r": pa.array(sorted(content), pa.int64())})
            raw = raw.join(self._spark.session.createDataFrame(ranks), "r", "left_semi")
        return answer_frame(raw, self.program, self.plan)

    def pandas(self) -> pd.DataFrame:
        """Return the answers as a pandas DataFrame: open, close, t and one column of texts for each variable."""
        import pandas as pd

        names = ["open", "close", "t", *self.plan.variables]
        rows = [(report.open, report.close, report.t, *row) for report in self.reports() for row in report.rows]
        return pd.DataFrame(rows, columns=names)

    def write(self, target: str | Path | IO[bytes], format: str = "json", *, name: str = "query") -> None:  # noqa: A002
        """Write the answers to a file, something open, or `name/`: a directory with a document for each report.

        `format` is one of those that `hydrograph run --help` lists.
        """
        answers = QueryResults(name, self.plan.query.form, self.plan.variables, self.reports())
        write_answers(answers, format, str(target) if isinstance(target, Path) else target)

    def tasks(self) -> tuple[int, int] | None:
        """Return how many of Spark's known tasks are done; None where nothing runs there."""
        if self._spark is None:
            return None
        return self._spark.tasks()

    def explain_spark(self) -> str:
        """Return Spark's own plan of the program."""
        program = self.program
        if self._spark is None:
            raise UsageError("Spark's plan needs Spark: choose the placement spark")
        if self._observing is not None:
            self._open_surveyed()
        frame = self._spark.frame(program, by_report(program), self._parameters())
        return str(frame._jdf.queryExecution().toString())

    def _parameters(self) -> dict[str, int]:
        return replay.parameters(self.plan, self.program, self._ranks)

    def _several(self, finals: list[exp.Select]) -> list[pa.Table]:
        placed = self._local or self._spark
        assert placed is not None
        with sources.data_errors():
            return placed.run(placed.prepare(self.program, finals), self._parameters())

    def _rows(self, final: Callable[[Program], exp.Select]) -> pa.Table:
        if self._local is not None:
            return self._local.rows(self.program, final(self.program), self._parameters())
        assert self._spark is not None
        frame = self._spark.frame(self.program, final(self.program), self._parameters())
        try:
            with sources.data_errors():
                table = collect(frame)
        except NotAsExpectedError:
            self._open_surveyed()
            return self._rows(final)
        if self._observing is not None:
            seen = self._observing.seen_by(frame)
            if seen is None:
                self._open_surveyed()
                return self._rows(final)
            self._found(self._observing, dict.fromkeys(self._streams, seen))
            self._observing = None
        return table

    def _open(self) -> None:
        self.data.check(self.plan.query)
        names = dict.fromkeys(window.stream for window in self.plan.query.windows)
        self._streams = {name: spooled(self.data.streams[name], self._stack) for name in names}
        if self._is_local():
            self._open_local()
        else:
            tally = sources.tnt.Tally()
            self._streams = {name: recorded(stream, self._stack, tally) for name, stream in self._streams.items()}
            self.bad_lines += tally.bad
            self._open_spark()

    def _is_local(self) -> bool:
        match self.options.placement:
            case PlacementChoice.LOCAL:
                return True
            case PlacementChoice.SPARK:
                return False
            case PlacementChoice.AUTO:
                return self.options.session is None and sum(map(rows_guess, self._streams.values())) <= _LOCAL_ROWS

    def _open_local(self) -> None:
        placed = self._local = self._stack.enter_context(Local())
        intake = LocalIntake.of(placed, self._streams)
        self.bad_lines += intake.bad_lines
        if not self.plan.is_placed:
            self.plan = self.plan.starting(intake.first())
        self._held = intake.held(self.plan)
        self._rows_known = intake.rows()
        making = {name: deduplication_of(stream) for name, stream in self._streams.items()}
        self._finish(making, span_of([*self._held.values()]), exact=self._is_exact(), spark=False)
        for window_input in self.plan.inputs(self._facts):
            placed.add_alias(window_input.name, intake.tables[window_input.stream])
        self._add_tables(placed)

    def _open_spark(self) -> None:
        session = self.options.session or spark_session(self.options.master, self.options.memory)
        placed = self._spark = self._stack.enter_context(Spark(session))
        intake = Intake(placed, self.plan, self._streams)
        if not self.plan.is_placed or self.plan.reports is None or not self._open_at_once(intake):
            self._open_surveyed()
        self._add_tables(placed)

    def _open_surveyed(self) -> None:
        """Find out what texts hold before they are read."""
        assert self._spark is not None
        self._observing = None
        self._bounds = Intake(self._spark, self.plan, self._streams).survey()
        firsts = [known.first for known in self._bounds.values() if known.first is not None]
        self.plan = self.plan.starting(min(firsts, default=None))
        intake = Intake(self._spark, self.plan, self._streams)
        self.bad_lines += sum(known.bad for known in self._bounds.values())
        self._held = intake.held(self._bounds)
        self._rows_known = sum(known.rows for known in self._bounds.values())
        self._finish(intake.making(), span_of([*self._held.values()]), exact=self._is_exact(), spark=True)
        intake.add(self.program, self._chunks, self._ranks, self._bounds)

    def _open_at_once(self, intake: Intake) -> bool:
        """Read texts in one pass where a guess about them is right."""
        guess = intake.guess()
        if guess is None or all(stream.manifest is not None for stream in self._streams.values()):
            return False
        self._bounds = guess
        ends = [(each.first, each.last) for each in guess.values() if each.first is not None and each.last is not None]
        self._finish(intake.making(), span_of([*ends]), exact=self._is_exact(), spark=True)
        asked = intake.asked(self.options.after, self.options.until)
        if self._chunks is None:
            alone = all(isinstance(step, Let) for step in self.program.steps)  # what is kept is a query of its own
            if len(self._streams) > 1 or not alone or not follows_events(self.plan):
                return False
            intake.add_observed(self.program)
            self._ranks, self._observing = asked, intake
            return True
        found = intake.add_at_once(self.program, self._chunks, asked, guess)
        if found is None:
            return False
        self._found(intake, found)
        return True

    def _found(self, intake: Intake, bounds: dict[Iri, Bounds]) -> None:
        self._bounds = bounds
        self._ranks = replay.report_ranks(self.plan, intake.span(bounds), self.options.after, self.options.until)

    def _finish(
        self,
        making: Mapping[Iri, Deduplication],
        bounds: tuple[Instant, Instant] | None,
        *,
        exact: bool,
        spark: bool,
    ) -> None:
        within = Range(self.options.after, self.options.until)
        if self.plan.reports is None:
            self._ranks, bucket = replay.expected_ranks(self._rows_known, bounds)
            chunks = replay.sparse_chunking(self.plan, self._rows_known, bounds, self._partitions()) if spark else None
        else:
            self._ranks, bucket = replay.report_ranks(self.plan, bounds, within.after, within.until), 1
            chunks = replay.chunking(self.plan, self._ranks, self._partitions()) if spark else None
        if chunks is not None:  # several patterns will read the rows: what they share is done once
            making = {name: Deduplication.DONE if how is Deduplication.LEAD else how for name, how in making.items()}
        static = self.data.static
        small = sum(table.num_rows for table in static.tables) <= _BROADCAST_ROWS
        self._facts = Facts(
            making, static.default is not None, small, exact, static.named is not None, within=within, bucket=bucket
        )
        self._program = self.plan.program(self._facts, chunks, prefix=self._prefix)
        self._chunks = chunks

    def _is_exact(self) -> bool:
        return is_exact(self.data.static, self._streams, self._bounds)

    @property
    def _prefix(self) -> str:
        return self._spark.prefix if self._spark is not None else ""

    def _partitions(self) -> int:
        assert self._spark is not None
        cores = self._spark.session.sparkContext.defaultParallelism
        rows = sum(known.rows for known in self._bounds.values())
        return max(8 * cores, min(2_000, rows // 250_000))

    def _add_tables(self, placed: Local | Spark) -> None:
        static = self.data.static
        tables = {STATIC: lambda: static.default, QUADS: static.quads, GRAPHS: static.names}
        for table in self.program.statics:
            placed.add_table(table.name, tables[table.name.removeprefix(self._prefix)]())
        if self.plan.reports is None:
            known = replay.known_instants(self.plan, self._held, self._facts.within)
            placed.add_table(f"{self._prefix}{CLOSES}", known)
        if self.program.domain is not None:
            rows = replay.domain(self._chunks, self._ranks)
            placed.add_table(self.program.domain, replay.domain_table(rows, self._chunks))
