"""How recorded streams come to Spark: no more of them than a program reads, and text in one pass where that will do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hydrograph.compile.inputs import Chunking, Deduplication, StreamInput
from hydrograph.compile.program import Program
from hydrograph.compile.scan import deduplicated_stream
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import report_ranks as replay
from hydrograph.runtime.placement.spark import Spark, collect, observed
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reads import Reads, reads_of
from hydrograph.runtime.report_ranks import Ranks
from hydrograph.streams import sources
from hydrograph.streams.formats.tnt_glance import glance
from hydrograph.streams.formats.tnt_spark import NotAsExpectedError, sought
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.temporal import Instant

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STAMPS = frozenset({"chunk", "lo", "hi"})
_TRIPLE = frozenset({"t", "s_id", "p_id", "o_id"})
"""What tells the arrivals of a triple apart from those of others."""
_SEEN = "bounds"
_LAST = 2**61
"""No time of a stream is as late; windows that end after all of them can still be counted."""


@dataclass(frozen=True, slots=True)
class Intake:
    """The streams of one run."""

    placed: Spark
    plan: Plan
    streams: Mapping[Iri, RecordedStream]

    def making(self) -> dict[Iri, Deduplication]:
        """Return how the arrivals of a triple are made disjoint in each stream."""
        return {name: deduplication_of(stream) for name, stream in self.streams.items()}

    def survey(self) -> dict[Iri, Bounds]:
        """Return what is to know of the streams, for which texts are read once."""
        return {name: sources.bounds(stream, self.placed.session) for name, stream in self.streams.items()}

    def guess(self) -> dict[Iri, Bounds] | None:
        """Return what a glance at the texts lets expect; None where only a survey will do.

        That is: one window for each stream and none with gaps, as bounds are those of what lies in windows; broken
        lines stop the run and need not be counted.
        """
        grids = self.plan.windows.values()
        if len(grids) != len(self.streams) or any(grid.width < grid.step for grid in grids):
            return None
        found = {}
        for name, stream in self.streams.items():
            if stream.manifest is not None:
                found[name] = sources.bounds(stream)
                continue
            seen = glance(stream.files) if stream.bad_lines.action == "fail" else None
            if seen is None:
                return None
            found[name] = Bounds(seen.first, seen.last, seen.rows, blanks=False, grouped=False, inexact=False)
        return found

    def span(self, known: Mapping[Iri, Bounds]) -> tuple[Instant, Instant] | None:
        """Return the first and the last event time that lies in a window."""
        found = [end for end in self.held(known).values() if end is not None]
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def held(self, known: Mapping[Iri, Bounds]) -> dict[Iri, tuple[Instant, Instant] | None]:
        """Return for each window the first and the last event time that lies in it."""
        windows = [(window.name, window.stream) for window in self.plan.query.windows if window.name is not None]
        return {name: self._ends(stream, name, known) for name, stream in windows}

    def _ends(self, stream: Iri, window: Iri | None, known: Mapping[Iri, Bounds]) -> tuple[Instant, Instant] | None:
        assert window is not None
        grid, bounds = self.plan.windows.get(window), known[stream]
        if bounds.first is None or bounds.last is None:
            return None
        if (grid is None or grid.width >= grid.step) and bounds.first >= self.plan.t0:
            return bounds.first, bounds.last
        from pyspark.sql import functions as f

        frame = sources.events_on_spark(self.streams[stream], self.placed.session, known=bounds)
        kept = frame.where(f.col("t") >= f.lit(self.plan.t0))
        if grid is not None and grid.width < grid.step:
            kept = kept.where(f.pmod(f.col("t") - f.lit(grid.open(0)), f.lit(grid.step)) < f.lit(grid.width))
        with sources.data_errors():
            row = collect(kept.agg(f.min("t").alias("a"), f.max("t").alias("b"))).to_pylist()[0]
        return None if row["a"] is None else (row["a"], row["b"])

    def add(self, program: Program, chunks: Chunking | None, ranks: Ranks, known: Mapping[Iri, Bounds]) -> None:
        """Make the tables through which the program reads the streams."""
        for name, stream in self.streams.items():
            read = _Read.of(program, name)
            frame = sources.events_on_spark(
                stream, self.placed.session, need_seq=read.needs_seq, known=known[name], predicates=read.texts
            )
            if stream.manifest is None:
                frame = read.narrowed(frame)
                if len(read.done) > 1 or (not read.done and read.places > 1):
                    frame = self.placed.keep(frame)
            self._name(program, chunks, ranks, read, frame)

    def add_times(self, windows: list[StreamInput], known: Mapping[Iri, Bounds]) -> list[StreamInput]:
        """Name the times of all events, whatever they say; return the windows over those."""
        found = []
        for window in windows:
            name = f"{window.name}_times"
            stream, bounds = self.streams[window.stream], known[window.stream]
            frame = sources.events_on_spark(stream, self.placed.session, known=bounds)
            self.placed.add_frame(name, frame.select("t"))
            found.append(replace(window, name=name))
        return found

    def asked(self, after: Instant | None, until: Instant | None) -> Ranks:
        """Return the reports in `(after, until]`, without bounds those before and after any event."""
        return replay.report_ranks(self.plan, None, after, _LAST if until is None else until)

    def add_observed(self, program: Program) -> None:
        """Make the tables of texts so that the query which reads them observes the bounds; see `seen_by`."""
        for name, stream in self.streams.items():
            read = _Read.of(program, name, from_lines=True)
            frame = sources.expected_on_spark(stream, self.placed.session, _SEEN, self.plan.t0, read.texts)
            for table in read.tables:
                self.placed.add_frame(table.name, read.narrowed(frame))

    def seen_by(self, done: DataFrame) -> Bounds | None:
        """Return the bounds that a query has observed; None if they are not of this world."""
        first, last, rows = observed(done, _SEEN, 3)
        if last is not None and last >= _LAST:
            return None
        return Bounds(first, last, rows or 0, blanks=False, grouped=False, inexact=False)

    def add_at_once(
        self, program: Program, chunks: Chunking, ranks: Ranks, guess: Mapping[Iri, Bounds]
    ) -> dict[Iri, Bounds] | None:
        """Make the same tables in the one pass that tells the bounds as well; None if the guess was wrong.

        `ranks` are those asked for: which of them there are is found out.
        """
        found = dict(guess)
        for name, stream in self.streams.items():
            read = _Read.of(program, name, from_lines=stream.manifest is None)
            if stream.manifest is not None:
                self._name(program, chunks, ranks, read, sources.events_on_spark(stream, self.placed.session))
                continue
            frame = sources.expected_on_spark(stream, self.placed.session, _SEEN, self.plan.t0, read.texts)
            try:
                with sources.data_errors():
                    done = self._name(program, chunks, ranks, read, read.narrowed(frame), eager=True)
            except NotAsExpectedError:
                return None
            seen = self.seen_by(done)
            if seen is None:
                return None
            found[name] = seen
        return found

    def _name(
        self,
        program: Program,
        chunks: Chunking | None,
        ranks: Ranks,
        read: _Read,
        frame: DataFrame,
        *,
        eager: bool = False,
    ) -> DataFrame:
        """Name the rows under which the program reads a stream; return the last of them as they are computed."""
        done = frame
        for table, places in read.tables.items():
            if table.deduplication is not Deduplication.DONE:
                self.placed.add_frame(table.name, frame)
                continue
            assert chunks is not None
            events = f"{table.name}_events"
            self.placed.add_frame(events, frame)
            columns = {column for place in places for column in place.columns} - _STAMPS
            asked = () if read.is_chosen else sorted(read.predicates or ())
            query = deduplicated_stream(table, events, chunks, sorted(columns), list(asked))
            given = replay.parameters(self.plan, program, ranks)
            done = self.placed.materialise(table.name, query, given, eager=eager)
        return done


def deduplication_of(stream: RecordedStream) -> Deduplication:
    """Return how the arrivals of a triple are made disjoint in a stream."""
    return Deduplication.NEXT_COLUMN if sources.has_next(stream) else Deduplication.LEAD


@dataclass(frozen=True, slots=True)
class _Read:
    """What a program reads of a stream."""

    tables: Mapping[StreamInput, list[Reads]]
    predicates: set[int] | None
    """Those it asks for, None where it asks for all."""
    texts: tuple[str, ...] | None
    from_lines: bool
    """Whether the rows come of lines that are looked through for these texts."""

    @classmethod
    def of(cls, program: Program, stream: Iri, *, from_lines: bool = False) -> _Read:
        tables = {t: list(reads_of(program, t.name)) for t in program.streams if t.stream == stream}
        asked = [place.predicate for places in tables.values() for place in places]
        predicates = None if None in asked else {predicate for predicate in asked if predicate is not None}
        texts = None if predicates is None else tuple(program.predicates[each] for each in sorted(predicates))
        return cls(tables, predicates, texts, from_lines)

    @property
    def places(self) -> int:
        return sum(map(len, self.tables.values()))

    @property
    def needs_seq(self) -> bool:
        return any("seq" in place.columns for places in self.tables.values() for place in places)

    @property
    def done(self) -> list[StreamInput]:
        return [table for table in self.tables if table.deduplication is Deduplication.DONE]

    @property
    def is_chosen(self) -> bool:
        """Whether the reader leaves out lines without the predicates.

        Those that have one in a literal do no harm: every pattern asks for its own anyhow, and a filter here would take
        each line apart twice.
        """
        return self.from_lines and sought(self.texts) is not None

    def narrowed(self, frame: DataFrame) -> DataFrame:
        """Return the rows and columns that are read, a column null where only rows of other predicates need it."""
        from pyspark.sql import functions as f

        places = [place for places in self.tables.values() for place in places]
        columns = {column for place in places for column in place.columns} - _STAMPS
        if self.done:
            columns |= _TRIPLE
        if self.predicates is None:
            return frame.select(*sorted(columns))
        kept = []
        for column in sorted(columns):
            asking = {place.predicate for place in places if column in place.columns}
            everywhere = column in _TRIPLE or asking == self.predicates
            asked = f.col("p_id").isin(*sorted(each for each in asking if each is not None))
            kept.append(f.col(column) if everywhere else f.when(asked, f.col(column)).alias(column))
        if not self.is_chosen:
            frame = frame.where(f.col("p_id").isin(*sorted(self.predicates)))
        return frame.select(*kept)
