"""Watermark (S32), the event time up to which every element is known, and the decision about a batch that it leads to.

The driver records the decision before the batch is processed (A8): plausible times, watermark, t0, and the number of
reports of the batch. Processing the batch again after a crash therefore gives the same reports. Pure: the wall clock
enters only as the set of idle partitions, which the driver decides and records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction

from hydrograph.compile.inputs import TimeVisibility
from hydrograph.live.step.quarantine import Plausible, check_times
from hydrograph.live.step.records import (
    Decision,
    InputBatch,
    Partition,
    QueryRecord,
    QuerySpec,
    end_offsets,
    start_offsets,
)
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.live.step.state import State
from hydrograph.temporal import END_OF_TIME, Duration, Instant
from hydrograph.windows.report import When


def compute_watermark(
    newest: Mapping[Partition, Instant],
    partitions: Collection[Partition],
    idle: Collection[Partition],
    ended: Collection[Partition],
    delay: Duration,
) -> Instant | None:
    """Return the smallest event time reached by any partition, minus the lateness; None while one has no element.

    Partitions that have ended or are idle do not count. If all have ended, the watermark is `END_OF_TIME`. If all are
    idle there is none; the step then closes the windows that hold elements.

    >>> compute_watermark({"a": 10, "b": 7}, ["a", "b"], [], [], 2)
    5
    >>> compute_watermark({"a": 10}, ["a", "b"], ["b"], [], 2)
    8
    """
    if all(partition in ended for partition in partitions):
        return END_OF_TIME
    waiting = [partition for partition in partitions if partition not in ended and partition not in idle]
    if not waiting or any(partition not in newest for partition in waiting):
        return None
    return min(newest[partition] for partition in waiting) - delay


MAX_REPORTS = 10_000
"""Reports that one batch makes at most; content change makes one for each element, which is not limited here."""


def decide(
    query: QuerySpec,
    timeline_at: Callable[[Instant], ReportTimeline],
    state: State,
    batches: Sequence[InputBatch],
    record: QueryRecord,
    *,
    idle: Collection[Partition] = (),
    ended: Collection[Partition] = (),
    static: int | None = None,
) -> Decision:
    """Return the decision about a batch.

    `timeline_at` returns the timeline of the query for a t0. `idle` and `ended` are partitions that the driver knows to
    be so. `static` is the version of the static data, if it changes with this batch.
    """
    before = record.decision
    batches = [batch.drop_invalid_times() for batch in batches]
    times = check_times(state, batches, before, query.lateness)
    quiet = tuple(sorted({*idle} - {batch.name for batch in batches if batch.events.num_rows}))
    watermark = compute_watermark(times.newest, query.partitions, quiet, ended, query.lateness.delay)
    flush = watermark is None and all(each in quiet or each in ended for each in query.partitions)
    if watermark is None or (before.watermark is not None and before.watermark > watermark):
        watermark = before.watermark  # a watermark never goes back
    until = None if flush else watermark
    t0 = _place_windows(query, before, times.first, until, flush=flush)
    limit = None
    if t0 is not None and (flush or watermark is not None):
        limit = _limit_reports(timeline_at(t0), record.settled, times, until)
    return Decision(
        batch=before.batch + 1,
        start={**before.end, **start_offsets(batches)},
        end={**before.end, **end_offsets(batches)},
        newest=times.newest,
        idle=quiet,
        ended=tuple(sorted(ended)),
        held_back=times.held_back,
        refused=times.refused,
        watermark=watermark if limit is None else limit,
        first=times.first,
        t0=t0,
        flush=flush and limit is None,
        more=limit is not None,
        static=before.static if static is None else static,
    )


def _place_windows(
    query: QuerySpec, before: Decision, first: Instant | None, watermark: Instant | None, *, flush: bool
) -> Instant | None:
    """Return t0: given, decided before, or the first element once it is known to be the first (A2).

    An element is the first, in whatever order they arrive, once the watermark has reached it.
    """
    if before.t0 is not None:
        return before.t0
    if query.plan.is_placed:
        return query.plan.t0
    if first is not None and (flush or (watermark is not None and first <= watermark)):
        return query.plan.profile.start_at(first)
    return None


def _limit_reports(
    timeline: ReportTimeline, settled: int | None, times: Plausible, until: Instant | None
) -> Instant | None:
    if times.first is None:
        return None
    return limit_batch(timeline, settled, (times.first, max(times.newest.values())), until)


def limit_batch(
    timeline: ReportTimeline, settled: int | None, span: tuple[Instant, Instant], until: Instant | None
) -> Instant | None:
    """Return the watermark at which a batch stops; None if it may go as far as `until` (S34).

    After a long silence millions of reports may be due, and the units of a batch are in memory together. So a batch
    makes a limited number of them, and the others follow in batches without input. That does not change the reports
    (A7): a lower watermark only makes fewer elements late.

    `settled` is the frontier so far, `span` the earliest and the newest time of all elements: windows that show none of
    those are not reported (A1). Without `until` every report that they make is due.
    """
    if timeline.plan.profile.report.when is When.CONTENT_CHANGE:
        return None
    held = dict.fromkeys(timeline.plan.visibilities, span)
    if timeline.by_rank:
        ranks = timeline.ranks(held)
        start = max(ranks.start, settled or 0)
        end = ranks.end if until is None else min(ranks.end, timeline.settled(until))
        return timeline.plan.grid.close(start + MAX_REPORTS - 1) if end - start > MAX_REPORTS else None
    last = timeline.last(held)
    assert last is not None
    begin = max(span[0], timeline.plan.t0, BEGINNING if settled is None else settled)
    length = max(1, int(MAX_REPORTS / _reports_per_millisecond(timeline)))
    return begin + length if (last if until is None else min(last, until)) - begin > length else None


def _reports_per_millisecond(timeline: ReportTimeline) -> Fraction:
    """Return the highest rate of closes or periods."""
    policy = timeline.plan.profile.report
    if policy.when is When.PERIODIC and policy.period:
        return Fraction(1, policy.period)
    steps = [
        visibility.grid.step
        for visibility in timeline.plan.visibilities.values()
        if isinstance(visibility, TimeVisibility)
    ]
    return sum((Fraction(1, step) for step in steps), Fraction(1, MAX_REPORTS * 2**40))
