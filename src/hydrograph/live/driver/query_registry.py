"""Who runs on a checkpoint: queries that join, change and leave while it goes on, and static data that is replaced.

Each change is a turn between two batches (S40, S27). What it takes to make a query again stands in the roster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypedDict

from hydrograph.errors import UsageError
from hydrograph.language import parse
from hydrograph.live.checkpoint.query_store import Definition, Roster, static_fingerprint
from hydrograph.live.driver.batch_loop import Runner
from hydrograph.live.driver.placement_policy import Places
from hydrograph.live.driver.registered_query import Member
from hydrograph.live.evaluate.whole_windows import Evaluator
from hydrograph.live.sources.inputs import Input, check_streams
from hydrograph.live.step.records import Enrolled
from hydrograph.live.step.stepper import Registered, Stepper
from hydrograph.live.step.watermark import Lateness
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.streams.static import Given, StaticGraphs, given_graphs
from hydrograph.temporal import Instant
from hydrograph.windows.profile import Habits


class Meant(TypedDict, total=False):
    """What goes with the text of a query that joins others; None is what the text says."""

    name: str | None
    dialect: str | None
    preset: str | None
    habits: Habits | None
    t0: Instant | None


@dataclass(slots=True)
class Enrolment:
    """The queries of a runner."""

    founding: str
    """The name of the query that the checkpoint was made for, which is version 1."""
    inputs: Sequence[Input]
    lateness: Lateness
    roster: Roster
    places: Places
    ask: Callable[[Callable[[], None]], None]
    """Does something between two batches, and returns when it is done."""
    runner: Runner = field(init=False)

    def registered(self, name: str, planned: Plan, version: int = 1) -> Registered:
        """Return a query with the partitions of its streams: it does not wait for others."""
        wanted = {window.stream for window in planned.query.windows}
        partitions = tuple(each.name for each in self.inputs if each.stream in wanted)
        return Registered(name=name, plan=planned, version=version, lateness=self.lateness, partitions=partitions)

    def enrol(self, name: str, enrolled: Enrolled, known: Member | None) -> Member:
        """Return a query as the checkpoint knows it."""
        if known is not None and known.enrolled.version == enrolled.version:
            same = known.graphs == enrolled.graphs
            static = known.stepper.static if same else self.roster.read_static(enrolled.graphs)
            stepper = Stepper(known.stepper.query, static, known.stepper.placed)
            return Member(stepper, enrolled.graphs, enrolled.first)
        definition = self.roster.read(name, enrolled.version)
        member = self._member(definition, definition.plan(), self.roster.read_static(enrolled.graphs))
        return replace(member, first=enrolled.first)

    def _member(self, definition: Definition, planned: Plan, static: StaticGraphs) -> Member:
        query = self.registered(definition.name, planned, definition.version)
        return Member(Stepper(query, static, self.places.first(query.name)), static_fingerprint(static))

    def add(self, text: str, static: Given | None, meant: Meant) -> tuple[str, int]:
        """Let another query run beside those that do; return its name and version."""
        definition = self._definition(text, meant)
        if definition.name in self.queries:
            raise UsageError(f"a query named {definition.name} runs already: give it another name, or replace that one")
        return self._begin(definition, given_graphs(static))

    def replace(self, text: str, static: Given | None, meant: Meant) -> tuple[str, int]:
        """Let a changed query take the place of the one of its name; without static data it sees what that one saw."""
        definition = self._definition(text, meant)
        member = self._known(definition.name)
        return self._begin(definition, member.stepper.static if static is None else given_graphs(static))

    def remove(self, name: str) -> None:
        """Let a query run no more."""
        self._known(name)

        def turn() -> None:
            self._known(name)
            self.runner.remove(name)
            self.places.leave(name)

        self.ask(turn)

    def replace_static(self, static: Given, name: str | None) -> None:
        """Let the reports of one query, or of all, see other static data."""
        if name is not None:
            self._known(name)
        graphs = given_graphs(static)

        def turn() -> None:
            chosen = self.runner.members if name is None else {name: self._known(name)}
            for member in chosen.values():  # a driver may have to go back to before the change
                self.roster.write_static(member.stepper.static)
            found = self.roster.write_static(graphs)
            steppers = {each: Stepper(m.stepper.query, graphs, m.stepper.placed) for each, m in chosen.items()}
            self.runner.replace_static({each: (stepper, found) for each, stepper in steppers.items()})

        self.ask(turn)

    @property
    def queries(self) -> dict[str, int]:
        """The versions of the queries that run, by their names."""
        return {name: member.stepper.query.version for name, member in self.runner.members.items()}

    def _known(self, name: str) -> Member:
        found = self.runner.members.get(name)
        if found is None:
            raise UsageError(f"no query named {name} runs; queries: {', '.join(self.queries) or 'none'}")
        return found

    def _definition(self, text: str, meant: Meant) -> Definition:
        called = meant.get("name") or parse(text, meant.get("dialect")).name or "query"
        known = 1 if called == self.founding else 0
        return Definition(
            name=called,
            version=self.roster.next_version(called, known),
            text=text,
            dialect=meant.get("dialect"),
            preset=meant.get("preset"),
            habits=meant.get("habits") or Habits(),
            t0=meant.get("t0"),
        )

    def _begin(self, definition: Definition, graphs: StaticGraphs) -> tuple[str, int]:
        """Check a query as far as can be before it touches others, and let it run from the next batch on."""
        planned = definition.plan()
        check_streams(planned, self.inputs)
        with Local(1, small=True) as trial:
            # What can not be compiled is to be known here: in the middle of a batch it would stop the others.
            Evaluator(planned if planned.is_placed else planned.starting(0), graphs, trial)

        def turn() -> None:
            if self.roster.next_version(definition.name, definition.version - 1) != definition.version:
                raise UsageError(f"somebody else has given {definition.name} a new version at the same time: try again")
            self.roster.write(definition)
            self.roster.write_static(graphs)
            self.runner.add(self._member(definition, planned, graphs))

        self.ask(turn)
        return definition.name, definition.version
