"""From query text to a program: dialect, profile, windows placed in time, optimised algebra, SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from hydrograph.algebra.expressions import Call, Constant, Expression
from hydrograph.algebra.nodes import Bgp, Filter, Join, PathPattern, Pattern, Project, Values, Window
from hydrograph.algebra.queries import ContinuousQuery, NamedWindow, Select, StreamOperator
from hydrograph.algebra.walk import children, expressions, operands, subpatterns
from hydrograph.algebra.windows import AllWindow, CountWindow, NowWindow, PastWindow, TimeWindow, WindowDefinition
from hydrograph.compile.compiler import answer_columns, compile_query, has_order
from hydrograph.compile.inputs import (
    CLOSES,
    DOMAIN,
    GRAPHS,
    QUADS,
    STATIC,
    AllVisibility,
    Chunking,
    CountUnit,
    CountVisibility,
    Deduplication,
    Inputs,
    StaticInput,
    StreamInput,
    Timeline,
    TimeVisibility,
    Visibility,
)
from hydrograph.compile.program import Program
from hydrograph.errors import QueryError, UnsupportedError
from hydrograph.optimizer import RULES, Rule, optimize
from hydrograph.rdf.terms import Iri, Literal
from hydrograph.rdf.vocab import XSD_DOUBLE, XSD_FLOAT
from hydrograph.temporal import Duration, Instant, Interval
from hydrograph.windows.content import WindowedStream, place
from hydrograph.windows.profile import Origin, Profile
from hydrograph.windows.report import EVERYTHING, Multi, Policy, Range, When, check_closing, scope_at
from hydrograph.windows.scope import Grid
from hydrograph.windows.tick import Tick

_TYPES = frozenset({XSD_FLOAT, XSD_DOUBLE})
_MAKERS = frozenset({"RAND", "STRDT", *map(Iri, _TYPES)})
"""Functions whose value may be a float or a double although no argument is: STRDT makes terms of any type."""


def makes_inexact(pattern: Pattern) -> bool:
    """Tell whether a solution may bind a float or a double that is not in the data."""
    return any(_in_values(node) or any(map(_in_expression, expressions(node))) for node in subpatterns(pattern))


def _in_values(node: Pattern) -> bool:
    match node:
        case Values(_, rows):
            return any(_is_inexact(term) for row in rows for term in row)
        case PathPattern(subject, _, target):
            return _is_inexact(subject) or _is_inexact(target)  # a path of no steps binds its own end
        case _:
            return False


def _in_expression(expression: Expression) -> bool:
    match expression:
        case Constant(term):
            return _is_inexact(term)
        case Call(function, _) if function in _MAKERS:
            return True
        case _:
            return any(map(_in_expression, operands(expression)))


def _is_inexact(term: object) -> bool:
    return isinstance(term, Literal) and term.datatype in _TYPES


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the recorded data before a program is made for it."""

    deduplication: Mapping[Iri, Deduplication]
    """How the repeats of each stream are cut."""
    static: bool = False
    """Whether a static default graph is given."""
    broadcast: bool = True
    exact_numbers: bool = False
    """Whether neither streams nor static data hold floats and doubles."""
    named: bool = False
    """Whether static named graphs are given."""
    within: Range = EVERYTHING
    """The reports that are asked for, where they form no grid."""
    bucket: Duration = 1
    """How many milliseconds running sums take at a time, see `Timeline`."""
    moving: bool = False
    """Whether the same program is run again and again for other reports, see `Timeline`."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A query with its windows placed in time; what is left is data."""

    query: ContinuousQuery
    """Every window has a name here, also those in `feeding`."""
    profile: Profile
    """The profile, with the settings in the text of the query applied."""
    t0: Instant
    pattern: Pattern
    feeding: tuple[Iri, ...] = ()
    """The windows that feed the default graph."""
    is_placed: bool = True
    """False until the first event has told t0, see `starting`."""
    visibilities: Mapping[Iri, Visibility] = field(default_factory=dict)
    reports: Grid | None = None
    """The reports: rank k is `close(k)` (S18); None where they form no grid."""

    @property
    def operator(self) -> StreamOperator:
        """What is made of the answers."""
        return self.profile.operator

    @property
    def grid(self) -> Grid:
        """The grid of the reports, where they form one."""
        assert self.reports is not None, "the reports of this query form no grid"
        return self.reports

    @property
    def tick(self) -> Tick:
        """The tick in force: count windows live on single arrivals, whatever the profile (S11, A5)."""
        counts = any(isinstance(window.definition, CountWindow) for window in self.query.windows)
        return Tick.TUPLE if counts else self.profile.tick

    @property
    def windows(self) -> Mapping[Iri, Grid]:
        """The time windows, in the time of their elements: a past window holds them `delay` before it is reported."""
        found = {}
        for name, visibility in self.visibilities.items():
            if isinstance(visibility, TimeVisibility):
                found[name] = replace(visibility.grid, t0=visibility.grid.t0 - visibility.delay)
        return found

    def starting(self, first: Instant | None) -> Plan:
        """Return the plan placed by the time of the first event, if t0 is not given (A2)."""
        if self.is_placed:
            return self
        return _placed(replace(self, t0=self.profile.start_at(first), is_placed=True))

    def program(
        self, facts: Facts, chunking: Chunking | None = None, keys: tuple[str, ...] = (), prefix: str = ""
    ) -> Program:
        """Return the program that answers the query over data of this kind; its tables' names start with `prefix`."""
        named = zip(self.query.windows, self.inputs(facts, prefix), strict=True)
        windows: dict[Iri | None, StreamInput] = {window.name: source for window, source in named}
        timeline = None
        if self.reports is None:
            timeline = Timeline(
                policy=self.profile.report,
                tick=self.tick,
                t0=self.t0,
                closes=f"{prefix}{CLOSES}",
                after=facts.within.after,
                until=facts.within.until,
                bucket=facts.bucket,
                shared=self.window_leaves() > 1,
                moving=facts.moving,
            )
        inputs = Inputs(
            windows,
            {None: StaticInput(f"{prefix}{STATIC}")} if facts.static else {},
            keys=keys,
            chunking=chunking,
            broadcast=facts.broadcast,
            exact_numbers=facts.exact_numbers and not makes_inexact(self.pattern),
            quads=StaticInput(f"{prefix}{QUADS}") if facts.named else None,
            graphs=StaticInput(f"{prefix}{GRAPHS}") if facts.named else None,
            merged=self.query.dataset.default if facts.named else (),
            only=self.query.dataset.named if self.query.dataset.default or self.query.dataset.named else None,
            domain=f"{prefix}{DOMAIN}",
            feeding=self.feeding,
            timeline=timeline,
        )
        query = ContinuousQuery(self.query.form, self.pattern, self.query.windows, self.query.dataset)
        return compile_query(query, inputs, self.operator, set_differences=self.profile.r2s_set)

    def inputs(self, facts: Facts, prefix: str = "") -> list[StreamInput]:
        """Return what a program may read of each window of the query."""
        return [self._input(f"{prefix}w{number}", window, facts) for number, window in enumerate(self.query.windows)]

    def _input(self, table: str, window: NamedWindow, facts: Facts) -> StreamInput:
        assert window.name is not None
        visibility = self.visibilities[window.name]
        if self.reports is None:
            ranks = list(dict.fromkeys(each.stream for each in self.query.windows))
            place = ranks.index(window.stream)
            return StreamInput(table, window.stream, None, 0, Deduplication.STAMPED, visibility, place)
        assert isinstance(visibility, TimeVisibility)
        shift = (visibility.grid.first_close - self.reports.first_close) // self.reports.step
        making = facts.deduplication.get(window.stream, Deduplication.LEAD)
        return StreamInput(table, window.stream, self.windows[window.name], shift, making)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the answer's columns."""
        return tuple(variable.name for variable in answer_columns(self.query))

    @property
    def is_ordered(self) -> bool:
        """Whether the rows of a report have an order of their own."""
        return self.operator is StreamOperator.RSTREAM and has_order(self.query)

    @property
    def needs_content(self) -> bool:
        """Whether reports that form a grid are left out where no window has content (S13)."""
        return self.reports is not None and self.profile.report.non_empty

    def scope(self, rank: int) -> Interval | None:
        """Return the window a report belongs to, None where windows of different scopes close together (A11)."""
        if len(set(self.visibilities.values())) > 1:
            return None
        return next(iter(self.windows.values())).scope(rank)

    def scope_at(self, t: Instant) -> Interval | None:
        """Return the window that a report at a time belongs to, where the reports form no grid (A11)."""
        if self.profile.report.when is not When.WINDOW_CLOSE:
            return None
        windows = [WindowedStream(window.definition, (), 0, *self._grid(window)) for window in self.query.windows]
        return scope_at(windows, t)

    def _grid(self, window: NamedWindow) -> tuple[Grid | None, Duration]:
        assert window.name is not None
        visibility = self.visibilities[window.name]
        return (visibility.grid, visibility.delay) if isinstance(visibility, TimeVisibility) else (None, 0)

    def window_leaves(self) -> int:
        """Return how many triple patterns read windows: joins of two or more are worth chunks."""
        return _window_leaves(self.pattern, inside=bool(self.feeding))


