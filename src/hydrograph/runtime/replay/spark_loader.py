"""Loader of recorded streams on Spark: reads no more columns, rows and lines than the program does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from hydrograph.compile.inputs import Deduplication, StreamInput
from hydrograph.compile.program import Program
from hydrograph.compile.scan import deduplicated_stream
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.spark import Spark, collect, observed
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.replay.replay import CompiledReplay, StreamLoader
from hydrograph.streams import sources
from hydrograph.streams.formats.tnt_spark import NotAsExpectedError, line_filter, sample_ends
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.temporal import END_OF_TIME
from hydrograph.windows.report import Held
from hydrograph.windows.scope import Grid

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STAMPS = frozenset({"chunk", "lo", "hi"})
_TRIPLE = frozenset({"t", "s_id", "p_id", "o_id"})
"""The columns that identify the arrivals of a triple."""
_OBSERVED = "bounds"
"""Name of the Spark observation with the bounds of a text."""


class SparkLoader(StreamLoader):
    """Loader into temporary views of a Spark session."""

    def __init__(self, placed: Spark, streams: Mapping[Iri, RecordedStream]) -> None:
        """Read nothing yet."""
        super().__init__(streams)
        self._placed = placed

    def survey(self) -> dict[Iri, Bounds]:
        """Return time bounds, row count and contents of each stream, in one pass over texts."""
        found = {name: sources.bounds(stream, self._placed.session) for name, stream in self.streams.items()}
        self.bad_lines += sum(known.bad for known in found.values())
        return found

    def span_inside(self, stream: Iri, plan: Plan, grid: Grid | None, bounds: Bounds) -> Held:
        """Return the first and the last event time at or after t0, inside a window of `grid` where that has gaps."""
        from pyspark.sql import functions as f

        events = sources.events_on_spark(self.streams[stream], self._placed.session, known=bounds)
        events = events.where(f.col("t") >= f.lit(plan.t0))
        if grid is not None:
            events = events.where(f.pmod(f.col("t") - f.lit(grid.open(0)), f.lit(grid.step)) < f.lit(grid.width))
        with sources.data_errors():
            row = collect(events.agg(f.min("t").alias("a"), f.max("t").alias("b"))).to_pylist()[0]
        return None if row["a"] is None else (row["a"], row["b"])

    def load(self, compiled: CompiledReplay) -> None:
        """Make the views through which the program reads the streams."""
        for name, stream in self.streams.items():
            reads = _StreamReads.of(compiled.program, name)
            frame = sources.events_on_spark(
                stream,
                self._placed.session,
                need_seq=reads.needs_seq,
                known=compiled.bounds[name],
                predicates=reads.texts,
            )
            if stream.manifest is None:
                frame = reads.project(frame)
                if len(reads.deduplicated) > 1 or (not reads.deduplicated and reads.count > 1):
                    frame = self._placed.keep(frame)
            self._add_views(compiled, reads, frame)

    def time_inputs(self, windows: list[StreamInput], bounds: Mapping[Iri, Bounds]) -> list[StreamInput]:
        """Name the times of all events, whatever predicates the program reads; return the windows over those."""
        inputs = []
        for window in windows:
            name = f"{window.name}_times"
            stream, known = self.streams[window.stream], bounds[window.stream]
            frame = sources.events_on_spark(stream, self._placed.session, known=known)
            self._placed.add_frame(name, frame.select("t"))
            inputs.append(replace(window, name=name))
        return inputs

    # Text in one pass, see `text_one_pass`.

    def predict(self, plan: Plan) -> dict[Iri, Bounds] | None:
        """Return the bounds that samples of the texts predict; None where only a survey will do.

        Every stream must have one window, and none with gaps, because the observed bounds are those of all events.
        Broken lines must stop the run, because they are not counted.
        """
        grids = plan.windows.values()
        if len(grids) != len(self.streams) or any(grid.width < grid.step for grid in grids):
            return None
        predicted = {}
        for name, stream in self.streams.items():
            if stream.manifest is not None:
                predicted[name] = sources.bounds(stream)
                continue
            sample = sample_ends(stream.files) if stream.bad_lines.action == "fail" else None
            if sample is None:
                return None
            predicted[name] = _plain_bounds(sample.first, sample.last, sample.rows)
        return predicted

    def load_observed(self, compiled: CompiledReplay) -> None:
        """Make views of texts so that the query which reads them observes the bounds; see `observed_bounds`."""
        for name, stream in self.streams.items():
            reads = _StreamReads.of(compiled.program, name, from_lines=True)
            frame = self._observed_frame(stream, compiled, reads)
            for table in reads.tables:
                self._placed.add_frame(table.name, reads.project(frame))

    def observed_bounds(self, done: DataFrame) -> Bounds | None:
        """Return the bounds that a query has observed; None if they are out of range."""
        first, last, rows = observed(done, _OBSERVED, 3)
        if last is not None and last >= END_OF_TIME:
            return None
        return _plain_bounds(first, last, rows or 0)

    def materialise_observed(self, compiled: CompiledReplay) -> dict[Iri, Bounds] | None:
        """Parse the texts into the views of the program, and observe their bounds; None if a survey is needed."""
        bounds = dict(compiled.bounds)
        for name, stream in self.streams.items():
            reads = _StreamReads.of(compiled.program, name, from_lines=stream.manifest is None)
            if stream.manifest is not None:
                self._add_views(compiled, reads, sources.events_on_spark(stream, self._placed.session))
                continue
            frame = self._observed_frame(stream, compiled, reads)
            try:
                with sources.data_errors():
                    done = self._add_views(compiled, reads, reads.project(frame), eager=True)
            except NotAsExpectedError:
                return None
            seen = self.observed_bounds(done)
            if seen is None:
                return None
            bounds[name] = seen
        return bounds

    def _observed_frame(self, stream: RecordedStream, compiled: CompiledReplay, reads: _StreamReads) -> DataFrame:
        return sources.observed_on_spark(stream, self._placed.session, _OBSERVED, compiled.plan.t0, reads.texts)

    def _add_views(
        self, compiled: CompiledReplay, reads: _StreamReads, frame: DataFrame, *, eager: bool = False
    ) -> DataFrame:
        """Name the rows under which the program reads a stream; return the last of them as they are computed."""
        done = frame
        for table, places in reads.tables.items():
            if table.deduplication is not Deduplication.DONE:
                self._placed.add_frame(table.name, frame)
                continue
            assert compiled.chunks is not None
            events = f"{table.name}_events"
            self._placed.add_frame(events, frame)
            columns = {column for place in places for column in place.columns} - _STAMPS
            predicates = () if reads.filters_lines else sorted(reads.predicates or ())
            query = deduplicated_stream(table, events, compiled.chunks, sorted(columns), list(predicates))
            done = self._placed.materialise(table.name, query, compiled.parameters, eager=eager)
        return done


def _plain_bounds(first: int | None, last: int | None, rows: int) -> Bounds:
    """Return the bounds of a text without blank nodes, grouped elements, floats and doubles."""
    return Bounds(first, last, rows, blanks=False, grouped=False, inexact=False)


@dataclass(frozen=True, slots=True)
class _StreamReads:
    """The columns and predicates of a stream that a program reads."""

    tables: Mapping[StreamInput, list[TableRead]]
    predicates: set[int] | None
    """None where it reads all predicates."""
    texts: tuple[str, ...] | None
    """The canonical texts of the predicates."""
    from_lines: bool
    """Whether the rows come from lines that are searched for these texts."""

    @classmethod
    def of(cls, program: Program, stream: Iri, *, from_lines: bool = False) -> _StreamReads:
        tables = {t: list(reads_of(program, t.name)) for t in program.streams if t.stream == stream}
        wanted = [place.predicate for places in tables.values() for place in places]
        predicates = None if None in wanted else {predicate for predicate in wanted if predicate is not None}
        texts = None if predicates is None else tuple(program.predicates[predicate] for predicate in sorted(predicates))
        return cls(tables, predicates, texts, from_lines)

    @property
    def count(self) -> int:
        """How often the program scans the stream."""
        return sum(map(len, self.tables.values()))

    @property
    def needs_seq(self) -> bool:
        return any("seq" in place.columns for places in self.tables.values() for place in places)

    @property
    def deduplicated(self) -> list[StreamInput]:
        return [table for table in self.tables if table.deduplication is Deduplication.DONE]

    @property
    def filters_lines(self) -> bool:
        """Whether the reader skips lines without the predicates.

        Lines with one in a literal remain. They do no harm, because every pattern filters by its own predicate, and a
        filter here would parse each line twice.
        """
        return self.from_lines and line_filter(self.texts) is not None

    def project(self, frame: DataFrame) -> DataFrame:
        """Return the rows and columns that are read; a column is null where only rows of other predicates need it."""
        from pyspark.sql import functions as f

        places = [place for places in self.tables.values() for place in places]
        columns = {column for place in places for column in place.columns} - _STAMPS
        if self.deduplicated:
            columns |= _TRIPLE
        if self.predicates is None:
            return frame.select(*sorted(columns))
        kept = []
        for column in sorted(columns):
            readers = {place.predicate for place in places if column in place.columns}
            everywhere = column in _TRIPLE or readers == self.predicates
            is_read = f.col("p_id").isin(*sorted(predicate for predicate in readers if predicate is not None))
            kept.append(f.col(column) if everywhere else f.when(is_read, f.col(column)).alias(column))
        if not self.filters_lines:
            frame = frame.where(f.col("p_id").isin(*sorted(self.predicates)))
        return frame.select(*kept)


@dataclass(frozen=True, slots=True)
class TableRead:
    """One scan of a table: its columns, and the predicate it filters by, or None."""

    columns: frozenset[str]
    predicate: int | None


def reads_of(program: Program, table: str) -> Iterator[TableRead]:
    """Return every scan of a table in a program, found in its SQL."""
    for step in program.steps:
        for select in step.query.find_all(exp.Select):
            source = select.args.get("from_") or select.args.get("from")
            if source is not None and isinstance(source.this, exp.Table) and source.this.name == table:
                yield TableRead(_columns(select), _predicate(select))


def _columns(select: exp.Select) -> frozenset[str]:
    return frozenset(column.name for column in select.find_all(exp.Column))


def _predicate(select: exp.Select) -> int | None:
    where = select.args.get("where")
    if where is None:
        return None
    for test in where.find_all(exp.EQ):
        if isinstance(test.this, exp.Column) and test.this.name == "p_id":
            value = test.expression
            while isinstance(value, exp.Cast | exp.Paren):
                value = value.this
            if isinstance(value, exp.Neg):
                return -int(value.this.this)
            if isinstance(value, exp.Literal):
                return int(value.this)
    return None
