"""Interface of a replay and of its stream loader, and the compilation that both placements share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
from sqlglot import exp

from hydrograph.algebra.queries import ContinuousQuery
from hydrograph.compile.inputs import CLOSES, GRAPHS, QUADS, STATIC, Chunking, Deduplication, StreamInput
from hydrograph.compile.output_queries import by_report, instants
from hydrograph.compile.program import Program
from hydrograph.errors import UsageError
from hydrograph.rdf.encoding import encode
from hydrograph.rdf.terms import Iri
from hydrograph.rdf.xsd import INEXACT
from hydrograph.runtime import report_ranks
from hydrograph.runtime.placement import Placement, PlacementChoice
from hydrograph.runtime.plan import Facts, Plan
from hydrograph.runtime.report_ranks import ReportRanks
from hydrograph.runtime.reports import Report, ReportDigest, RowsByRank
from hydrograph.streams import sources
from hydrograph.streams.sources import Bounds, RecordedStream
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.report import Held, Range
from hydrograph.windows.scope import Grid

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS_AT_ONCE = 1_000_000
"""Result rows expected in the driver's memory at once; with more, reports are computed part by part."""
_BROADCAST_ROWS = 2_000_000
"""Static rows up to which they are sent to every task instead of being shuffled by key."""
_ROWS_PER_PARTITION = 250_000


@dataclass(frozen=True, slots=True)
class Data:
    """The input of a query: streams by name, and static graphs."""

    streams: Mapping[Iri, RecordedStream]
    static: StaticGraphs = field(default_factory=StaticGraphs)

    def check(self, query: ContinuousQuery) -> None:
        """Raise UsageError if a stream or static graph that a query names is missing; a default graph is any FROM."""
        for window in query.windows:
            if window.stream not in self.streams:
                known = ", ".join(f"<{name.value}>" for name in self.streams) or "none"
                raise UsageError(f"no stream is given for <{window.stream.value}>; given streams: {known}")
        wanted = (*(query.dataset.default if self.static.default is None else ()), *query.dataset.named)
        given = self.static.named or {}
        for name in wanted:
            if encode(name).text not in given:
                known = ", ".join(given) or "none"
                raise UsageError(f"no static graph is given for <{name.value}>; given graphs: {known}")


@dataclass(frozen=True, slots=True)
class CompiledReplay:
    """A program compiled for recorded streams, with what is known about them."""

    plan: Plan
    facts: Facts
    program: Program
    ranks: ReportRanks
    """The reports to evaluate, where they form a grid; else more than there can be."""
    chunks: Chunking | None
    bounds: Mapping[Iri, Bounds]
    spans: Mapping[Iri, Held]
    """First and last event time in each window."""

    @property
    def rows(self) -> int:
        """Number of input rows."""
        return sum(known.rows for known in self.bounds.values())

    @property
    def parameters(self) -> dict[str, int]:
        """Parameters of the program."""
        return report_ranks.parameters(self.plan, self.program, self.ranks)


class StreamLoader(ABC):
    """Loader of the recorded streams of one run into a placement.

    Order of calls: `survey`, `window_spans` with its result, then `load` with the program compiled from both.
    """

    def __init__(self, streams: Mapping[Iri, RecordedStream]) -> None:
        """Read nothing yet."""
        self.streams = streams
        self.bad_lines = 0
        """Broken lines that were skipped."""

    @abstractmethod
    def survey(self) -> dict[Iri, Bounds]:
        """Return time bounds, row count and contents of each stream; text is read once for it."""

    @abstractmethod
    def span_inside(self, stream: Iri, plan: Plan, grid: Grid | None, bounds: Bounds) -> Held:
        """Return the first and the last event time at or after t0, inside a window of `grid` where that has gaps."""

    @abstractmethod
    def load(self, compiled: CompiledReplay) -> None:
        """Make the tables through which the program reads the streams."""

    @abstractmethod
    def time_inputs(self, windows: list[StreamInput], bounds: Mapping[Iri, Bounds]) -> list[StreamInput]:
        """Return the windows over tables with the times of all events, whatever predicates the program reads."""

    def window_spans(self, plan: Plan, bounds: Mapping[Iri, Bounds]) -> dict[Iri, Held]:
        """Return the first and the last event time in each window."""
        spans: dict[Iri, Held] = {}
        for window in plan.query.windows:
            assert window.name is not None
            known, grid = bounds[window.stream], plan.windows.get(window.name)
            gaps = grid if grid is not None and grid.width < grid.step else None
            if known.first is None or known.last is None:
                spans[window.name] = None
            elif gaps is None and known.first >= plan.t0:
                spans[window.name] = known.first, known.last
            else:
                spans[window.name] = self.span_inside(window.stream, plan, gaps, known)
        return spans


