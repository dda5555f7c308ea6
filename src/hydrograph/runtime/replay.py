"""Replay: the arithmetic of running one program over a bounded stream, any number of windows in one job (S17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from hydrograph.compile.program import Chunking, Program
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report, Row
from hydrograph.temporal import Instant

_CHUNK_WINDOWS = 8
"""Windows in a chunk: one row in eight stands in two chunks, and recurring keys meet only inside one."""


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks `start <= k < end` that are evaluated and reported."""

    start: int
    end: int

    def __len__(self) -> int:
        """Return how many reports there are."""
        return max(0, self.end - self.start)


def report_ranks(
    plan: Plan, bounds: tuple[Instant, Instant] | None, after: Instant | None = None, until: Instant | None = None
) -> Ranks:
    """Return the reports in `(after, until]`; by default from the first window that holds an event to the last (A1).

    `bounds` are the first and the last event time at or after t0, None where there is none. With a slide above the
    width they have to be those of events that lie in some window.
    """
    grid = plan.grid
    start, end = 0, 0
    if bounds is not None:
        windows = [(window, _shift(plan, window.first_close)) for window in plan.windows.values()]
        start = min(window.lo(bounds[0]) + shift for window, shift in windows)
        end = max(window.hi(bounds[1]) + shift for window, shift in windows)
    if after is not None:
        start = max(0, (after - grid.first_close) // grid.step + 1)
    if until is not None:
        end = (until - grid.first_close) // grid.step + 1
    return Ranks(start, max(start, end))


def _shift(plan: Plan, first_close: Instant) -> int:
    return (first_close - plan.grid.first_close) // plan.grid.step


def parameters(plan: Plan, program: Program, ranks: Ranks) -> dict[str, int]:
    """Return the numbers a program is run with."""
    grid = plan.grid
    values = {"k_from": ranks.start, "k_to": ranks.end, "r_from": ranks.start}
    values |= {"report_first": grid.first_close, "report_step": grid.step}
    for stream in program.streams:
        first, last = ranks.start - stream.shift, ranks.end - 1 - stream.shift
        values[f"{stream.name}_from"] = max(stream.grid.t0, stream.grid.open(first))
        values[f"{stream.name}_to"] = stream.grid.close(last)
    return values


def chunking(plan: Plan, ranks: Ranks, partitions: int) -> Chunking | None:
    """Return how to cut a replay by time; None where there is too little to cut (A14)."""
    length = _CHUNK_WINDOWS * overlap(plan)
    if plan.window_leaves() < 2 or len(ranks) < 2 * length:
        return None
    return Chunking(length, partitions)


def overlap(plan: Plan) -> int:
    """Return in how many windows an event lies at most."""
    return max(-(-grid.width // grid.step) for grid in plan.windows.values())


def domain(chunks: Chunking | None, ranks: Ranks) -> list[dict[str, int]]:
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


def reports_of(plan: Plan, ranks: Ranks, rows: Mapping[int, Sequence[Row]]) -> Iterator[Report]:
    """Return one report for every rank, empty ones included, rows sorted by ORDER BY or by their texts (A11)."""
    names = plan.variables
    for rank in range(ranks.start, ranks.end):
        scope = plan.scope(rank)
        opened, close = (None, None) if scope is None else (scope.start, scope.end)
        found = rows.get(rank, ())
        if not plan.is_ordered:
            found = sorted(found, key=_sort_key)
        yield Report(plan.grid.close(rank), opened, close, names, tuple(found))


def _sort_key(row: Row) -> list[str]:
    return ["" if text is None else text for text in row]
