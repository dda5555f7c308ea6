"""From when on the rows of a stream are needed (S35)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from hydrograph.compile.reporting import Counted, Everything, Timed
from hydrograph.live.evaluate.whole_windows import Evaluator
from hydrograph.live.step.records import CountWindowStart
from hydrograph.live.step.report_timeline import BEGINNING
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Instant


def needed_from(evaluator: Evaluator, frontier: int, cuts: Mapping[str, CountWindowStart]) -> dict[Iri, Instant | None]:
    """Return the earliest time of each stream that a report from `frontier` on can show; None where all are needed."""
    found: dict[Iri, Instant | None] = {}
    for window in evaluator.plan.query.windows:
        assert window.name is not None
        first = _of_window(evaluator, window.name, frontier, cuts)
        if window.stream in found:
            known = found[window.stream]
            found[window.stream] = None if first is None or known is None else min(first, known)
        else:
            found[window.stream] = first
    return found


def needed_behind(evaluator: Evaluator, settled: int, emitted: int) -> int:
    """Return the frontier behind which an element has to leave so that reports to come can show it.

    What is settled may be reported yet (A1); where leaving is reported, it is at the frontier itself; and changes that
    the program makes itself are against the report before.
    """
    domain = evaluator.domain
    if evaluator.whole:
        return min(settled, emitted - 1) if domain.by_rank else BEGINNING
    return min(settled, emitted) - int(domain.reports_leaving)


def _of_window(
    evaluator: Evaluator, window: Iri, frontier: int, cuts: Mapping[str, CountWindowStart]
) -> Instant | None:
    plan = evaluator.plan
    match plan.sights[window]:
        case Timed(grid, delay):
            if evaluator.domain.by_rank:
                # Changes that the program makes itself are against the report before.
                rank = frontier - int(evaluator.whole)
                shift = (grid.first_close - plan.grid.first_close) // plan.grid.step
                return grid.open(rank - shift) - delay
            return frontier - delay - grid.width - grid.step if frontier > BEGINNING else None
        case Counted():
            return cuts[window.value].t if window.value in cuts else None
        case Everything():
            return None
        case other:
            assert_never(other)
