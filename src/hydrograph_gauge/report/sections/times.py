"""Times on axes and in titles: windows of a recorded stream and windows by the clock share an axis from 0."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hydrograph_gauge.report.document import Axis
from hydrograph_gauge.report.run_data import WindowScore

DAY = 86_400_000
"""Times further from 0 than this are dates."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def base(found: Iterable[WindowScore]) -> int:
    """Return the offset of the times of an engine's windows: the first opening if that is a date, else 0."""
    times = [each.t if each.open is None else each.open for each in found if each.t is not None]
    first = min(times, default=0)
    return first if abs(first) >= DAY else 0


def axis(bases: Iterable[int]) -> Axis:
    """Return the axis of times with these offsets."""
    label = "time since the first window opened" if any(bases) else "event time"
    return Axis(label, "seconds", "s")


def span(start: int, end: int) -> str:
    """Return a half-open interval in milliseconds, or as dates.

    >>> span(0, 5000), span(1264982400000, 1264982405500)
    ('[0, 5,000) ms', '[2010-02-01 00:00:00, 00:00:05.500) UTC')
    """
    if max(abs(start), abs(end)) < DAY:
        return f"[{start:,}, {end:,}) ms"
    one, other = instant(start), instant(end)
    same, _, rest = other.partition(" ")
    return f"[{one}, {rest if one.startswith(same) else other}) UTC"


def instant(t: int) -> str:
    """Return a time as a date, with milliseconds where it has some; times out of the calendar stay numbers."""
    try:
        when = _EPOCH + timedelta(milliseconds=t)
    except OverflowError:
        return f"{t:,} ms"
    return f"{when:%Y-%m-%d %H:%M:%S}" + (f".{t % 1000:03}" if t % 1000 else "")
