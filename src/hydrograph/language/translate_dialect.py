"""Translation of a query to another dialect, with a list of what it does not preserve.

A query keeps its meaning if the new text parses to the same algebra (`window_views.normal`) and the profiles of both
texts agree in every setting that can affect the query. Every translation is verified by parsing it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import assert_never

from hydrograph.algebra.empty_averages import averages_of_nothing
from hydrograph.algebra.queries import ContinuousQuery, StreamOperator
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.errors import UnsupportedError
from hydrograph.language import parse
from hydrograph.language.describe import describe_profile
from hydrograph.language.dialects import DIALECTS
from hydrograph.language.window_views import normal
from hydrograph.windows.profile import Profile, preset
from hydrograph.windows.report import When


@dataclass(frozen=True, slots=True)
class Rewording:
    """Text of a query in another dialect; `lost` lists what it does not preserve."""

    text: str
    lost: tuple[str, ...]
    preset: str | None
    """The preset under which the new text behaves like the old one, if there is one."""


def reword(query: ContinuousQuery, to: str, profile: Profile) -> Rewording:
    """Return `query`, which follows `profile`, in the dialect `to`; refuse features that it cannot express."""
    dialect = DIALECTS[to]
    target = preset(dialect.preset)
    said = dialect.printer.view(_outspoken(query, profile, target))
    lost: list[str] = []
    refused: list[str] = []
    for part, sentence in dialect.printer(said).lacks():
        match part:
            case "operator":
                said = replace(said, operator=None)  # the profile differences below show whether that changes anything
            case "name":
                said = replace(said, name=None)
                lost.append(sentence)
            case "every":
                said = replace(said, every=None)  # the reports below differ
            case "windows" | "dataset" | "template":
                refused.append(sentence)
    if refused:
        raise UnsupportedError(f"cannot translate to {dialect.title}: {'; '.join(dict.fromkeys(refused))}")
    text = dialect.printer(said).text()
    back = parse(text, to)
    assert asked(back) == asked(query), f"printed as {to}, this query has another algebra:\n{text}"
    lost += _order_of_streams(query, back)
    own = effective(query, profile)
    lost += _profile_differences(own, effective(back, target), dialect.title)
    return Rewording(text, tuple(lost), profile.name if effective(back, profile) == own else None)


def asked(query: ContinuousQuery) -> ContinuousQuery:
    """Return a query without its name and without what `effective` covers."""
    return replace(normal(query), name=None, operator=None, every=None)


def effective(query: ContinuousQuery, profile: Profile) -> Profile:
    """Return the profile of a query without its name; settings that cannot affect the query are as in `NEUTRAL`."""
    own = replace(profile.of(query), name="")
    if not query.windows:
        return replace(NEUTRAL, operator=own.operator)  # nothing streams, so nothing is ever reported again
    definitions = [profile.windowing(window.definition) for window in query.windows]
    if own.operator is StreamOperator.RSTREAM:
        own = replace(own, r2s_set=NEUTRAL.r2s_set)
    if not any(isinstance(window.definition, TimeWindow) and window.definition.slide for window in query.windows):
        own = replace(own, keep_slide=NEUTRAL.keep_slide)
    if not any(isinstance(window.definition, TimeWindow) for window in query.windows):
        own = replace(own, evict=NEUTRAL.evict)
    if not any(averages_of_nothing(query.pattern)):
        own = replace(own, zero_average=NEUTRAL.zero_average)
    if not any(_depends_on_alignment(definition, own.report.when) for definition in definitions):
        own = replace(own, align=NEUTRAL.align)
    if any(isinstance(definition, CountWindow) for definition in definitions):
        own = replace(own, tick=NEUTRAL.tick)  # count windows always take single arrivals (A5)
    return own


def _depends_on_alignment(definition: WindowDefinition, when: When) -> bool:
    """Return whether elements at t0 matter (S6): not for tumbling windows, nor if no window ever closes."""
    match definition:
        case TimeWindow(width, slide):
            return slide != width and (slide is not None or when is When.WINDOW_CLOSE)
        case PastWindow(start, end, slide):
            return slide != start - end
        case CountWindow() | NowWindow() | AllWindow():
            return False
        case _:
            assert_never(definition)


NEUTRAL = Profile(name="")


def _outspoken(query: ContinuousQuery, profile: Profile, target: Profile) -> ContinuousQuery:
    """Return the query with an explicit stream operator, if the default of the other dialect differs."""
    operator = query.operator or profile.operator
    return query if query.operator is None and operator is target.operator else replace(query, operator=operator)


def _order_of_streams(query: ContinuousQuery, back: ContinuousQuery) -> Iterator[str]:
    """Yield a note if the order of streams changes, which breaks ties between events of one instant (A5)."""
    before, after = (tuple(dict.fromkeys(window.stream for window in one.windows)) for one in (query, back))
    if before != after:
        yield "the order of the streams, in which events of one instant enter"


def _profile_differences(own: Profile, other: Profile, title: str) -> Iterator[str]:
    """Yield the settings in which two profiles differ."""
    if own == other:
        return
    here, there = describe_profile(own), describe_profile(other)
    yield from (
        f"{setting}: {words}; in {title} {there[setting]}" for setting, words in here.items() if words != there[setting]
    )