class Replay(ABC):
    """One query over loaded streams in one placement: everything a run offers."""

    choice: ClassVar[PlacementChoice]

    def __init__(self, placed: Placement, loader: StreamLoader, plan: Plan, data: Data, within: Range) -> None:
        """Bind the data; implementations load it."""
        self.plan = plan
        self._placed = placed
        self._loader = loader
        self._data = data
        self._within = within
        self._nonempty: frozenset[int] | None = None

    @property
    @abstractmethod
    def compiled(self) -> CompiledReplay:
        """The program with the true bounds of its streams."""

    @property
    def expected(self) -> CompiledReplay:
        """The program before it is run; its ranks may be more than there are."""
        return self.compiled

    @property
    def bad_lines(self) -> int:
        """Broken lines that were skipped."""
        return self._loader.bad_lines

    def reports(self) -> Iterator[Report]:
        """Return every report, in order; empty ones if the profile reports them."""
        expected = self.expected
        plan, program = expected.plan, expected.program
        if plan.reports is None:
            table, found = self._run([by_report(program), instants(program)])
            return report_ranks.reports_at(plan, report_ranks.read_instants(found), RowsByRank(program, table))
        parts = report_ranks.parts(plan, expected.ranks, expected.rows, ROWS_AT_ONCE)
        if len(parts) > 1:
            return self._reports_in_parts(parts)
        (table,) = self._run([by_report(program)])
        return report_ranks.reports_of(plan, self.compiled.ranks, RowsByRank(program, table), self._nonempty_ranks())

    @abstractmethod
    def digests(self) -> Iterator[ReportDigest]:
        """Return row count and hash of every report."""

    def frame(self) -> DataFrame:
        """Return the results as a Spark DataFrame."""
        raise UsageError("a DataFrame needs Spark: choose the placement spark")

    def tasks(self) -> tuple[int, int] | None:
        """Return how many of the known Spark tasks are done, and how many there are; None without Spark."""
        return None

    def explain_spark(self) -> str:
        """Return Spark's own plan of the program."""
        raise UsageError("Spark's plan needs Spark: choose the placement spark")

    @abstractmethod
    def _run(self, outputs: list[exp.Select]) -> list[pa.Table]:
        """Return the rows of each output query; afterwards `compiled` is known."""

    @abstractmethod
    def _reports_in_parts(self, parts: list[ReportRanks]) -> Iterator[Report]:
        """Return the reports with few result rows in memory at a time (S17)."""

    def _survey(self, cores: int | None = None) -> CompiledReplay:
        """Find the bounds of the streams, compile the program for them, and load its tables."""
        bounds = self._loader.survey()
        firsts = [known.first for known in bounds.values() if known.first is not None]
        self.plan = self.plan.starting(min(firsts, default=None))
        spans = self._loader.window_spans(self.plan, bounds)
        compiled = self._compile(bounds, spans, cores)
        self._loader.load(compiled)
        self._load_tables(compiled)
        return compiled

    def _compile(
        self, bounds: Mapping[Iri, Bounds], spans: Mapping[Iri, Held], cores: int | None = None
    ) -> CompiledReplay:
        """Compile the program for streams with these bounds; with `cores`, cut by time into chunks."""
        plan, within, static = self.plan, self._within, self._data.static
        rows, span = sum(known.rows for known in bounds.values()), span_of(spans.values())
        partitions = None if cores is None else max(8 * cores, min(2_000, rows // _ROWS_PER_PARTITION))
        chunks = None
        if plan.reports is None:
            ranks, bucket = report_ranks.expected_ranks(rows, span)
            if partitions is not None:
                chunks = report_ranks.sparse_chunking(plan, rows, span, partitions)
        else:
            ranks, bucket = report_ranks.report_ranks(plan, spans, within), 1
            if partitions is not None:
                chunks = report_ranks.chunking(plan, ranks, partitions)
        deduplication = {name: _deduplication(stream) for name, stream in self._loader.streams.items()}
        if chunks is not None:  # several patterns read the rows, so they are deduplicated once for all
            for name, how in deduplication.items():
                deduplication[name] = Deduplication.DONE if how is Deduplication.LEAD else how
        facts = Facts(
            deduplication,
            static.default is not None,
            broadcast=sum(table.num_rows for table in static.tables) <= _BROADCAST_ROWS,
            exact_numbers=_is_exact(static, self._loader.streams, bounds),
            named=static.named is not None,
            within=within,
            bucket=bucket,
        )
        program = plan.program(facts, chunks, prefix=self._placed.prefix)
        return CompiledReplay(plan, facts, program, ranks, chunks, bounds, spans)

    def _load_tables(self, compiled: CompiledReplay) -> None:
        """Load static graphs, scheduled report times and the evaluated ranks, as far as the program reads them."""
        static, placed, prefix = self._data.static, self._placed, self._placed.prefix
        tables = {STATIC: lambda: static.default, QUADS: static.quads, GRAPHS: static.names}
        for table in compiled.program.statics:
            placed.add_table(table.name, tables[table.name.removeprefix(prefix)]())
        if compiled.plan.reports is None:
            scheduled = report_ranks.scheduled_instants(compiled.plan, compiled.spans, self._within)
            placed.add_table(f"{prefix}{CLOSES}", scheduled)
        if compiled.program.domain is not None:
            rows = report_ranks.domain(compiled.chunks, compiled.ranks)
            placed.add_table(compiled.program.domain, report_ranks.domain_table(rows, compiled.chunks))

    def _nonempty_ranks(self) -> frozenset[int] | None:
        """Return the reports at which a window has content; None where the profile does not ask for it."""
        if self._nonempty is None and self.plan.needs_content:
            compiled = self.compiled
            windows = compiled.plan.inputs(compiled.facts, self._placed.prefix)
            windows = self._loader.time_inputs(windows, compiled.bounds)
            self._nonempty = report_ranks.nonempty_ranks(windows, self._placed, compiled.ranks)
        return self._nonempty


def span_of(spans: Iterable[Held]) -> Held:
    """Return the first and the last instant of several spans; None where there is no event."""
    known = [span for span in spans if span is not None]
    return (min(first for first, _ in known), max(last for _, last in known)) if known else None


def _deduplication(stream: RecordedStream) -> Deduplication:
    return Deduplication.NEXT_COLUMN if sources.has_next(stream) else Deduplication.LEAD


def _is_exact(static: StaticGraphs, streams: Mapping[Iri, RecordedStream], bounds: Mapping[Iri, Bounds]) -> bool:
    """Tell whether neither streams nor static data hold floats and doubles, as far as is known."""
    kinds = {kind for table in static.tables for kind in table.column("o_kind").unique().to_pylist()}
    for name, stream in streams.items():
        if stream.manifest is not None:
            kinds |= set(stream.manifest.kinds)
        elif bounds[name].inexact:
            return False
    return not kinds & INEXACT
