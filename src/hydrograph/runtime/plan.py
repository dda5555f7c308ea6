"""From query text to a program: dialect, profile, window grids, optimised algebra, SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hydrograph.algebra.nodes import Bgp, Filter, Join, Pattern, Project, Window
from hydrograph.algebra.queries import ContinuousQuery, Select, StreamOperator
from hydrograph.algebra.walk import children
from hydrograph.algebra.windows import TimeWindow
from hydrograph.compile.compiler import answer_columns, compile_query, has_order
from hydrograph.compile.context import Inputs
from hydrograph.compile.program import (
    DOMAIN,
    GRAPHS,
    QUADS,
    STATIC,
    Chunking,
    Program,
    SetMaking,
    StaticInput,
    StreamInput,
)
from hydrograph.errors import QueryError, UnsupportedError
from hydrograph.language.words import in_words
from hydrograph.optimizer import RULES, Rule, optimize
from hydrograph.rdf.terms import Iri
from hydrograph.temporal import Instant, Interval
from hydrograph.windows.profile import Profile
from hydrograph.windows.report import When
from hydrograph.windows.scope import Grid


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the recorded data before a program is made for it."""

    set_making: Mapping[Iri, SetMaking]
    """How the repeats of each stream are cut."""
    static: bool = False
    """Whether a static default graph is given."""
    broadcast: bool = True
    exact_numbers: bool = False
    named: bool = False
    """Whether static named graphs are given."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A query with its windows placed in time; what is left is data."""

    query: ContinuousQuery
    profile: Profile
    operator: StreamOperator
    t0: Instant
    grid: Grid
    """The reports: rank k is `grid.close(k)` (S18)."""
    windows: Mapping[Iri, Grid]
    pattern: Pattern

    def program(
        self, facts: Facts, chunking: Chunking | None = None, keys: tuple[str, ...] = (), prefix: str = ""
    ) -> Program:
        """Return the program that answers the query over data of this kind; its tables' names start with `prefix`."""
        windows: dict[Iri | None, StreamInput] = {}
        for number, window in enumerate(self.query.windows):
            if window.name is None:
                raise UnsupportedError("a window without a name is not supported yet")
            making = facts.set_making.get(window.stream, SetMaking.LEAD)
            grid = self.windows[window.name]
            shift = (grid.first_close - self.grid.first_close) // self.grid.step
            windows[window.name] = StreamInput(f"{prefix}w{number}", window.stream, grid, shift, making)
        inputs = Inputs(
            windows,
            {None: StaticInput(f"{prefix}{STATIC}")} if facts.static else {},
            keys=keys,
            chunking=chunking,
            broadcast=facts.broadcast,
            exact_numbers=facts.exact_numbers,
            quads=StaticInput(f"{prefix}{QUADS}") if facts.named else None,
            graphs=StaticInput(f"{prefix}{GRAPHS}") if facts.named else None,
            merged=self.query.dataset.default if facts.named else (),
            only=self.query.dataset.named if self.query.dataset.default or self.query.dataset.named else None,
            domain=f"{prefix}{DOMAIN}",
        )
        query = ContinuousQuery(self.query.form, self.pattern, self.query.windows, self.query.dataset)
        return compile_query(query, inputs, self.operator, set_differences=self.profile.r2s_set)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the answer's columns."""
        return tuple(variable.name for variable in answer_columns(self.query))

    @property
    def is_ordered(self) -> bool:
        """Whether the rows of a report have an order of their own."""
        return self.operator is StreamOperator.RSTREAM and has_order(self.query)

    def scope(self, rank: int) -> Interval | None:
        """Return the window a report belongs to, None where windows of different scopes close together (A11)."""
        return self.grid.scope(rank) if len(set(self.windows.values())) == 1 else None

    def window_leaves(self) -> int:
        """Return how many triple patterns read windows: joins of two or more are worth chunks."""
        return _window_leaves(self.pattern)


def plan(query: ContinuousQuery, profile: Profile, t0: Instant, rules: tuple[Rule, ...] = RULES) -> Plan:
    """Place the windows of a query in time and optimise its pattern."""
    if query.every is not None:
        raise UnsupportedError("COMPUTED EVERY is not supported yet; reports come when a window closes")
    if profile.report.when is not When.WINDOW_CLOSE or profile.report.non_empty:
        raise UnsupportedError(f"the report strategy of preset {profile.name!r} is not supported yet")
    if not query.windows:
        raise QueryError("expected a window (FROM NAMED WINDOW … ON … [RANGE … STEP …]), got a query without one")
    grids: dict[Iri, Grid] = {}
    for window in query.windows:
        definition = profile.windowing(window.definition)
        if window.name is None:
            raise UnsupportedError(
                f"windows that feed the default graph, such as that of <{window.stream.value}>, are not supported yet; "
                "look into them with WINDOW blocks (RSP-QL)"
            )
        if not isinstance(definition, TimeWindow) or definition.slide is None:
            raise UnsupportedError(f"{in_words(definition)} is not supported yet; give it RANGE and STEP")
        grids[window.name] = Grid.of(definition, t0, profile.align)
    operator = query.operator or profile.operator
    return Plan(query, profile, operator, t0, _reports(list(grids.values())), grids, optimize(query.pattern, rules))


def _reports(grids: list[Grid]) -> Grid:
    """Return the grid of the reports: that of the window which closes first, if all closes fall on it (S31)."""
    first = min(grids, key=lambda grid: grid.first_close)
    for grid in grids:
        if grid.step != first.step or (grid.first_close - first.first_close) % first.step:
            raise UnsupportedError("several windows with different closes are not supported yet; give them one STEP")
    return first


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
