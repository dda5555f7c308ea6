"""What an engine said and when, and which expected report each of its executions answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hydrograph.bench.oracle.dataset import Row
from hydrograph.bench.oracle.evaluate import Report
from hydrograph.temporal import Instant


@dataclass(frozen=True, slots=True)
class Block:
    """The answer of one execution; `at` is when it came, in milliseconds since the stream was started."""

    at: float
    rows: Counter[Row]
    t: Instant | None = None
    """The time of the report that it answers, if the engine says so."""


Pair = tuple[Report | None, Block | None]
"""A report with its answer; one of them is None where nothing came, or nothing was expected."""


def paired(reports: Sequence[Report], blocks: Sequence[Block]) -> Iterator[Pair]:
    """Return every report and every block once, in order of the reports.

    By the time that the blocks name, if all do. Otherwise by turns, as YABench does: the first block answers the first
    report. An engine that leaves windows out is then wrong from there on, and `gracious` shows which borders it used.
    """
    if blocks and all(block.t is not None for block in blocks):
        yield from _by_time(reports, blocks)
        return
    for position in range(max(len(reports), len(blocks))):
        yield (
            reports[position] if position < len(reports) else None,
            blocks[position] if position < len(blocks) else None,
        )


def _by_time(reports: Sequence[Report], blocks: Sequence[Block]) -> Iterator[Pair]:
    """Pair what has the same time; of several with one time the first with the first."""
    waiting: dict[Instant, list[Block]] = {}
    for block in blocks:
        assert block.t is not None
        waiting.setdefault(block.t, []).append(block)
    found: list[tuple[Instant, int, Pair]] = []
    for number, report in enumerate(reports):
        same = waiting.get(report.t)
        found.append((report.t, number, (report, same.pop(0) if same else None)))
    for t, left in waiting.items():
        found += [(t, len(reports), (None, block)) for block in left]
    yield from (pair for _, _, pair in sorted(found, key=lambda each: each[:2]))
