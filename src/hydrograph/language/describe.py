"""Plain-English descriptions of windows and profiles, for messages and notes."""

from __future__ import annotations

from typing import assert_never

from hydrograph.algebra.queries import StreamOperator
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.language.duration import print_short
from hydrograph.windows.profile import Origin, Profile
from hydrograph.windows.report import Multi, Policy, When
from hydrograph.windows.scope import Align
from hydrograph.windows.tick import Tick


def describe_window(definition: WindowDefinition) -> str:
    """Return a description of a window for a message.

    >>> describe_window(TimeWindow(10_000, 5_000)), describe_window(NowWindow())
    ('a window of 10s every 5s', 'the window of the newest instant (NOW)')
    """
    match definition:
        case TimeWindow(width, slide):
            often = "that slides continuously" if slide is None else f"every {print_short(slide)}"
            return f"a window of {print_short(width)} {often}"
        case CountWindow(size, slide, triples):
            return f"a window of the last {size} {'triples' if triples else 'elements'} every {slide}"
        case PastWindow(start, end, slide):
            return f"a window from {print_short(start)} to {print_short(end)} ago every {print_short(slide)}"
        case NowWindow():
            return "the window of the newest instant (NOW)"
        case AllWindow():
            return "the window of all elements since t0 (ALL)"
        case _:
            assert_never(definition)


def describe_profile(profile: Profile) -> dict[str, str]:
    """Return a description of each setting of a profile, by its name.

    >>> describe_profile(Profile(name="mine"))["reports"]
    'when a window closes'
    """
    return {
        "reports": _report(profile.report),
        "answers": _OPERATORS[profile.operator] + _differences(profile),
        "empty answers": "reported" if profile.emit_empty else "not reported",
        "events of one instant": "enter together" if profile.tick is Tick.TIME else "enter one by one",
        "t0": _origin(profile),
        "first windows": "full" if profile.align is Align.OPEN else "partial, one slide after t0",
        "slides of time windows": _slides(profile),
        "AVG of nothing": "0" if profile.zero_average else "unbound",
    }


def _slides(profile: Profile) -> str:
    """Return the description of what time windows do with their width and slide (S10)."""
    if not profile.evict:
        return "ignored, and no event ever leaves its window"
    return "kept" if profile.keep_slide else "ignored, windows slide continuously"


_OPERATORS = {
    StreamOperator.RSTREAM: "all of each report (RSTREAM)",
    StreamOperator.ISTREAM: "those not in the report before (ISTREAM)",
    StreamOperator.DSTREAM: "those gone since the report before (DSTREAM)",
}


def _report(policy: Policy) -> str:
    """Return the description of the report policy (S13)."""
    match policy.when:
        case When.WINDOW_CLOSE:
            words = "when all windows close" if policy.multi is Multi.ALL else "when a window closes"
        case When.CONTENT_CHANGE:
            words = "when an event enters" + (" or leaves" if policy.expiry else "")
        case When.PERIODIC:
            words = "periodically" if policy.period is None else f"every {print_short(policy.period)}"
        case _:
            assert_never(policy.when)
    return f"{words}, if some window has content" if policy.non_empty else words


def _differences(profile: Profile) -> str:
    """Return the description of the stream operator (S29)."""
    if profile.operator is StreamOperator.RSTREAM:
        return ""
    return ", compared as sets" if profile.r2s_set else ", compared as bags"


def _origin(profile: Profile) -> str:
    """Return the default position of t0 (S9)."""
    match profile.origin:
        case Origin.EPOCH:
            return "at the epoch"
        case Origin.FIRST_EVENT:
            words = "at the first event"
        case Origin.REGISTRATION:
            words = "at registration"
        case _:
            assert_never(profile.origin)
    floor = profile.origin_floor
    return words if floor == 1 else f"{words}, rounded down to {print_short(floor)}"