def plan(query: ContinuousQuery, profile: Profile, t0: Instant | None, rules: tuple[Rule, ...] = RULES) -> Plan:
    """Place the windows of a query in time and optimise its pattern.

    Without t0 the profile decides where it lies; if that is at the first event, the plan is still to be placed.
    """
    if not query.windows:
        raise QueryError("expected a window (FROM NAMED WINDOW … ON … [RANGE … STEP …]), got a query without one")
    profile = profile.of(query)
    windows: list[NamedWindow] = []
    feeding: list[Iri] = []
    for number, window in enumerate(query.windows, 1):
        name = window.name
        if name is None:
            name = Iri(f"urn:hydrograph:default-graph:{number}")
            feeding.append(name)
        windows.append(replace(window, name=name, definition=profile.windowing(window.definition)))
    known = 0 if t0 is None and profile.origin is Origin.EPOCH else t0
    planned = Plan(
        query=replace(query, windows=tuple(windows)),
        profile=profile,
        t0=0 if known is None else known,
        pattern=optimize(profile.reading(query.pattern), rules),
        feeding=tuple(feeding),
        is_placed=known is not None,
    )
    return _placed(planned)


def _placed(planned: Plan) -> Plan:
    """Lay the windows on the time line from t0 on."""
    profile = planned.profile
    visibilities: dict[Iri, Visibility] = {}
    for window in planned.query.windows:
        assert window.name is not None
        placed = place(window.definition, (), t0=planned.t0, align=profile.align)
        visibilities[window.name] = _visibility(window.definition, placed, planned.tick)
    grids = [
        visibility.grid if isinstance(visibility, TimeVisibility) else None for visibility in visibilities.values()
    ]
    policy = profile.report
    if policy.when is When.WINDOW_CLOSE:
        check_closing(grids, policy.multi)
    elif policy.when is When.PERIODIC and (policy.period is None or policy.period <= 0):
        raise UnsupportedError(f"periodic reporting needs a period above zero, got {policy.period}; say --every")
    return replace(planned, visibilities=visibilities, reports=_grid_of(policy, profile.operator, grids))


