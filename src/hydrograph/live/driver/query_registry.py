"""Registry of the queries on a checkpoint: queries are added, replaced and removed while it runs.

Each change, also a replacement of static data, takes effect between two batches (S40, S27). The query store keeps the
definitions, so that a restart runs the same queries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypedDict

from hydrograph.errors import RunError, UsageError
from hydrograph.language import parse
from hydrograph.live.checkpoint.query_store import QueryDefinition, QueryStore, static_fingerprint
from hydrograph.live.driver.placement_policy import PlacementPolicy
from hydrograph.live.evaluate.choose import EvaluationChoice, choose_evaluation
from hydrograph.live.sources.inputs import Input, check_streams
from hydrograph.live.step.records import (
    Decision,
    InputBatch,
    Lateness,
    Partition,
    QueryRecord,
    QuerySpec,
    QueryVersion,
    ResultUnit,
)
from hydrograph.live.step.state import State
from hydrograph.live.step.step import ClassifiedInput, Stepper, UnplacedInput
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.plan import Plan
from hydrograph.streams.static_graphs import Given, StaticGraphs, load_graphs
from hydrograph.temporal import Instant
from hydrograph.windows.profile import ProfileOverrides


@dataclass(frozen=True, slots=True)
class RegisteredQuery:
    """Query that runs, with its state and its record after the last batch."""

    stepper: Stepper
    graphs: str = ""
    """Fingerprint of its static data."""
    first: str | None = None
    """Fingerprint of the static data that it started with; None if it is the same."""
    state: State = field(default_factory=State)
    record: QueryRecord = field(default_factory=QueryRecord)

    @property
    def name(self) -> str:
        """The name of the query."""
        return self.stepper.query.name

    @property
    def version(self) -> QueryVersion:
        """The version and static data that batch records name."""
        return QueryVersion(self.stepper.query.version, self.graphs, self.graphs if self.first is None else self.first)

    def own_partitions(self, names: Iterable[Partition]) -> tuple[Partition, ...]:
        """Return those of some partitions that the query reads."""
        return tuple(name for name in names if name in self.stepper.query.partitions)

    def classify(self, batches: Sequence[InputBatch], decision: Decision) -> UnplacedInput | ClassifiedInput:
        """Classify the elements of a batch as on time or late, see `Stepper.classify`."""
        own = [batch for batch in batches if batch.name in self.stepper.query.partitions]
        return self.stepper.classify(self.state, own, self.record, decision)

    def evaluate(self, batch: UnplacedInput | ClassifiedInput) -> tuple[RegisteredQuery, list[ResultUnit]]:
        """Return the query after a batch, and its result units, see `Stepper.evaluate`.

        A placement may fail because of a lost executor, which may take cached rows with it; then it is tried once more.
        The step depends on its arguments only, so the second attempt computes those rows again.
        """
        try:
            state, units, record = self.stepper.evaluate(batch)
        except RunError:
            if not self.stepper.placement.is_retryable:
                raise
            state, units, record = self.stepper.evaluate(batch)
        return replace(self, state=state, record=record), units

    def start_after(self, number: int, ends: Mapping[Partition, int]) -> RegisteredQuery:
        """Return the query with an empty state after a batch: it ignores all earlier input (S40)."""
        own = {name: ends.get(name, 0) for name in self.stepper.query.partitions}
        decision = Decision(batch=number, start=own, end=own)
        return replace(self, state=State(), record=QueryRecord(decision=decision, oldest=own))


class QueryOptions(TypedDict, total=False):
    """Options of an added query; None leaves a choice to the text of the query."""

    name: str | None
    dialect: str | None
    preset: str | None
    overrides: ProfileOverrides | None
    t0: Instant | None


@dataclass(frozen=True, slots=True)
class QueryFactory:
    """Builder of registered queries, from plans or from the definitions in the checkpoint."""

    inputs: Sequence[Input]
    lateness: Lateness
    store: QueryStore
    placement: PlacementPolicy

    def build(self, name: str, plan: Plan, static: StaticGraphs, version: int = 1) -> RegisteredQuery:
        """Return a query in its first placement, with the partitions of its own streams only."""
        streams = {window.stream for window in plan.query.windows}
        partitions = tuple(each.name for each in self.inputs if each.stream in streams)
        query = QuerySpec(name=name, plan=plan, version=version, lateness=self.lateness, partitions=partitions)
        return RegisteredQuery(
            Stepper(query, static, EvaluationChoice(self.placement.first(name))), static_fingerprint(static)
        )

    def restore(self, name: str, version: QueryVersion, known: RegisteredQuery | None) -> RegisteredQuery:
        """Return the recorded version of a query; `known` is the query that runs under its name."""
        if known is not None and known.version.version == version.version:
            same = known.graphs == version.graphs
            static = known.stepper.static if same else self.store.read_static(version.graphs)
            stepper = Stepper(known.stepper.query, static, known.stepper.evaluations)
            return RegisteredQuery(stepper, version.graphs, version.first)
        definition = self.store.read(name, version.version)
        static = self.store.read_static(version.graphs)
        return replace(self.build(name, definition.plan(), static, definition.version), first=version.first)


class RunningQueries(Protocol):
    """Queries of a running batch loop; changes are applied between two batches."""

    queries: Mapping[str, RegisteredQuery]

    def add(self, query: RegisteredQuery) -> None:
        """Run a query from the next batch on, in place of the one with its name if there is one."""
        ...

    def remove(self, name: str) -> None:
        """Stop a query."""
        ...

    def replace_static(self, replaced: Mapping[str, tuple[Stepper, str]]) -> None:
        """Give queries other steppers with other static data, identified by its fingerprint."""
        ...


@dataclass(frozen=True, slots=True)
class QueryRegistry:
    """Changes to the queries of a batch loop, made by other threads."""

    founding: str
    """The name of the query that the checkpoint was made for; it has version 1."""
    factory: QueryFactory
    running: RunningQueries
    run_between_batches: Callable[[Callable[[], None]], None]
    """Runs a command between two batches and returns when it is done."""

    @property
    def versions(self) -> dict[str, int]:
        """The versions of the running queries by name."""
        return {name: query.stepper.query.version for name, query in self.running.queries.items()}

    def add(self, text: str, static: Given | None, options: QueryOptions) -> tuple[str, int]:
        """Add a query; return its name and version."""
        definition = self._define(text, options)
        if definition.name in self.running.queries:
            raise UsageError(
                f"a query named {definition.name} is already running: use another name, or replace that query"
            )
        return self._start(definition, load_graphs(static))

    def replace(self, text: str, static: Given | None, options: QueryOptions) -> tuple[str, int]:
        """Replace the query of the same name; without `static` the new one uses the static data of the old one."""
        definition = self._define(text, options)
        query = self._running(definition.name)
        return self._start(definition, query.stepper.static if static is None else load_graphs(static))

    def remove(self, name: str) -> None:
        """Stop a query."""
        self._running(name)

        def command() -> None:
            self._running(name)
            self.running.remove(name)
            self.factory.placement.release(name)

        self.run_between_batches(command)

    def replace_static(self, static: Given, name: str | None) -> None:
        """Replace the static data of one query, or of all."""
        if name is not None:
            self._running(name)
        graphs = load_graphs(static)

        def command() -> None:
            store = self.factory.store
            chosen = self.running.queries if name is None else {name: self._running(name)}
            for query in chosen.values():  # recovery may go back to before the change
                store.write_static(query.stepper.static)
            fingerprint = store.write_static(graphs)
            steppers = {each: Stepper(q.stepper.query, graphs, q.stepper.evaluations) for each, q in chosen.items()}
            self.running.replace_static({each: (stepper, fingerprint) for each, stepper in steppers.items()})

        self.run_between_batches(command)

    def _running(self, name: str) -> RegisteredQuery:
        query = self.running.queries.get(name)
        if query is None:
            raise UsageError(f"no query named {name} is running; queries: {', '.join(self.versions) or 'none'}")
        return query

    def _define(self, text: str, options: QueryOptions) -> QueryDefinition:
        name = options.get("name") or parse(text, options.get("dialect")).name or "query"
        return QueryDefinition(
            name=name,
            version=self.factory.store.next_version(name, 1 if name == self.founding else 0),
            text=text,
            dialect=options.get("dialect"),
            preset=options.get("preset"),
            overrides=options.get("overrides") or ProfileOverrides(),
            t0=options.get("t0"),
        )

    def _start(self, definition: QueryDefinition, graphs: StaticGraphs) -> tuple[str, int]:
        """Validate a query before it can affect others, and run it from the next batch on."""
        plan = definition.plan()
        check_streams(plan, self.factory.inputs)
        with Local(1, small=True) as trial:
            # A query that does not compile is refused here: inside a batch it would delay the others.
            choose_evaluation(plan if plan.is_placed else plan.starting(0), graphs, trial)

        def command() -> None:
            store = self.factory.store
            if store.next_version(definition.name, definition.version - 1) != definition.version:
                raise UsageError(f"{definition.name} was changed by another caller at the same time: try again")
            store.write(definition)
            store.write_static(graphs)
            self.running.add(self.factory.build(definition.name, plan, graphs, definition.version))

        self.run_between_batches(command)
        return definition.name, definition.version
