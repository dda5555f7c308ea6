"""Kept rows of a live query: what comes is joined with what is there, never what is there with itself (S36).

All of it can be made again from the state; it is there for speed alone. Rows that have come wait until a report needs
them, or until they are many: then the steps of the program that follow their input add what the new rows make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile import output_queries as finals
from hydrograph.compile.print import Target, print_sql
from hydrograph.compile.program import Program
from hydrograph.compile.static_steps import standing
from hydrograph.live.evaluate.change_instants import ChangeInstants, ReportInstants
from hydrograph.live.evaluate.deduplication import Deduplicator, TripleIntervals
from hydrograph.live.evaluate.deltas import ALL, NEW, OLD, split_program
from hydrograph.live.evaluate.incremental_r2s import IncrementalR2S
from hydrograph.live.evaluate.materialized_results import MaterializedResults
from hydrograph.live.step.report_timeline import ReportTimeline, VisibleSpans
from hydrograph.live.step.size_tiered_merge import merge_newest
from hydrograph.live.step.state import State, StateRun
from hydrograph.live.step.watermark import Times
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.placement.executor import static_table
from hydrograph.runtime.reports import rows_by_interval
from hydrograph.streams.schema import EVENTS

EAGER = 4096
"""Rows that wait at most, where windows are small."""
_SHARE = 8
"""Rows that wait at most, as a part of the rows of the windows: reading those once is then spread over enough."""
MAX_ROWS = 5_000_000
"""Rows that are kept of one step at most."""
_LEAST = 1024
"""Rows up to which a run of kept rows may always grow."""
_SMALL = 65_536
"""Rows up to which a run is copied into one block of memory; larger ones are only strung together."""
_COLUMNS = [name for name in EVENTS.names if name not in ("t", "seq", "t_next")]


@dataclass(slots=True)
class MaterializedRows:
    """The rows of a kept step, in runs that came together and leave when none of their rows is valid any more."""

    runs: list[tuple[pa.Table, int]] = field(default_factory=list)
    empty: pa.Table | None = None

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        if self.empty is None:
            self.empty = rows.slice(0, 0)
        if rows.num_rows:
            self.runs.append((rows, pc.max(rows.column("hi")).as_py()))
            merge_newest(self.runs, lambda run: run[0].num_rows, _both, _LEAST)

    def forget(self, frontier: int) -> None:
        """Forget runs that no report from `frontier` on can show."""
        self.runs = [(rows, last) for rows, last in self.runs if last > frontier]

    def table(self) -> pa.Table | None:
        """Return all rows; None before the first came, when nobody knows their columns."""
        return pa.concat_tables([rows for rows, _ in self.runs]) if self.runs else self.empty

    def __len__(self) -> int:
        """Return how many rows there are."""
        return sum(rows.num_rows for rows, _ in self.runs)


def _both(one: tuple[pa.Table, int], other: tuple[pa.Table, int]) -> tuple[pa.Table, int]:
    table = pa.concat_tables([one[0], other[0]])
    if table.num_rows <= _SMALL:
        table = table.combine_chunks()
    return table, max(one[1], other[1])


@dataclass(slots=True)
class DeltaCounters:
    """What has been done since the beginning, in rows."""

    taken: int = 0
    """Rows that came, counted for each window."""
    read: dict[str, int] = field(default_factory=dict)
    """New rows that each kept step has made its own new rows of."""
    made: dict[str, int] = field(default_factory=dict)
    """New rows of each kept step."""


class Incremental:
    """The kept rows of one program."""

    def __init__(
        self, program: Program, domain: ReportTimeline, placed: Placement, windows: Mapping[str, tuple[Iri, Iri]]
    ) -> None:
        """Split a program that reads rows stamped and disjoint; `windows` are window and stream of each table."""
        assert program.operator is StreamOperator.RSTREAM, "changes are taken from kept answers, not kept"
        self._placed = placed
        self._domain = domain
        self._windows = windows
        self._moments: ChangeInstants | None = None
        if not domain.by_rank:
            streams = dict.fromkeys(window.stream for window in domain.plan.query.windows)
            self._moments = ChangeInstants(domain, {stream: place for place, stream in enumerate(streams)})
        self.program = program
        ready = {step.name: static_table(step.name, _PREFIX) for step in standing(program)}
        parts = split_program(program, ready)
        self.followed = parts.followed
        self._texts = {step.name: print_sql(step.query, Target.DUCKDB) for step in parts.followed}
        self._named = {name for step in parts.followed for name in step.reads}
        self.prepared = placed.prepare(parts.rest, [finals.by_report(program)], _PREFIX, program)
        self._read_again = [step.name for step in self.followed if self.prepared.reads(f"{step.name}{ALL}")]
        names = {step.name for step in self.followed} | ready.keys()
        self._again = [step.name for step in parts.rest.steps if step.name not in names]
        self.work = DeltaCounters()
        self._pieces: Mapping[Iri, Sequence[StateRun]] | None = None
        self._begin()

    def _begin(self) -> None:
        self._frontier: int | None = None
        self._waiting: dict[str, list[pa.Table]] = {table: [] for table in self._windows}
        self._repeats = {table: Deduplicator() for table in self._windows}
        self._kept = {step.name: MaterializedRows() for step in self.followed}
        self.answers: MaterializedResults | None = None
        """The answers, where they follow what comes in whatever order; else each report is run."""
        self.changes: IncrementalR2S | None = None
        """The same, where reports give what changes in them."""
        self.reports: ReportInstants | None = None
        """The instants that the rows which were added last have made, where the reports form no grid."""
        plan = self._domain.plan
        if self.program.answer in self._kept and not self.program.order:
            if plan.operator is StreamOperator.RSTREAM:
                self.answers = MaterializedResults(self.program, plan.variables)
            else:
                self.changes = IncrementalR2S(plan.operator, plan.profile.r2s_set)
        if self._moments is not None:
            self._moments.begin()

    def forget_all(self) -> None:
        """Begin anew with the next batch: static data has changed."""
        self._pieces = None

    def resume(self, state: State) -> None:
        """Go on behind a state: the one that was left, or any other, from which everything is made again."""
        if state.pieces is not self._pieces:
            self._begin()
            self.take(state.pieces)

    def take(self, fresh: Mapping[Iri, Sequence[StateRun]]) -> None:
        """Let rows wait that have come."""
        for table, (_, stream) in self._windows.items():
            self._waiting[table] += [piece.events for piece in fresh.get(stream, ())]

    def leave(self, state: State, frontier: int) -> None:
        """Note the state behind the batch; forget what no report from `frontier` on can show."""
        self._pieces = state.pieces
        if frontier == self._frontier:
            return
        self._frontier = frontier
        if self._moments is not None:
            frontier = self._moments.number(frontier)
        for repeats in self._repeats.values():
            repeats.forget(frontier)
        for kept in self._kept.values():
            kept.forget(frontier)
        if self.answers is not None:
            self.answers.forget(frontier)

    @property
    def has_many(self) -> bool:
        """Whether so many rows wait that they are better added before a report needs them.

        Rows that make reports themselves are not added before that.
        """
        if self._moments is not None:
            return False
        waiting: int = sum(events.num_rows for tables in self._waiting.values() for events in tables)
        return waiting >= max(EAGER, sum(map(len, self._repeats.values())) // _SHARE)

    @property
    def rows(self) -> int:
        """How many rows are kept."""
        answers = sum(len(each) for each in (self.answers, self.changes) if each is not None)
        return sum(map(len, self._kept.values())) + answers

    def run(self, given: Mapping[str, int]) -> pa.Table:
        """Return the answers of some reports, with the rank of each in the column `r`."""
        for name in self._read_again:
            table = self._kept[name].table()
            assert table is not None
            if self.reports is not None:
                table = self.reports.ranked(table)
            self._placed.add_table(f"{name}{ALL}", table)
        (found,) = self._placed.run(self.prepared, given)
        return found

    def add(self, stretch: tuple[int, int]) -> str | None:
        """Add what the waiting rows make; return the step that makes more than can be kept, if one does.

        Nothing can be kept then. `stretch` are the reports that follow, from one frontier to another.
        """
        new = self._due(stretch)
        for table in self._windows:
            self.work.taken += new[table].num_rows
            self._name(table, NEW, new[table])
        for step in self.followed:
            kept = self._kept[step.name]
            sources = {name.removesuffix(NEW) for name in step.reads if name.endswith(NEW)}
            read = sum(new[name].num_rows for name in sources)
            self.work.read[step.name] = self.work.read.get(step.name, 0) + read
            if kept.empty is not None and not read:
                rows = kept.empty
            else:
                # Read no further than is kept: a join can make more than fits into memory.
                text = f"SELECT * FROM ({self._texts[step.name]}) AS made LIMIT {MAX_ROWS + 1}"
                rows = self._placed.fetch(text, self.program.constants)
                if self._size(step.name) + rows.num_rows > MAX_ROWS:
                    return step.name
            new[step.name] = rows
            self.work.made[step.name] = self.work.made.get(step.name, 0) + rows.num_rows
            if self.answers is not None and step.name == self.program.answer:
                self.answers.add(rows)
                kept.add(rows.slice(0, 0))
                continue
            if self.changes is not None and step.name == self.program.answer:
                self.changes.add(rows_by_interval(self.program, rows))
                kept.add(rows.slice(0, 0))
                continue
            before = kept.table()
            self._name(step.name, NEW, rows)
            self._name(step.name, OLD, rows.slice(0, 0) if before is None else before)
            kept.add(rows)
            after = kept.table()
            assert after is not None
            self._name(step.name, ALL, after)
        return None

    def _size(self, step: str) -> int:
        """Return how many rows of a step are kept."""
        answers = self.answers if self.answers is not None else self.changes
        return len(self._kept[step] if answers is None or step != self.program.answer else answers)

    def _name(self, name: str, behind: str, rows: pa.Table) -> None:
        if f"{name}{behind}" in self._named:
            self._placed.add_table(f"{name}{behind}", rows)

    def _due(self, stretch: tuple[int, int]) -> dict[str, pa.Table]:
        """Return the rows for each window that are added now, stamped and disjoint; the others go on waiting."""
        waiting = {table: _joined(tables) for table, tables in self._waiting.items()}
        found = {}
        if self._moments is None:
            for table, events in waiting.items():
                self._waiting[table] = []
                t = events.column("t").to_numpy()
                found[table] = self._stamped(table, events, self._domain.seen(self._windows[table][0], t), t)
            return found
        due: dict[str, pa.Table] = {}
        for table, events in waiting.items():
            # With the tuple tick an element has its place only when all of its time are there.
            ready = self._moments.is_settled(self._windows[table][0], events.column("t").to_numpy(), stretch[1])
            due[table] = events if ready.all() else events.filter(pa.array(ready))
            self._waiting[table] = [] if ready.all() else [events.filter(pa.array(~ready))]
        places = self._moments.places({self._windows[table][1]: events for table, events in due.items()})
        entries = []
        for table, events in due.items():
            window, stream = self._windows[table]
            seen, enter = self._moments.stamped(window, events.column("t").to_numpy(), places.get(stream), stretch[0])
            entries.append(self._moments.entries(window, events, enter, seen.inside))
            self._moments.leaving(seen.leave[seen.inside])
            found[table] = self._stamped(table, events, seen, enter)
        self.reports = self._moments.reports(entries, stretch)
        return found

    def _stamped(self, table: str, events: pa.Table, seen: VisibleSpans, order: Times) -> pa.Table:
        """Return the rows that came for a window, with the ranks that each adds (S8, S19, S36).

        `order` is that in which arrivals of one triple follow each other.
        """
        ids = [events.column(name).to_numpy() for name in ("s_id", "p_id", "o_id")]
        arrived = TripleIntervals((ids[0], ids[1], ids[2]), order, seen.enter, seen.leave)
        inside = np.flatnonzero(seen.inside)
        if len(inside) < len(order):
            arrived = arrived.where(inside)
        lo, hi, adds = self._repeats[table].cut(arrived)
        rows = events.select(_COLUMNS)
        if len(inside) < len(order) or not adds.all():
            rows = rows.take(pa.array(inside[adds]))
        return rows.append_column("lo", pa.array(lo[adds])).append_column("hi", pa.array(hi[adds]))

    def explained(self) -> str:
        """Return what is kept, for people."""
        kept = ", ".join(step.name for step in self.followed) or "nothing"
        return f"keeps the rows of {kept}; made again for each report: {', '.join(self._again) or 'nothing'}"


def _joined(waiting: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(waiting) if waiting else EVENTS.empty_table()


_PREFIX = "kept_"
"""Before the names of tables in which static steps stand."""