def _visibility(definition: WindowDefinition, placed: WindowedStream, tick: Tick) -> Visibility:
    """Return when a window shows an element."""
    match definition:
        case TimeWindow() | PastWindow():
            assert placed.grid is not None
            return TimeVisibility(placed.grid, placed.delay)
        case CountWindow(size, slide, triples):
            return CountVisibility(size, slide, CountUnit.TRIPLES if triples else CountUnit.ELEMENTS)
        case NowWindow():
            return CountVisibility(1, 1, CountUnit.TIMES if tick is Tick.TIME else CountUnit.ELEMENTS)
        case AllWindow():
            return AllVisibility()
        case _:
            assert_never(definition)


def _grid_of(policy: Policy, operator: StreamOperator, grids: Sequence[Grid | None]) -> Grid | None:
    """Return the grid of the reports: that of the window which closes first, if all closes fall on it (S31).

    Where silent reports are left out, a difference is to the report before (S29), which may not be the window before.
    """
    if policy.when is not When.WINDOW_CLOSE or (policy.non_empty and operator is not StreamOperator.RSTREAM):
        return None
    timed = [grid for grid in grids if grid is not None]
    if len(timed) != len(grids):
        return None
    first = min(timed, key=lambda grid: grid.first_close)
    same = all(grid.step == first.step and not (grid.first_close - first.first_close) % first.step for grid in timed)
    return first if same and (len(set(timed)) == 1 or policy.multi is not Multi.ALL) else None


def _window_leaves(pattern: Pattern, *, inside: bool = False) -> int:
    match pattern:
        case Bgp(patterns):
            return len(patterns) if inside else 0
        case Window(_, inner):
            return _window_leaves(inner, inside=True)
        case _:
            return sum(_window_leaves(child, inside=inside) for child in children(pattern))


def follows_events(plan: Plan) -> bool:
    """Tell whether every answer holds only where an event of the one pattern over a window does.

    Then nothing has to be known of the reports before: none has an answer where there are no events.
    """
    return isinstance(plan.query.form, Select) and plan.window_leaves() == 1 and _follows(plan.pattern)


def _follows(pattern: Pattern) -> bool:
    match pattern:
        case Bgp():
            return True
        case Join() | Filter() | Window() | Project():
            return all(map(_follows, children(pattern)))
        case _:
            return False
