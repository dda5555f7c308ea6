"""Incremental evaluation (S36): new rows are joined with kept rows, never kept rows with each other.

The program is split by `deltas`. The steps that look at rows one by one are maintained: their rows are kept, and new
input adds to them. The other steps are recomputed for each report over the kept rows. New rows wait until a report
needs them, or until they are many. Everything kept can be rebuilt from the state.

Results are materialised: a solution is converted to texts and JSON once, however many reports show it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile import output_queries
from hydrograph.compile.inputs import Deduplication
from hydrograph.compile.printers import print_sql
from hydrograph.compile.program import Program, static_steps
from hydrograph.compile.relation import EncodedLayout, Part, column_name
from hydrograph.live.evaluate.change_instants import ChangeInstants, IncrementalLimitError
from hydrograph.live.evaluate.deduplication import Deduplicator, TripleIntervals
from hydrograph.live.evaluate.deltas import ALL, NEW, OLD, split_program
from hydrograph.live.evaluate.incremental_r2s import IncrementalR2S, compare_reports
from hydrograph.live.evaluate.live_program import LiveCompiler, load_ranks, load_static
from hydrograph.live.evaluate.report_numbering import DueReports, GridNumbering, ReportNumbering, StampedRows
from hydrograph.live.failpoints import reach
from hydrograph.live.step.evaluation import CallOrder, PreviousReport, ReportRequest
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.live.step.state import State, StateRun, concat_rows, merge_newest
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.placement.executor import static_table
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.report_ranks import bounds_of
from hydrograph.runtime.reports import Report, Row, RowsByRank, member_names, row_text, rows_of
from hydrograph.streams.schema import EVENTS
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.scope import Align, Grid

_Entry = tuple[Row, int, int, Row, str]
"""The sort key of a row, the reports `[lo, hi)` that show it, the row, and its JSON."""


@dataclass(slots=True)
class MaterializedResults:
    """Solutions of a program, each with the reports that show it, in the order of their texts (A11)."""

    materializes: ClassVar = True
    plan: Plan
    program: Program
    _entries: list[_Entry] = field(default_factory=list)
    _sorted: bool = True

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self._entries)

    def add(self, table: pa.Table) -> None:
        """Add the solutions in a table."""
        if not table.num_rows:
            return
        columns = {name: table.column(name).to_pylist() for name in table.column_names}
        rows = list(rows_of(self.program, {**columns, "r": columns["lo"]}))
        texts = self._iri_texts(table)
        if texts is None:
            names = member_names(self.plan.variables)
            texts = [row_text(names, row) for row in rows]
        keys = [row if None not in row else tuple("" if text is None else text for text in row) for row in rows]
        self._entries += zip(keys, columns["lo"], columns["hi"], rows, texts, strict=True)
        self._sorted = False

    def _iri_texts(self, table: pa.Table) -> list[str] | None:
        """Return the JSON of rows that hold nothing but IRIs, vectorised; None for others."""
        parts: list[pa.ChunkedArray | str] = ["{"]
        for name, output in zip(member_names(self.plan.variables), self.program.outputs, strict=True):
            if not isinstance(output.layout, EncodedLayout) or Part.TEXT not in output.layout.parts:
                return None
            texts = table.column(column_name(output.stem, output.layout, Part.TEXT))
            plain = pc.all(pc.match_substring_regex(texts, r'^<[^"\\\x00-\x1f]*>$'), skip_nulls=False).as_py()
            if not plain:
                return None
            values = pc.utf8_slice_codeunits(texts, 1, -1)
            parts += [f'{name}{{"type":"uri","value":"', values, '"},']
        if len(parts) == 1:
            return None
        parts[-1] = '"}}'
        joined: list[str] = pc.binary_join_element_wise(*parts, "").to_pylist()
        return joined

    def forget(self, number: int) -> None:
        """Forget solutions that no report from a number on can show."""
        self._entries = [entry for entry in self._entries if entry[2] > number]

    def reports(self, due: DueReports, previous: PreviousReport) -> tuple[list[Report], PreviousReport]:
        """Return the reports with their solutions."""
        reports = []
        timings = due.timings()
        for (rank, t, seq), number in zip(timings, due.numbers(), strict=True):
            rows, texts = self._rows_at(number)
            if rows or self.plan.profile.emit_empty:
                bounds = bounds_of(self.plan, rank, t)
                reports.append(Report(t, *bounds, self.plan.variables, rows, seq, texts=texts))
        return reports, replace(previous, last=timings[-1][1])

    def _rows_at(self, number: int) -> tuple[tuple[Row, ...], Sequence[str]]:
        """Return the rows of one report in order, and the JSON of each."""
        if not self._sorted:
            self._entries.sort()  # no more than a merge: earlier entries are in order already
            self._sorted = True
        shown = [entry for entry in self._entries if entry[1] <= number < entry[2]]
        return tuple([entry[3] for entry in shown]), [entry[4] for entry in shown]


EAGER_ROWS = 4096
"""Rows that wait at most, where windows are small."""
WAITING_SHARE = 8
"""Rows that wait at most, as one part in so many of the rows of the windows: reading those once is then amortised."""
MAX_ROWS = 5_000_000
"""Rows that are kept of one step at most."""
_SMALL_RUN = 1024
"""Rows up to which a run of kept rows may always grow."""
_COLUMNS = [name for name in EVENTS.names if name not in ("t", "seq", "t_next")]
_STATIC_PREFIX = "kept_"
"""Prefix of the tables that hold static steps."""
_ANY_NUMBER = Grid(1, 1, align=Align.CLOSE, t0=-1)
"""A grid in which every number is a rank: that of change instants."""


class ResultMaintenance(Protocol):
    """Maintenance of the solutions of a query, from which its reports are made."""

    materializes: ClassVar[bool]
    """True if it keeps the solutions itself; else they are rows of a maintained step, or not kept at all."""

    def add(self, rows: pa.Table) -> None:
        """Add solutions, each with the numbers `[lo, hi)` of the reports that show it."""
        ...

    def forget(self, number: int) -> None:
        """Forget solutions that no report from a number on can show."""
        ...

    def __len__(self) -> int:
        """Return how many solutions are kept."""
        ...

    def reports(self, due: DueReports, previous: PreviousReport) -> tuple[list[Report], PreviousReport]:
        """Return the reports that are due; there is at least one."""
        ...


@dataclass(frozen=True, slots=True)
class RecomputedResults:
    """Solutions that are computed for each report, from the kept rows of earlier steps."""

    materializes: ClassVar = False
    timeline: ReportTimeline
    program: Program
    run: Callable[[DueReports], pa.Table]
    """Runs the rest of the program; the rank of each row is in the column `r`."""

    def add(self, rows: pa.Table) -> None:
        """Keep nothing."""

    def forget(self, number: int) -> None:
        """Keep nothing."""

    def __len__(self) -> int:
        """Return 0."""
        return 0

    def reports(self, due: DueReports, previous: PreviousReport) -> tuple[list[Report], PreviousReport]:
        """Return the reports that are due."""
        solutions = RowsByRank(self.program, self.run(due))
        return compare_reports(self.timeline, due.timings(), solutions, previous)


@dataclass(slots=True)
class MaterializedRows:
    """Rows of a maintained step, in runs that were added together and are dropped when no report shows them."""

    schema: pa.Schema
    runs: list[tuple[pa.Table, int]] = field(default_factory=list)

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        if rows.num_rows:
            self.runs.append((rows, pc.max(rows.column("hi")).as_py()))
            merge_newest(self.runs, lambda run: run[0].num_rows, _merge, _SMALL_RUN)

    def forget(self, number: int) -> None:
        """Forget runs that no report from a number on can show."""
        self.runs = [(rows, last) for rows, last in self.runs if last > number]

    def table(self) -> pa.Table:
        """Return all rows."""
        return pa.concat_tables([rows for rows, _ in self.runs]) if self.runs else self.schema.empty_table()

    def __len__(self) -> int:
        """Return how many rows there are."""
        return sum(rows.num_rows for rows, _ in self.runs)


def _merge(one: tuple[pa.Table, int], other: tuple[pa.Table, int]) -> tuple[pa.Table, int]:
    return concat_rows(one[0], other[0]), max(one[1], other[1])


@dataclass(slots=True)
class DeltaCounters:
    """Rows that incremental evaluation has read and made since it began."""

    taken: int = 0
    """New rows, counted for each window."""
    read: dict[str, int] = field(default_factory=dict)
    """New rows that each maintained step has read."""
    made: dict[str, int] = field(default_factory=dict)
    """New rows of each maintained step."""


class Incremental:
    """Evaluation that maintains the rows of steps; it raises IncrementalLimitError at its limits."""

    keeps_rows: ClassVar = True

    def __init__(self, timeline: ReportTimeline, static: StaticGraphs, placement: Placement) -> None:
        """Compile the program and split it into maintained and recomputed steps."""
        assert placement.supports_incremental, f"the placement {placement.name} evaluates whole windows"
        compiler = LiveCompiler(timeline, static, placement)
        self.program = compiler.compile(Deduplication.DONE, None if timeline.by_rank else _ANY_NUMBER)
        assert self.program.operator is StreamOperator.RSTREAM, "changes are computed from kept solutions"
        self._timeline = timeline
        self._placement = placement
        self._windows = compiler.windows()
        ready = {step.name: static_table(step.name, _STATIC_PREFIX) for step in static_steps(self.program)}
        parts = split_program(self.program, ready)
        self._steps = parts.maintained
        self._texts = {step.name: print_sql(step.query, placement.target) for step in parts.maintained}
        self._named = {name for step in parts.maintained for name in step.reads}
        outputs = [output_queries.by_report(self.program)]
        self._rest = placement.prepare(parts.rest, outputs, _STATIC_PREFIX, self.program)
        self._read_by_rest = [step.name for step in self._steps if self._rest.reads(f"{step.name}{ALL}")]
        maintained = {step.name for step in self._steps}
        self._recomputed = [step.name for step in parts.rest.steps if step.name not in {*maintained, *ready}]
        self._numbering: ReportNumbering
        if timeline.by_rank:
            self._numbering = GridNumbering(timeline, self._windows)
        else:
            self._numbering = ChangeInstants(timeline, self._windows)
        self._materializes = self.program.answer in maintained and not self.program.order
        self._order = CallOrder()
        self.counters = DeltaCounters()
        self._released: Mapping[Iri, Sequence[StateRun]] = {}
        """The runs of the state behind the last batch; others make everything kept be rebuilt."""
        self._restart()
        load_static(placement, static, self.program, self._rest)

    def _restart(self) -> None:
        self._frontier = BEGINNING
        self._waiting: dict[str, list[pa.Table]] = {table: [] for table in self._windows}
        self.deduplicators = {table: Deduplicator() for table in self._windows}
        self.kept: dict[str, MaterializedRows] = {}
        """The rows of each maintained step; it has none before its first run, which tells its columns."""
        self.results = self._make_results()
        self._numbering.restart()

    def _make_results(self) -> ResultMaintenance:
        """Choose how solutions are maintained: kept as results, kept as changes, or recomputed."""
        plan = self._timeline.plan
        if not self._materializes:
            return RecomputedResults(self._timeline, self.program, self._run_rest)
        if plan.operator is StreamOperator.RSTREAM:
            return MaterializedResults(plan, self.program)
        return IncrementalR2S(plan, self.program)

    def replace_static(self, static: StaticGraphs) -> None:
        """Use other static data; everything kept is rebuilt with the next batch."""
        self._released = {}
        load_static(self._placement, static, self.program, self._rest)

    def resume(self, state: State) -> None:
        """Begin a batch; rebuild what is kept unless the state is the one that was released."""
        unchanged = self._order.is_released and state.runs is self._released
        self._order.resume()
        if not unchanged:
            self._restart()
            self._wait(state.runs)

    def take(self, runs: Mapping[Iri, Sequence[StateRun]]) -> None:
        """Let new rows wait until a report needs them."""
        self._order.take()
        self._wait(runs)

    def _wait(self, runs: Mapping[Iri, Sequence[StateRun]]) -> None:
        for table, (_, stream) in self._windows.items():
            self._waiting[table] += [run.events for run in runs.get(stream, ())]

    def overdue_reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Return reports that were settled before this batch; content change never leaves one."""
        self._order.check_overdue()
        assert self._timeline.by_rank, "an element makes its reports when its time is settled"
        return self._reports(request)

    def reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        """Add the waiting rows, and return the reports that are due."""
        self._order.check_reports()
        return self._reports(request)

    def _reports(self, request: ReportRequest) -> tuple[list[Report], PreviousReport]:
        self._add_waiting((request.start, request.end))
        due = self._numbering.due(request)
        if not len(due):
            return [], request.previous
        reach("evaluate")
        return self.results.reports(due, request.previous)

    def release(self, state: State, frontier: int) -> None:
        """Note the state behind the batch; drop what no report from `frontier` on can show."""
        if self._numbering.can_stamp_early and self._has_many_waiting():
            self._add_waiting((frontier, frontier))
        self._order.release()
        self._released = state.runs
        if frontier == self._frontier:
            return
        self._frontier = frontier
        number = self._numbering.number(frontier)
        for deduplicator in self.deduplicators.values():
            deduplicator.forget(number)
        for kept in self.kept.values():
            kept.forget(number)
        self.results.forget(number)

    def _has_many_waiting(self) -> bool:
        """Tell whether so many rows wait that they are better added before a report needs them."""
        waiting: int = sum(events.num_rows for tables in self._waiting.values() for events in tables)
        return waiting >= max(EAGER_ROWS, sum(map(len, self.deduplicators.values())) // WAITING_SHARE)

    @property
    def kept_rows(self) -> int:
        """The number of rows kept."""
        return sum(map(len, self.kept.values())) + len(self.results)

    @property
    def description(self) -> str:
        """The steps that are kept, and those that are recomputed."""
        kept = ", ".join(step.name for step in self._steps) or "nothing"
        return f"incremental; kept: {kept}; recomputed per report: {', '.join(self._recomputed) or 'nothing'}"

    def _run_rest(self, due: DueReports) -> pa.Table:
        """Return the solutions of some reports, with the rank of each in the column `r`."""
        for name in self._read_by_rest:
            self._placement.add_table(f"{name}{ALL}", due.rank_rows(self.kept[name].table()))
        given = load_ranks(self._placement, self._timeline.plan, self.program, due.ranks, due.ranks)
        (rows,) = self._placement.run(self._rest, given)
        return rows

    def _add_waiting(self, frontiers: tuple[int, int]) -> None:
        """Add to each maintained step what the waiting rows make; `frontiers` are those of the next reports."""
        waiting = {table: _concat(tables) for table, tables in self._waiting.items()}
        stamped, left = self._numbering.stamp(waiting, frontiers)
        self._waiting = {table: [events] if events.num_rows else [] for table, events in left.items()}
        new = {table: self._deduplicate(table, rows) for table, rows in stamped.items()}
        for table, rows in new.items():
            self.counters.taken += rows.num_rows
            self._load(table, NEW, rows)
        for step in self._steps:
            sources = {name.removesuffix(NEW) for name in step.reads if name.endswith(NEW)}
            read = sum(new[name].num_rows for name in sources)
            new[step.name] = self._new_rows(step.name, read)
            _count(self.counters.read, step.name, read)
            _count(self.counters.made, step.name, new[step.name].num_rows)
            if self._materializes and step.name == self.program.answer:
                self.results.add(new[step.name])
            else:
                self._keep(step.name, new[step.name])

    def _new_rows(self, step: str, read: int) -> pa.Table:
        """Return the rows that a step adds for new rows it reads, of which there are so many."""
        if step in self.kept and not read:
            return self.kept[step].schema.empty_table()
        # Read no further than is kept: a join can make more than fits into memory.
        text = f"SELECT * FROM ({self._texts[step]}) AS made LIMIT {MAX_ROWS + 1}"
        rows = self._placement.fetch(text, self.program.constants)
        kept = self.kept.setdefault(step, MaterializedRows(rows.schema))
        size = len(self.results) if self._materializes and step == self.program.answer else len(kept)
        if size + rows.num_rows > MAX_ROWS:
            raise IncrementalLimitError(f"more than {MAX_ROWS:,} rows of {step} would have to be kept")
        return rows

    def _keep(self, step: str, rows: pa.Table) -> None:
        """Add rows to those of a step, and load them for the steps that read it."""
        kept = self.kept[step]
        self._load(step, NEW, rows)
        self._load(step, OLD, kept.table())
        kept.add(rows)
        self._load(step, ALL, kept.table())

    def _load(self, name: str, suffix: str, rows: pa.Table) -> None:
        if f"{name}{suffix}" in self._named:
            self._placement.add_table(f"{name}{suffix}", rows)

    def _deduplicate(self, table: str, new: StampedRows) -> pa.Table:
        """Return the new rows of a window, each with the reports that it adds to those of its triple (S8, S19, S36)."""
        events, spans, order = new.events, new.spans, new.order
        ids = [events.column(name).to_numpy() for name in ("s_id", "p_id", "o_id")]
        intervals = TripleIntervals((ids[0], ids[1], ids[2]), order, spans.enter, spans.leave)
        inside = np.flatnonzero(spans.inside)
        if len(inside) < len(order):
            intervals = intervals.where(inside)
        lo, hi, adds = self.deduplicators[table].cut(intervals)
        rows = events.select(_COLUMNS)
        if len(inside) < len(order) or not adds.all():
            rows = rows.take(pa.array(inside[adds]))
        return rows.append_column("lo", pa.array(lo[adds])).append_column("hi", pa.array(hi[adds]))


def _concat(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables) if tables else EVENTS.empty_table()


def _count(counter: dict[str, int], step: str, rows: int) -> None:
    counter[step] = counter.get(step, 0) + rows
