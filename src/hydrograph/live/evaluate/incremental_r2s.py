"""Relation-to-stream operators (S29) over the solutions of successive reports: Rstream, Istream and Dstream.

`IncrementalR2S` keeps solutions with their intervals: rows wait for the report at which they enter, then for that at
which they leave, so the cost of a report follows what changes. `compare_reports` compares whole reports instead.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from hydrograph.algebra.queries import StreamOperator
from hydrograph.compile.program import Program
from hydrograph.live.evaluate.report_numbering import DueReports, Timing
from hydrograph.live.step.evaluation import PreviousReport
from hydrograph.live.step.records import Snapshot
from hydrograph.live.step.report_timeline import ReportTimeline
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.report_ranks import reports_at
from hydrograph.runtime.reports import Report, Row, rows_by_interval


def stream_difference(
    operator: StreamOperator, net: dict[Row, int], current: Counter[Row], *, as_set: bool
) -> list[Row]:
    """Return the rows of a report: `net` is the change of each multiplicity, `current` the multiplicities now."""
    entering = operator is StreamOperator.ISTREAM
    rows: list[Row] = []
    for row, change in net.items():
        grown = change if entering else -change
        if grown <= 0:
            continue
        if not as_set:
            rows += [row] * grown
        elif (current[row] - change if entering else current[row]) <= 0:
            rows.append(row)
    return rows


def compare_reports(
    timeline: ReportTimeline,
    timings: Sequence[Timing],
    solutions: Mapping[int, Sequence[Row]],
    previous: PreviousReport,
) -> tuple[list[Report], PreviousReport]:
    """Return the reports of solutions, given by rank; compare each with the one before where the operator asks it."""
    if not timings:
        return [], previous
    plan, last = timeline.plan, timings[-1][1]
    if not timeline.compares_snapshots:
        return list(reports_at(plan, timings, solutions)), PreviousReport(last=last)
    changed: dict[int, Sequence[Row]] = {}
    first = before = previous.snapshot.counts()
    for rank, _, _ in timings:
        current = Counter(solutions.get(rank, ()))
        net = _net(before, current)
        changed[rank] = stream_difference(plan.operator, net, current, as_set=plan.profile.r2s_set)
        before = current
    total = Counter(_net(first, before))
    snapshot = previous.snapshot.after(tuple((+total).elements()), tuple((-total).elements()))
    return list(reports_at(plan, timings, changed)), PreviousReport(snapshot, last)


def _net(previous: Counter[Row], current: Counter[Row]) -> dict[Row, int]:
    """Return the change of each multiplicity."""
    found = {row: count - previous[row] for row, count in current.items() if count != previous[row]}
    return found | {row: -count for row, count in previous.items() if row not in current}


@dataclass(slots=True)
class IncrementalR2S:
    """Istream or Dstream of kept solutions: those of the last report, and those that wait to enter or to leave."""

    materializes: ClassVar = True
    plan: Plan
    program: Program
    _current: Counter[Row] = field(default_factory=Counter)
    _snapshot: Snapshot = field(default_factory=Snapshot)
    """The snapshot that `_current` equals; at first one that no report has made."""
    _entering: list[tuple[int, int, int, Row]] = field(default_factory=list)
    """Heap of the number at which each enters, its serial number, the number at which it leaves, and the solution."""
    _leaving: list[tuple[int, int, Row]] = field(default_factory=list)
    _added: int = 0

    def __len__(self) -> int:
        """Return how many solutions are kept."""
        return len(self._entering) + len(self._leaving)

    def add(self, rows: pa.Table) -> None:
        """Add solutions, each with the reports `[lo, hi)` that show it."""
        self._enter(rows_by_interval(self.program, rows))

    def _enter(self, rows: Iterable[tuple[int, int, Row]]) -> None:
        for lo, hi, row in rows:
            self._added += 1  # the serial number keeps the heap from comparing rows, which have no order
            heapq.heappush(self._entering, (lo, self._added, hi, row))

    def forget(self, number: int) -> None:
        """Keep everything: solutions are dropped when they leave."""

    def reports(self, due: DueReports, previous: PreviousReport) -> tuple[list[Report], PreviousReport]:
        """Return the changes that each report shows."""
        return self.changes(due.timings(), due.numbers(), previous)

    def changes(
        self, timings: Sequence[Timing], numbers: Sequence[int], previous: PreviousReport
    ) -> tuple[list[Report], PreviousReport]:
        """Return the changes that each report shows, in order; rows are stamped by the numbers."""
        if not timings:
            return [], previous
        before = previous.snapshot
        rows: dict[int, Sequence[Row]] = {}
        total: Counter[Row] = Counter()
        operator, as_set = self.plan.operator, self.plan.profile.r2s_set
        for (rank, _, _), number in zip(timings, numbers, strict=True):
            net = self._advance(number)
            if self._snapshot is not before:  # started afresh: the previous solutions are in the snapshot alone
                net = self._compare(before)
                self._snapshot = before
            rows[rank] = stream_difference(operator, net, self._current, as_set=as_set) if net else []
            total.update(net)
        entered = tuple(row for row, change in total.items() for _ in range(change))
        left = tuple(row for row, change in total.items() for _ in range(-change))
        self._snapshot = before.after(entered, left)
        return list(reports_at(self.plan, timings, rows)), PreviousReport(self._snapshot, timings[-1][1])

    def _advance(self, number: int) -> dict[Row, int]:
        """Go to a report; return the change of each multiplicity."""
        net: dict[Row, int] = {}
        while self._leaving and self._leaving[0][0] <= number:
            _, _, row = heapq.heappop(self._leaving)
            net[row] = net.get(row, 0) - 1
        while self._entering and self._entering[0][0] <= number:
            _, serial, hi, row = heapq.heappop(self._entering)
            if hi > number:
                net[row] = net.get(row, 0) + 1
                heapq.heappush(self._leaving, (hi, serial, row))
        for row, change in net.items():
            count = self._current[row] + change
            if count:
                self._current[row] = count
            else:
                del self._current[row]
        return net

    def _compare(self, before: Snapshot) -> dict[Row, int]:
        found = Counter(self._current)
        found.subtract(before.counts())
        return {row: change for row, change in found.items() if change}
