"""Report ranks: which reports a bounded stream has, how they are cut into chunks, and their assembly (S17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, assert_never

import pyarrow as pa
from sqlglot import exp

from hydrograph.compile.inputs import Chunking, StreamInput, TimeVisibility
from hydrograph.compile.program import Program
from hydrograph.compile.scan import content_intervals
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report, Row
from hydrograph.temporal import END_OF_TIME, Duration, Instant
from hydrograph.windows.report import EVERYTHING, Held, Range, When, closing_times, period_times
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Tick

_CHUNK_WINDOWS = 8
"""Windows in a chunk: one row in eight is in two chunks, and recurring keys meet only within one."""


@dataclass(frozen=True, slots=True)
class ReportRanks:
    """A range of report ranks, `start <= k < end`."""

    start: int
    end: int

    def __len__(self) -> int:
        """Return how many reports there are."""
        return max(0, self.end - self.start)


def report_ranks(plan: Plan, held: Mapping[Iri, Held], within: Range = EVERYTHING) -> ReportRanks:
    """Return the reports in a range; by default from the first window that holds an event to the last (A1).

    `held` are the first and the last event time in each window: a window reads one stream, so the events of the other
    streams make none of its reports. An end that neither the range nor an event gives leaves no report.
    """
    windows = plan.windows
    shifts = {name: _shift(plan, first_close) for name, first_close in _first_closes(plan).items()}
    known = [(windows[name], shift, span) for name, shift in shifts.items() if (span := held[name]) is not None]
    asked = ranks_within(plan, within)
    start, end = asked.start, asked.end
    if not known and (within.after is None or within.until is None):
        return ReportRanks(start, start)
    if within.after is None:
        start = min(window.lo(span[0]) + shift for window, shift, span in known)
    if within.until is None:
        end = max(window.hi(span[1]) + shift for window, shift, span in known)
    return ReportRanks(start, max(start, end))


def ranks_within(plan: Plan, within: Range) -> ReportRanks:
    """Return all ranks of a range, whether or not some window holds an event; an open end is that of time."""
    grid = plan.grid
    start = 0 if within.after is None else max(0, (within.after - grid.first_close) // grid.step + 1)
    until = END_OF_TIME if within.until is None else within.until
    return ReportRanks(start, max(start, (until - grid.first_close) // grid.step + 1))


def scheduled_instants(plan: Plan, held: Mapping[Iri, Held], within: Range) -> pa.Table:
    """Return the reports that closes and periods make, where the reports form no grid (S13, S31).

    `content_intervals` are the times of the first and the last event that lie in each window.
    """
    policy = plan.profile.report
    windows: list[tuple[Grid | None, Held]] = []
    for name, visibility in plan.visibilities.items():
        known = held[name]
        if isinstance(visibility, TimeVisibility):
            windows.append((visibility.grid, known and (known[0] + visibility.delay, known[1] + visibility.delay)))
        else:
            windows.append((None, known))
    match policy.when:
        case When.WINDOW_CLOSE:
            times = closing_times([(grid, known) for grid, known in windows if grid is not None], policy.multi, within)
        case When.PERIODIC:
            times = period_times(windows, policy.period, within, plan.t0)
        case When.CONTENT_CHANGE:
            times = []
        case _:
            assert_never(policy.when)
    return pa.table({"t": pa.array(times, pa.int64())})


def _first_closes(plan: Plan) -> dict[Iri, Instant]:
    return {
        name: visibility.grid.first_close
        for name, visibility in plan.visibilities.items()
        if isinstance(visibility, TimeVisibility)
    }


def _shift(plan: Plan, first_close: Instant) -> int:
    return (first_close - plan.grid.first_close) // plan.grid.step


def parameters(plan: Plan, program: Program, ranks: ReportRanks) -> dict[str, int]:
    """Return the numbers a program is run with."""
    if plan.reports is None:
        return {"k_from": 0, "k_to": ranks.end}
    grid = plan.grid
    values = {"k_from": ranks.start, "k_to": ranks.end, "r_from": ranks.start}
    values |= {"report_first": grid.first_close, "report_step": grid.step}
    for stream in program.streams:
        values |= event_bounds(stream, ranks)
    return values


def event_bounds(stream: StreamInput, ranks: ReportRanks) -> dict[str, int]:
    """Return the times between which the events of a window lie that count at these ranks."""
    assert stream.grid is not None
    first, last = ranks.start - stream.shift, ranks.end - 1 - stream.shift
    return {
        f"{stream.name}_from": max(stream.grid.t0, stream.grid.open(first)),
        f"{stream.name}_to": stream.grid.close(last),
    }


def chunking(plan: Plan, ranks: ReportRanks, partitions: int) -> Chunking | None:
    """Return how to cut a replay by time; None where there is too little to cut (A14)."""
    length = _CHUNK_WINDOWS * overlap(plan)
    if plan.window_leaves() < 2 or len(ranks) < 2 * length:
        return None
    return Chunking(length, partitions)


_BUCKETS = 256
"""Parts of the time line that running sums are taken over, one after the other in each."""


def expected_ranks(rows: int, bounds: tuple[Instant, Instant] | None) -> tuple[ReportRanks, Duration]:
    """Return more ranks than reports can be where they form no grid, and the length of a bucket of time."""
    span = 0 if bounds is None else bounds[1] - bounds[0]
    return ReportRanks(0, 2 * rows + span + 2), max(1, span // _BUCKETS)


def sparse_chunking(plan: Plan, rows: int, bounds: tuple[Instant, Instant] | None, partitions: int) -> Chunking | None:
    """Return how to cut reports that form no grid by rank; None where there is too little to cut (A14).

    A chunk is to be as long as some windows: as many reports as there are elements in them, if content change reports.
    """
    windows = [visibility.grid for visibility in plan.visibilities.values() if isinstance(visibility, TimeVisibility)]
    if plan.window_leaves() < 2 or bounds is None or not windows or len(windows) < len(plan.visibilities):
        return None
    span, width = bounds[1] - bounds[0] + 1, max(grid.width for grid in windows)
    if span < 2 * _CHUNK_WINDOWS * width:
        return None
    policy = plan.profile.report
    if policy.when is When.CONTENT_CHANGE:
        reports = min(rows, span) if plan.tick is Tick.TIME else rows
    elif policy.when is When.PERIODIC:
        assert policy.period is not None
        reports = span // policy.period
    else:
        reports = sum(span // grid.step for grid in windows)
    return Chunking(max(1, reports * _CHUNK_WINDOWS * width // span), partitions)


def parts(plan: Plan, ranks: ReportRanks, rows: int, at_once: int) -> list[ReportRanks]:
    """Return the reports in stretches that hold about `at_once` rows, if every event is an answer while it is held."""
    count = min(len(ranks), -(-rows * overlap(plan) // at_once))
    if count < 2:
        return [ranks]
    length = -(-len(ranks) // count)
    return [ReportRanks(start, min(start + length, ranks.end)) for start in range(ranks.start, ranks.end, length)]


def overlap(plan: Plan) -> int:
    """Return in how many windows an event lies at most."""
    return max(-(-grid.width // grid.step) for grid in plan.windows.values())


def domain(chunks: Chunking | None, ranks: ReportRanks) -> list[dict[str, int]]:
    """Return the evaluated ranks as rows of the domain table, cut like everything else."""
    if not len(ranks):
        return []
    if chunks is None:
        return [{"lo": ranks.start, "hi": ranks.end}]
    rows = []
    for chunk in range(ranks.start // chunks.ranks, (ranks.end - 1) // chunks.ranks + 1):
        lo, hi = max(ranks.start, chunk * chunks.ranks), min(ranks.end, (chunk + 1) * chunks.ranks)
        rows.append({"chunk": chunk, "lo": lo, "hi": hi})
    return rows


def domain_table(rows: list[dict[str, int]], chunks: Chunking | None, keys: tuple[str, ...] = ()) -> pa.Table:
    """Return the rows of the domain as a table, with the hidden keys that inputs carry."""
    names = [*keys, *(["chunk"] if chunks is not None else []), "lo", "hi"]
    return pa.Table.from_pylist(rows, pa.schema([(name, pa.int64()) for name in names]))


def instants_of(
    plan: Plan, ranks: ReportRanks, held: frozenset[int] | None = None
) -> Iterator[tuple[int, Instant, None]]:
    """Return rank and time of the reports of a grid; `held` are the ranks at which a window has content."""
    for rank in range(ranks.start, ranks.end):
        if held is None or rank in held:
            yield rank, plan.grid.close(rank), None


def read_instants(table: pa.Table) -> Iterator[tuple[int, Instant, int | None]]:
    """Return rank and time of the reports that a program has found, and the element that made each alone."""
    columns = (table.column(name).to_pylist() for name in ("r", "t", "seq"))
    return iter(sorted(zip(*columns, strict=True), key=lambda each: each[0]))


def reports_of(
    plan: Plan, ranks: ReportRanks, rows: Mapping[int, Sequence[Row]], held: frozenset[int] | None = None
) -> Iterator[Report]:
    """Return a report for every rank of a grid, see `instants_of` and `reports_at`."""
    return reports_at(plan, instants_of(plan, ranks, held), rows)


def reports_at(
    plan: Plan, instants: Iterable[tuple[int, Instant, int | None]], rows: Mapping[int, Sequence[Row]]
) -> Iterator[Report]:
    """Return a report for every instant, rows sorted by ORDER BY or by their texts (A11); empty ones as asked (S14)."""
    names = plan.variables
    for rank, t, seq in instants:
        found = rows.get(rank, ())
        if not found and not plan.profile.emit_empty:
            continue
        opened, close = bounds_of(plan, rank, t)
        if not plan.is_ordered:
            found = sorted(found, key=_sort_key)
        yield Report(t, opened, close, names, tuple(found), seq)


def bounds_of(plan: Plan, rank: int, t: Instant) -> tuple[Instant | None, Instant | None]:
    """Return where the window of a report opens and closes, None where it belongs to no one window (A11)."""
    scope = plan.scope_at(t) if plan.reports is None else plan.scope(rank)
    return (None, None) if scope is None else (scope.start, scope.end)


def _sort_key(row: Row) -> list[str]:
    return ["" if text is None else text for text in row]


class Reader(Protocol):
    """A placement that holds the tables of the windows."""

    def read(self, query: exp.Query, parameters: dict[str, int | str]) -> pa.Table:
        """Return the rows of one query."""
        ...


def nonempty_ranks(windows: Iterable[StreamInput], placed: Reader, ranks: ReportRanks) -> frozenset[int]:
    """Return the ranks at which some window has content; no more rows leave the data than there are such windows."""
    found: set[int] = set()
    if not len(ranks):
        return frozenset()
    for window in windows:
        given: dict[str, int | str] = {"k_from": ranks.start, "k_to": ranks.end, **event_bounds(window, ranks)}
        table = placed.read(content_intervals(window), given)
        for lo, hi in zip(table.column("lo").to_pylist(), table.column("hi").to_pylist(), strict=True):
            found.update(range(lo, hi))
    return frozenset(found)
