"""How much of what is due one batch settles (S34): after a long silence millions of reports may be.

The units of a batch are in memory together. So time goes on by some reports at most for each batch, and the others
follow in batches of their own, for which nothing is read. What is reported does not depend on that (A7): a watermark
that stays behind only makes elements later that would be too late.
"""

from __future__ import annotations

from fractions import Fraction

from hydrograph.compile.reporting import Timed
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.temporal import Instant
from hydrograph.windows.report import When

MOST = 10_000
"""Reports that a batch settles at most; a report for each element is as many as have come, and not counted here."""


def end_of_portion(
    domain: ReportTimeline, settled: int | None, span: tuple[Instant, Instant], until: Instant | None
) -> Instant | None:
    """Return the watermark at which a batch stops; None if it may go as far as `until`.

    `settled` is the frontier so far, `span` the earliest and the newest time of all elements: windows that show none of
    those are not reported (A1). Without `until` everything is due that they show.
    """
    if domain.plan.profile.report.when is When.CONTENT_CHANGE:
        return None
    held = dict.fromkeys(domain.plan.sights, span)
    if domain.by_rank:
        ranks = domain.ranks(held)
        start = max(ranks.start, settled or 0)
        end = ranks.end if until is None else min(ranks.end, domain.settled(until))
        return domain.plan.grid.close(start + MOST - 1) if end - start > MOST else None
    last = domain.last(held)
    assert last is not None
    begin = max(span[0], domain.plan.t0, BEGINNING if settled is None else settled)
    length = max(1, int(MOST / _reports_per_millisecond(domain)))
    return begin + length if (last if until is None else min(last, until)) - begin > length else None


def _reports_per_millisecond(domain: ReportTimeline) -> Fraction:
    """Return how many closes or periods there are at most."""
    policy = domain.plan.profile.report
    if policy.when is When.PERIODIC and policy.period:
        return Fraction(1, policy.period)
    steps = [sight.grid.step for sight in domain.plan.sights.values() if isinstance(sight, Timed)]
    return sum((Fraction(1, step) for step in steps), Fraction(1, MOST * 2**40))
