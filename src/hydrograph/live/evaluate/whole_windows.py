"""The program of a live query, made once and run for any stretch of reports over the rows of a state.

Changes (Istream, Dstream) are taken from the solutions of the reports and the snapshot of the one before (S30), because
a late element counts from some report on and the rows alone do not say from which. CONSTRUCT and DESCRIBE make their
triples of changes, which only the program can do: it evaluates the report before once more, and late elements that
would change that one are dropped (`whole`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from hydrograph.algebra.queries import Ask, Select, StreamOperator
from hydrograph.algebra.walk import expressions, subpatterns
from hydrograph.compile.expressions.needs import reads_clock
from hydrograph.compile.instants import NEVER
from hydrograph.compile.program import CLOSES, GRAPHS, QUADS, STATIC, Program, SetMaking, StreamInput
from hydrograph.live.evaluate import change_instants as moments
from hydrograph.live.evaluate.incremental import MAX_ROWS, Incremental
from hydrograph.live.evaluate.incremental_r2s import IncrementalR2S, stream_difference
from hydrograph.live.evaluate.made import Made
from hydrograph.live.evaluate.materialized_results import MaterializedResults
from hydrograph.live.failpoints import reach
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.live.step.snapshot import EMPTY_SNAPSHOT, Snapshot
from hydrograph.rdf.terms import Iri
from hydrograph.runtime import replay
from hydrograph.runtime.nonempty_reports import held_ranks
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import Facts, Plan
from hydrograph.runtime.replay import Ranks
from hydrograph.runtime.reports import Report, Row, RowsByRank, rows_by_interval
from hydrograph.streams.schema import TRIPLES
from hydrograph.streams.static import StaticGraphs
from hydrograph.temporal import Instant
from hydrograph.windows.report import Held
from hydrograph.windows.scope import Align, Grid

Timing: TypeAlias = tuple[int, Instant, int | None]
"""Rank and time of a report, and the element that made it alone."""
_MANY = 2**40
"""More reports than one step can have, and a bucket of time that holds all of it."""
INCREMENTAL = "incremental"
"""What `evaluation` begins with where rows are kept."""
_EVERY = Grid(1, 1, align=Align.CLOSE, t0=-1)
"""Reports of which each may be any number: those of instants that elements make, see `moments`."""


@dataclass(frozen=True, slots=True)
class Before:
    """What the reports before leave behind for those that follow."""

    snapshot: Snapshot = EMPTY_SNAPSHOT
    """The solutions of the last report, where changes are taken from them."""
    last: Instant | None = None
    """The time of the last report."""


@dataclass(slots=True)
class Evaluator:
    """A placed plan, its static data and the placement it runs in."""

    plan: Plan
    static: StaticGraphs
    placed: Local | Spark
    domain: ReportTimeline = field(init=False)
    incremental: Incremental | None = field(init=False, default=None)
    """The kept rows; None where every report is evaluated as a whole, see `evaluation`."""
    _made: dict[bool, Made] = field(init=False, default_factory=dict)
    _given_up: str | None = field(init=False, default=None)
    _inputs: list[StreamInput] = field(init=False)

    def __post_init__(self) -> None:
        """Make the program that is right for all data, and give it the static data."""
        assert self.plan.is_placed, "a plan without t0 can not be evaluated"
        self.domain = ReportTimeline(self.plan)
        self._inputs = self.plan.inputs(self._facts(SetMaking.LEAD), self.placed.prefix)
        if self._why_whole is None:
            assert isinstance(self.placed, Local)
            evaluated = self._evaluated
            if not self.domain.by_rank:
                evaluated = replace(evaluated, reports=_EVERY)
            program = evaluated.program(self._facts(SetMaking.DONE), prefix=self.placed.prefix)
            named = zip(self._inputs, self.plan.query.windows, strict=True)
            windows = {source.name: (window.name, window.stream) for source, window in named if window.name is not None}
            self.incremental = Incremental(program, self.domain, self.placed, windows)
            self._add_static()
        else:
            self._program(repeats=True)

    @property
    def _why_whole(self) -> str | None:
        """Why no rows are kept; None where they are."""
        if self._given_up is not None:
            return self._given_up
        if not isinstance(self.placed, Local):
            return "Spark evaluates each window"
        if self.whole:
            return "it makes triples of changes"
        if not self.domain.by_rank:
            if (why := moments.why_none(self.domain)) is not None:
                return why
            if not isinstance(self.plan.query.form, Select | Ask):
                return "it makes triples of elements"
            if any(reads_clock(each) for pattern in subpatterns(self.plan.pattern) for each in expressions(pattern)):
                return "its answers change with the clock"
        if self.plan.needs_content:
            return "silent windows are not reported"
        return None

    def prepare(self, stretch: tuple[int, int]) -> None:
        """Add what has come to the kept rows; if they become too many, whole windows are evaluated from here on.

        `stretch` are the reports that follow, from one frontier to another.
        """
        if self.incremental is None:
            return
        try:
            step = self.incremental.add(stretch)
        except moments.InstantOverflowError as error:
            self._given_up = str(error)
        else:
            if step is not None:
                self._given_up = f"more than {MAX_ROWS:,} rows of {step} would have to be kept"
        if self._given_up is not None:
            self.incremental = None
            self._program(repeats=True)

    @property
    def evaluation(self) -> str:
        """How reports are evaluated, for people."""
        if self.incremental is not None:
            return f"{INCREMENTAL}: {self.incremental.explained()}"
        return f"whole windows: {self._why_whole}"

    def _facts(self, making: SetMaking) -> Facts:
        return Facts(
            {window.stream: making for window in self.plan.query.windows},
            self.static.default is not None,
            broadcast=not isinstance(self.placed, Local),
            named=self.static.named is not None,
            bucket=_MANY,
            moving=True,
        )

    def _program(self, *, repeats: bool) -> Made:
        """Return the program for data in which triples come again, or the quicker one for data free of that."""
        if repeats not in self._made:
            making = SetMaking.LEAD if repeats else SetMaking.NOT_NEEDED
            program = self._evaluated.program(self._facts(making), prefix=self.placed.prefix)
            # For changes it is enough to know when an answer comes and goes: where each element makes a report, as
            # many of them show it as a window has elements.
            by_interval = self.keeps_snapshot and not self.plan.is_ordered
            prefix = f"standing{int(repeats)}_"
            self._made[repeats] = Made.of(program, self.placed, prefix, by_interval=by_interval)
            self._add_static()
        return self._made[repeats]

    @property
    def whole(self) -> bool:
        """Whether the program makes the changes itself, from the report before."""
        changes = self.plan.operator is not StreamOperator.RSTREAM
        return changes and not isinstance(self.plan.query.form, Select | Ask)

    @property
    def keeps_snapshot(self) -> bool:
        """Whether changes are taken from a snapshot."""
        return self.plan.operator is not StreamOperator.RSTREAM and not self.whole

    @property
    def _evaluated(self) -> Plan:
        if not self.keeps_snapshot:
            return self.plan
        return replace(self.plan, profile=replace(self.plan.profile, operator=StreamOperator.RSTREAM))

    @property
    def tables(self) -> dict[str, Iri]:
        """The tables that the program reads, and the window of each."""
        named = zip(self._inputs, self.plan.query.windows, strict=True)
        return {source.name: window.name for source, window in named if window.name is not None}

    def replace_static(self, static: StaticGraphs) -> None:
        """Let the reports that follow see other static data; it takes effect between two reports (S27)."""
        self.static = static
        self._add_static()

    def _add_static(self) -> None:
        tables = {STATIC: lambda: self.static.default, QUADS: self.static.quads, GRAPHS: self.static.names}
        programs = [made.program for made in self._made.values()]
        ready = [made.prepared for made in self._made.values()]
        if self.incremental is not None:
            programs.append(self.incremental.program)
            ready.append(self.incremental.prepared)
            self.incremental.forget_all()
        for table in {table.name: table for program in programs for table in program.statics}.values():
            self.placed.add_table(table.name, tables[table.name.removeprefix(self.placed.prefix)]())
        for prepared in ready:
            self.placed.load_static(prepared)

    def reports(
        self,
        rows: Mapping[str, pa.Table],
        counted: Mapping[str, int],
        held: Mapping[Iri, Held],
        stretch: tuple[int, int],
        before: Before,
    ) -> tuple[list[Report], Before]:
        """Return the reports from one frontier to another, in order, and what they leave behind.

        `rows` are the tables that the program reads, `counted` how many units have left those that count.
        """
        if self.incremental is not None and self.incremental.reports is not None:
            return self._by_moment(self.incremental, self.incremental.reports, before)
        start, end = stretch
        there = self.domain.ranks(held) if self.domain.by_rank else Ranks(start, end)
        ranks = Ranks(max(start, there.start), min(end, there.end))
        if not len(ranks):
            return [], before
        for name, table in rows.items():
            self.placed.add_table(name, table)
        if self.domain.by_rank:
            return self._by_rank(rows, ranks, before)
        # What changed at the first of them is known against the last report, which is looked at again.
        after = start - 1 if not self.whole or before.last is None else min(start, before.last) - 1
        closes = self.domain.closes(held, after + 1, end)
        return self._by_time(start, after, end, closes, counted, before)

    def missed_closes(
        self,
        rows: Mapping[str, pa.Table],
        counted: Mapping[str, int],
        held: Mapping[Iri, Held],
        stretch: tuple[int, int],
        before: Before,
    ) -> tuple[list[Report], Before]:
        """Return the reports of closes that were settled before it was known that they are to be reported (A1).

        No report is made before the first window that holds an element, or after the last: of closes in between, where
        windows leave gaps, that is known only when a further element comes.
        """
        start, end = stretch
        if self.domain.by_rank:
            return self.reports(rows, counted, held, stretch, before)
        closes = self.domain.closes(held, start, end)
        if not closes:
            return [], before
        for name, table in rows.items():
            self.placed.add_table(name, table)
        return self._by_time(start, NEVER, end, closes, counted, before)

    def _by_moment(
        self, kept: Incremental, reports: moments.ReportInstants, before: Before
    ) -> tuple[list[Report], Before]:
        """Return the reports that elements have made."""
        if not len(reports):
            return [], before
        reach("evaluate")
        instants = reports.listed()
        if kept.answers is not None:
            return self._shown(kept.answers, instants, reports.numbers.tolist(), before)
        if kept.changes is not None:
            return self._changed(kept.changes, instants, reports.numbers.tolist(), before)
        ranks = Ranks(0, len(reports))
        if kept.program.domain is not None:
            self.placed.add_table(kept.program.domain, replay.domain_table(replay.domain(None, ranks), None))
        table = kept.run({"k_from": ranks.start, "k_to": ranks.end, "r_from": ranks.start})
        return self._reported(instants, RowsByRank(kept.program, table), before)

    def _by_rank(self, rows: Mapping[str, pa.Table], ranks: Ranks, before: Before) -> tuple[list[Report], Before]:
        if self.incremental is not None:
            reach("evaluate")
            standing = list(replay.instants_of(self.plan, ranks))
            numbers = range(ranks.start, ranks.end)
            if self.incremental.answers is not None:
                return self._shown(self.incremental.answers, standing, numbers, before)
            if self.incremental.changes is not None:
                return self._changed(self.incremental.changes, standing, numbers, before)
            program = self.incremental.program
            table = self.incremental.run(self._given(program, ranks, ranks))
        else:
            made = self._program(repeats=any(map(_has_repeats, {id(each): each for each in rows.values()}.values())))
            program = made.program
            earlier = int(self.whole and before.last is not None)
            (table,) = made.run(self.placed, self._given(program, Ranks(ranks.start - earlier, ranks.end), ranks))
            if made.by_interval:
                return self._between(made, table, self._instants(ranks), before)
        return self._reported(self._instants(ranks), RowsByRank(program, table), before)

    def _instants(self, ranks: Ranks) -> list[Timing]:
        """Return the reports of a grid, without silent ones where those are not given out."""
        content = held_ranks(self._inputs, self.placed, ranks) if self.plan.needs_content else None
        return list(replay.instants_of(self.plan, ranks, content))

    def _between(
        self, made: Made, table: pa.Table, instants: Sequence[Timing], before: Before
    ) -> tuple[list[Report], Before]:
        """Return the reports of what comes and goes among answers that know their reports."""
        if not instants:
            return [], before
        changes = IncrementalR2S(self.plan.operator, self.plan.profile.r2s_set)
        changes.add(rows_by_interval(made.program, table))
        return self._changed(changes, instants, [rank for rank, _, _ in instants], before)

    def _shown(
        self, answers: MaterializedResults, instants: Sequence[Timing], numbers: Sequence[int], before: Before
    ) -> tuple[list[Report], Before]:
        """Return the reports of answers that stand ready; `numbers` are those by which they know the instants."""
        reports = []
        for (rank, t, seq), number in zip(instants, numbers, strict=True):
            rows, texts = answers.at(number)
            if rows or self.plan.profile.emit_empty:
                bounds = replay.bounds_of(self.plan, rank, t)
                reports.append(Report(t, *bounds, self.plan.variables, rows, seq, texts=texts))
        return reports, replace(before, last=instants[-1][1])

    def _changed(
        self, changes: IncrementalR2S, instants: Sequence[Timing], numbers: Sequence[int], before: Before
    ) -> tuple[list[Report], Before]:
        """Return the reports of what has come and gone among answers that stand ready."""
        found, snapshot = changes.reports(numbers, before.snapshot)
        rows = {rank: each for (rank, _, _), each in zip(instants, found, strict=True)}
        return list(replay.reports_at(self.plan, instants, rows)), Before(snapshot, instants[-1][1])

    def _given(self, program: Program, evaluated: Ranks, reported: Ranks) -> dict[str, int]:
        """Return the numbers a program is run with; give it the ranks that are evaluated."""
        if program.domain is not None:
            self.placed.add_table(program.domain, replay.domain_table(replay.domain(None, evaluated), None))
        return {**replay.parameters(self.plan, program, evaluated), "r_from": reported.start}

    def _by_time(
        self, start: int, after: int, end: int, closes: list[Instant], counted: Mapping[str, int], before: Before
    ) -> tuple[list[Report], Before]:
        made = self._program(repeats=True)
        self.placed.add_table(f"{self.placed.prefix}{CLOSES}", pa.table({"t": pa.array(closes, pa.int64())}))
        given = {"k_from": 0, "k_to": _MANY, "after": max(BEGINNING, after), "until": end - 1}
        given |= {f"{name}_before": counted.get(name, 0) for name in self.tables}
        table, found = made.run(self.placed, given)
        instants = [each for each in replay.found_instants(found) if each[1] >= start]
        if made.by_interval:
            return self._between(made, table, instants, before)
        return self._reported(instants, RowsByRank(made.program, table), before)

    def _reported(
        self, instants: Sequence[Timing], rows: Mapping[int, Sequence[Row]], before: Before
    ) -> tuple[list[Report], Before]:
        if not instants:
            return [], before
        last = instants[-1][1]
        if not self.keeps_snapshot:
            return list(replay.reports_at(self.plan, instants, rows)), Before(last=last)
        changed: dict[int, Sequence[Row]] = {}
        first = previous = before.snapshot.counts()
        for rank, _, _ in instants:
            current = Counter(rows.get(rank, ()))
            net = _net(previous, current)
            changed[rank] = stream_difference(self.plan.operator, net, current, as_set=self.plan.profile.r2s_set)
            previous = current
        total = Counter(_net(first, previous))
        snapshot = before.snapshot.after(tuple((+total).elements()), tuple((-total).elements()))
        return list(replay.reports_at(self.plan, instants, changed)), Before(snapshot, last)


def _net(previous: Counter[Row], current: Counter[Row]) -> dict[Row, int]:
    """Return by how much each row has become more or less."""
    found = {row: count - previous[row] for row, count in current.items() if count != previous[row]}
    return found | {row: -count for row, count in previous.items() if row not in current}


def evaluation_of(plan: Plan) -> str:
    """Return how a live query would be evaluated beside the driver, for people; static data of every kind is there."""
    static = StaticGraphs(TRIPLES.empty_table(), {})
    with Local(1, small=True) as placed:
        return Evaluator(plan if plan.is_placed else plan.starting(0), static, placed).evaluation


def _has_repeats(rows: pa.Table) -> bool:
    """Tell whether a triple may be there twice: False is a proof, True may be an accident of numbers."""
    s, p, o = (rows.column(name).to_numpy().view(np.uint64) for name in ("s_id", "p_id", "o_id"))
    keys = s * np.uint64(0x9E3779B97F4A7C15) ^ p * np.uint64(0xC2B2AE3D27D4EB4F) ^ o * np.uint64(0x165667B19E3779F9)
    keys.sort()  # numpy's own `unique` takes ten times as long
    return bool((keys[1:] == keys[:-1]).any())
