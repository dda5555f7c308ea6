"""Semantic profiles: what an engine adds to a query's text (report, tick, t0, alignment, output), as data (A2, A3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

from hydrograph.algebra.empty_averages import with_unbound_averages
from hydrograph.algebra.nodes import Pattern
from hydrograph.algebra.queries import ContinuousQuery, StreamOperator
from hydrograph.algebra.windows import AllWindow, TimeWindow, WindowDefinition
from hydrograph.errors import UsageError
from hydrograph.temporal import SECOND, Duration, Instant
from hydrograph.windows.report import ON_CLOSE, Multi, Policy, When
from hydrograph.windows.scope import Align
from hydrograph.windows.stream import Element
from hydrograph.windows.tick import Tick


class Origin(StrEnum):
    """Position of t0 where none is given (S9, A2)."""

    EPOCH = "epoch"
    REGISTRATION = "registration"
    FIRST_EVENT = "first-event"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOverrides:
    """Parts that replace those of a profile; None keeps a part. Options and checkpoints take their list from here."""

    report: When | None = None
    every: Duration | None = None
    """Reports at this period."""
    expiry: bool | None = None
    non_empty: bool | None = None
    multi: Multi | None = None
    tick: Tick | None = None
    origin: Origin | None = None
    align: Align | None = None
    operator: StreamOperator | None = None
    r2s_set: bool | None = None
    emit_empty: bool | None = None
    keep_slide: bool | None = None
    zero_average: bool | None = None

    @classmethod
    def types(cls) -> dict[str, Callable[[Any], Any]]:
        """Return the type of each part."""
        return {name: get_args(hint)[0] for name, hint in get_type_hints(cls).items()}

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ProfileOverrides:
        """Return overrides from plain values, as options and stored queries have them.

        >>> ProfileOverrides.from_values({"tick": "tuple", "expiry": None}).tick
        <Tick.TUPLE: 'tuple'>
        """
        types = cls.types()
        return cls(**{name: types[name](value) for name, value in values.items() if value is not None})

    def values(self) -> dict[str, Any]:
        """Return the parts that are given."""
        return {name: value for name in self.types() if (value := getattr(self, name)) is not None}


_REPORT_PARTS = {
    "report": "when",
    "every": "period",
    "expiry": "expiry",
    "non_empty": "non_empty",
    "multi": "multi",
}
"""Overrides that belong to the report policy, with their names there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The semantic profile of an engine or a dialect."""

    name: str
    report: Policy = ON_CLOSE
    tick: Tick = Tick.TIME
    origin: Origin = Origin.EPOCH
    origin_floor: Duration = 1
    """A t0 taken from the first event is rounded down to a multiple of this (A2)."""
    align: Align = Align.OPEN
    operator: StreamOperator = StreamOperator.RSTREAM
    """The stream operator of a query that names none."""
    r2s_set: bool = False
    """True takes set differences for Istream and Dstream (S29)."""
    emit_empty: bool = True
    """False leaves out reports whose answer is empty (S14)."""
    keep_slide: bool = True
    """False ignores the slide of time windows: they slide continuously (S10)."""
    zero_average: bool = True
    """False leaves AVG over no rows unbound; SPARQL defines it as 0 (S25)."""
    evict: bool = True
    """False keeps every element since t0 in time windows: a published fault, and no meaning that a language gives."""

    def start(self, elements: Iterable[Element], t0: Instant | None = None) -> Instant:
        """Return the t0 of a replay: the one given, else by its origin (A2).

        Registration has no meaning in replay, so it is the first event in canonical order; 0 if there is none.
        """
        return self.start_at(min((element.t for element in elements), default=None)) if t0 is None else t0

    def start_at(self, first: Instant | None) -> Instant:
        """Return the t0 of the origin, given the time of the first event."""
        if self.origin is Origin.EPOCH or first is None:
            return 0
        return first - first % self.origin_floor

    def of(self, query: ContinuousQuery) -> Profile:
        """Return the profile with the settings in the text of a query: its stream operator and its period (S13)."""
        operator = self.operator if query.operator is None else query.operator
        if query.every is None:
            return replace(self, operator=operator)
        report = replace(self.report, when=When.PERIODIC, period=query.every, expiry=False)
        return replace(self, operator=operator, report=report)

    def with_overrides(self, overrides: ProfileOverrides) -> Profile:
        """Return the profile with some parts replaced.

        >>> overrides = ProfileOverrides(tick=Tick.TUPLE)
        >>> CSPARQL.with_overrides(overrides).tick, CSPARQL.with_overrides(ProfileOverrides()) is CSPARQL
        (<Tick.TUPLE: 'tuple'>, True)
        """
        parts = overrides.values()
        if not parts:
            return self
        if overrides.every is not None:
            parts.setdefault("report", When.PERIODIC)
        report = {_REPORT_PARTS[name]: parts.pop(name) for name in _REPORT_PARTS if name in parts}
        return replace(self, name=f"{self.name}, changed", report=replace(self.report, **report), **parts)

    def reading(self, pattern: Pattern) -> Pattern:
        """Return a pattern as this profile reads it."""
        return pattern if self.zero_average else with_unbound_averages(pattern)

    def windowing(self, definition: WindowDefinition) -> WindowDefinition:
        """Return the window as this profile reads it."""
        if not isinstance(definition, TimeWindow):
            return definition
        if not self.evict:
            return AllWindow()
        return definition if self.keep_slide else replace(definition, slide=None)


RSPQL = Profile(name="rspql")
CSPARQL = Profile(name="csparql", report=Policy(non_empty=True), origin=Origin.REGISTRATION, origin_floor=SECOND)
CQELS = Profile(
    name="cqels",
    report=Policy(When.CONTENT_CHANGE),
    tick=Tick.TUPLE,
    origin=Origin.REGISTRATION,
    operator=StreamOperator.ISTREAM,
    r2s_set=True,
    emit_empty=False,
    keep_slide=False,
)

PRESETS: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            RSPQL,
            CSPARQL,
            replace(CSPARQL, name="csparql-engine", align=Align.CLOSE),
            CQELS,
            replace(CQELS, name="cqels-cloud", report=Policy(When.CONTENT_CHANGE, expiry=True)),
            # CQELS of March 2013, as Dell'Aglio, Balduini and Della Valle observed it (BeRSys 2013, experiment 2).
            replace(CQELS, name="cqels-published", evict=False),
            Profile(name="sparqlstream", origin=Origin.REGISTRATION, zero_average=False),
        )
    }
)

ORACLES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            # Window i is [max(0, i·slide - size), i·slide): those that the stream has not filled yet are reported too.
            replace(RSPQL, name="yabench-close", align=Align.CLOSE),
            # At each new time t the window is [k·slide, t] with the smallest k whose window holds t.
            replace(CQELS, name="yabench-change", tick=Tick.TIME, origin=Origin.EPOCH, keep_slide=True),
        )
    }
)
"""Profiles that oracles of other testbeds expect, and no engine has."""


def preset(name: str) -> Profile:
    """Return a preset by name, or what another testbed's oracle expects."""
    known = {**PRESETS, **ORACLES}
    if name not in known:
        raise UsageError(f"no preset named {name!r}; presets: {', '.join(known)}")
    return known[name]
