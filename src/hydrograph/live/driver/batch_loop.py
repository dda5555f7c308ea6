"""Batch after batch: from the sources through the step to the sinks, with a record ahead and one behind (A8, S38, S39).

The order of things makes it safe to stop anywhere: what is decided is written down first, then the units, then what
came of it. Whoever starts again reads the log from the oldest offset that matters, and works off what was decided.

Several queries may share the sources. Each has its own step, state and watermark; the batches and their records are
common. A query that is added, changed or removed, and static data that is replaced, is a batch without rows (S40, S27):
written down like any other, and so the same after a restart. A query that can not be answered is removed, with its
reason in the record, and does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from hydrograph.errors import HydrographError, RunError
from hydrograph.live.checkpoint import record_reader as records
from hydrograph.live.checkpoint.batch_commit import KEPT, Journal
from hydrograph.live.checkpoint.startup_checks import check_before, check_known
from hydrograph.live.driver.load_meter import Pace
from hydrograph.live.driver.query_pool import Abreast
from hydrograph.live.driver.registered_query import Member
from hydrograph.live.failpoints import reach
from hydrograph.live.progress import Progress, Stopwatch
from hydrograph.live.results.sink import SegmentSink
from hydrograph.live.sources.inputs import Input
from hydrograph.live.step.input_batch import Arrival, Partition, ends_of
from hydrograph.live.step.records import Batch, Enrolled, Outcome
from hydrograph.live.step.stepper import Stepper
from hydrograph.live.step.units import Unit
from hydrograph.live.storage.files import Files
from hydrograph.live.storage.lease import Lease
from hydrograph.runtime.placement.local import Local

Out = Callable[[Unit], None]
"""Gets each unit; the last ones may come again after a crash, with the same key and the same text."""


Enrol = Callable[[str, Enrolled, Member | None], Member]
"""Makes a query again of what is recorded of it; what ran under its name before may be of use."""


def _nobody(name: str, enrolled: Enrolled, _: Member | None) -> Member:
    raise RunError(f"the checkpoint speaks of version {enrolled.version} of {name}, which is not known here")


@dataclass(slots=True)
class Runner:
    """Queries that run, on one checkpoint."""

    founding: Member
    """The query that the checkpoint was made for; others may have come since, and it may have gone."""
    inputs: Sequence[Input]
    checkpoint: Files
    results: Files | None = None
    outs: Sequence[Out] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
    idle_after: float | None = None
    """Seconds after which a silent partition is no longer waited for."""
    clock: Callable[[], float] = time.monotonic
    most_rows: int = 200_000
    """Rows after which no more are read for one batch."""
    enrol: Enrol = _nobody
    forget_static: Callable[[str], None] = lambda _: None
    """Gets the fingerprint of static data that no record speaks of any more."""
    members: Mapping[str, Member] = field(init=False)
    batch: Batch = field(init=False, default_factory=Batch)
    segments: Mapping[str, int] = field(init=False, default_factory=dict)
    failed: Mapping[str, str] = field(init=False, default_factory=dict)
    """Queries that could not be answered and run no more, with the reason."""
    progress: Progress = field(init=False, default_factory=Progress)
    paces: dict[str, Pace] = field(init=False, default_factory=dict)
    """Whether each query keeps up, since it is evaluated where it is."""
    _lease: Lease | None = field(init=False, default=None)
    _journal: Journal = field(init=False)
    _sink: SegmentSink | None = field(init=False, default=None)
    _abreast: Abreast = field(init=False, default_factory=Abreast)
    _heard: dict[Partition, float] = field(init=False, default_factory=dict)
    _needed: list[tuple[Mapping[Partition, int], set[str]]] = field(init=False, default_factory=list)
    """Offsets and static data that the last batches need."""

    def __post_init__(self) -> None:
        """Begin with the first query."""
        self.members = {self.founding.name: self.founding}

    def open(self) -> None:
        """Take the checkpoint, find out where to go on, and finish what had been begun."""
        check_before(self.checkpoint, self.results, self.about, self.founding, self.inputs)
        self._lease = Lease(self.checkpoint)
        self._journal = Journal(self.checkpoint, self.about, self._lease.epoch)
        standing: Mapping[str, int] = {}
        if self.results is not None:
            self._sink = SegmentSink(self.results, self._lease.epoch, self.checkpoint)
            standing = self._sink.standing()
        found = self._journal.recover(standing)
        known = found.batches[-1] if found.batches else None if found.outcome is None else found.outcome.batch
        check_known(known, self.founding, self.inputs)
        self._open_sources(Batch() if known is None else known)
        if self._sink is not None:
            self._sink.resume({} if found.outcome is None else found.outcome.segments)
        if found.outcome is not None:
            self._resume(found.outcome)
            earlier = records.outcomes(self.checkpoint, self.about)
            self._needed = [_needs(each) for each in earlier if each.batch.number <= self.batch.number][-KEPT:]
        for batch in found.batches:
            watch = Stopwatch()
            arrivals = [*self._read(batch.start, batch.end)]
            watch.lap("read")
            self._work(arrivals, batch, self._members_of(batch), watch)
        now = self.clock()
        self._heard = {each.name: now for each in self.inputs}
        self.progress.batch = self.batch.number

    def _open_sources(self, known: Batch) -> None:
        """Take up the sources where the records end; one that does not reach so far refuses."""
        assert self._lease is not None
        for each in self.inputs:
            each.source.open(self._lease, known.end.get(each.name, 0))

    def close(self) -> None:
        """Wait for queries that are still being evaluated."""
        self._abreast.close()

    def _resume(self, outcome: Outcome) -> None:
        self.batch, self.segments, self.failed = outcome.batch, outcome.segments, outcome.failed
        members = {}
        for name, member in self._members_of(outcome.batch).items():
            record = outcome.records[name]
            state = member.stepper.rebuilt(record, self._read(record.oldest, record.decision.end))
            members[name] = replace(member, state=state, record=record)
        self.members = members

    def _members_of(self, batch: Batch) -> dict[str, Member]:
        """Return the queries that a batch was decided for."""
        members: dict[str, Member] = {}
        for name, enrolled in batch.queries.items():
            known = self.members.get(name)
            if known is not None and known.enrolled == enrolled:
                members[name] = known
                continue
            made = self.enrol(name, enrolled, known)
            if known is not None and known.enrolled.version == enrolled.version:
                members[name] = replace(made, state=known.state, record=known.record)
            else:
                members[name] = made.starting(batch.number - 1, batch.start)
        return members

    def _read(self, start: Mapping[Partition, int], end: Mapping[Partition, int]) -> Iterable[Arrival]:
        for each in self.inputs:
            yield from self.read(each, start.get(each.name, 0), end.get(each.name, 0))

    def add(self, member: Member) -> None:
        """Let a query run from here on, beside the others or in place of the one of its name."""
        self._change({**self.members, member.name: member.starting(self.batch.number, self.batch.end)})

    def remove(self, name: str) -> None:
        """Let a query run no more; windows that have not closed are not reported."""
        self._change({other: member for other, member in self.members.items() if other != name})

    def replace_static(self, replaced: Mapping[str, tuple[Stepper, str]]) -> None:
        """Let queries see other static data in the reports that follow (S27)."""
        members = dict(self.members)
        for name, (stepper, graphs) in replaced.items():
            before = members[name]
            members[name] = replace(before, stepper=stepper, graphs=graphs, first=before.enrolled.first)
        self._change(members, replaced)

    def _change(self, members: Mapping[str, Member], renewed: Collection[str] = ()) -> None:
        self.paces.clear()  # other queries, or others of their names
        watch = Stopwatch()
        batch = self._decided(members, [], self.batch.idle, self.batch.ended, renewed)
        self._begin(batch, watch)
        self._work([], batch, members, watch)

    def place(self, steppers: Mapping[str, Stepper]) -> None:
        """Let queries be evaluated elsewhere from now on: nothing that is recorded changes."""
        self.paces.clear()  # those that stay have the driver for themselves
        self.members = {
            name: replace(member, stepper=steppers.get(name, member.stepper)) for name, member in self.members.items()
        }

    def once(self) -> bool:
        """Work off what has come; return whether there was anything to do."""
        watch = Stopwatch()
        arrivals = self._new()
        watch.lap("read")
        return self.arrived(arrivals, watch)

    def arrived(self, arrivals: Sequence[Arrival], watch: Stopwatch) -> bool:
        """Work off arrivals, and what is to be done because a source has ended or is silent, or more was due."""
        over = {each.name for each in self.inputs if self._is_over(each, arrivals)}
        ended = tuple(sorted({*self.batch.ended, *over}))
        now = self.clock()
        for arrival in arrivals:
            self._heard[arrival.name] = now
        idle = () if self.idle_after is None else self._idle(now - self.idle_after, arrivals)
        before = self.batch
        unchanged = ended == before.ended and idle == before.idle and not self._leaves_more
        if not arrivals and (unchanged or (not before.end and not ended)):
            return False
        self.take(arrivals, watch, idle=idle, ended=ended)
        return True

    def take(
        self,
        arrivals: Sequence[Arrival],
        watch: Stopwatch,
        *,
        idle: Sequence[Partition] = (),
        ended: Sequence[Partition] = (),
    ) -> None:
        """Decide about arrivals and work them off."""
        reach("read")
        batch = self._decided(self.members, arrivals, idle, ended)
        self._begin(batch, watch)
        self._work(arrivals, batch, self.members, watch)

    def _decided(
        self,
        members: Mapping[str, Member],
        arrivals: Sequence[Arrival],
        idle: Sequence[Partition],
        ended: Sequence[Partition],
        renewed: Collection[str] = (),
    ) -> Batch:
        decisions = {}
        for name, member in members.items():
            static = member.record.decision.static + (name in renewed)
            decisions[name] = member.stepper.decide(
                member.state,
                [arrival for arrival in arrivals if member.own([arrival.name])],
                member.record,
                idle=member.own(idle),
                ended=member.own(ended),
                static=static,
            )
        spoke = {arrival.name for arrival in arrivals if arrival.events.num_rows}
        return Batch(
            number=self.batch.number + 1,
            start={**self.batch.end, **ends_of(arrivals, behind=False)},
            end={**self.batch.end, **ends_of(arrivals, behind=True)},
            idle=tuple(name for name in idle if name not in spoke),
            ended=tuple(ended),
            queries={name: member.enrolled for name, member in members.items()},
            decisions=decisions,
        )

    def _begin(self, batch: Batch, watch: Stopwatch) -> None:
        self.check_lease()
        self._journal.begin(batch)
        watch.lap("plan")
        reach("begun")

    def _work(self, arrivals: Sequence[Arrival], batch: Batch, members: Mapping[str, Member], watch: Stopwatch) -> None:
        after: dict[str, Member] = {}
        failed = {name: words for name, words in self.failed.items() if name not in batch.queries}
        units: list[Unit] = []
        results = self._abreast.start(members, arrivals, batch.decisions)
        for name, member in members.items():
            begun = self.clock()
            try:
                state, found, record = results[name]()
            except (HydrographError, duckdb.Error, MemoryError) as error:
                # Spark may fail because a machine does, and a query alone is all there is: both stop, to go on later.
                if not isinstance(member.stepper.placed, Local) or not {*members} - {*failed, name}:
                    raise
                failed[name] = f"{type(error).__name__}: {error}".splitlines()[0][:500]
                continue
            after[name] = replace(member, state=state, record=record)
            self.paces.setdefault(name, Pace()).worked(1000 * (self.clock() - begun), record.last)
            units += found
        watch.lap("execute")
        self.check_lease()
        if self._sink is not None:
            self._sink.write(units)
            self.segments = self._sink.lengths
        for unit in units:
            for out in self.outs:
                out(unit)
        watch.lap("write")
        reach("written")
        self.check_lease()
        batch = replace(
            batch,
            queries={name: enrolled for name, enrolled in batch.queries.items() if name in after},
            decisions={name: decision for name, decision in batch.decisions.items() if name in after},
        )
        reached = {name: member.record for name, member in after.items()}
        outcome = Outcome(batch=batch, records=reached, segments=self.segments, failed=failed)
        self._journal.done(outcome)
        self.members, self.batch, self.failed = after, batch, failed
        watch.lap("commit")
        reach("done")
        self._forget(outcome)
        self.progress.worked(batch.number, arrivals, units, watch)

    def _forget(self, outcome: Outcome) -> None:
        self._needed.append(_needs(outcome))
        if len(self._needed) > KEPT:
            # The queries may have to go back as far as records reach, and then need what they need.
            before, graphs = self._needed.pop(0)
            for each in self.inputs:
                if each.name in before:
                    each.source.forget(before[each.name])
            for left in graphs.difference(*(kept for _, kept in self._needed)):
                self.forget_static(left)

    def _new(self) -> list[Arrival]:
        arrivals: list[Arrival] = []
        for each in self.inputs:
            first, last = self.batch.end.get(each.name, 0), each.source.end()
            rows = 0
            for arrival in self.read(each, first, last):
                arrivals.append(arrival)
                rows += arrival.events.num_rows
                if rows >= self.most_rows:
                    break
        return arrivals

    def read(self, each: Input, start: int, end: int) -> Iterator[Arrival]:
        """Return what lies between two offsets of an input."""
        if start < end:
            for chunk in each.source.read(start, end):
                yield Arrival(each.stream, chunk.events, chunk.start, chunk.end, each.number, chunk.rejected)

    def _is_over(self, each: Input, arrivals: Sequence[Arrival]) -> bool:
        """Tell whether a source has ended and all of it has been read, with these arrivals."""
        return each.source.finished() and self._is_read(each, arrivals)

    def _is_read(self, each: Input, arrivals: Sequence[Arrival]) -> bool:
        """Tell whether nothing has come that is not read, with these arrivals."""
        ends = [arrival.end for arrival in arrivals if arrival.name == each.name]
        return max(ends, default=self.batch.end.get(each.name, 0)) >= each.source.end()

    def _idle(self, since: float, arrivals: Sequence[Arrival]) -> tuple[Partition, ...]:
        """Return the partitions that have been silent since a time.

        What has come but is not read yet is no silence: the driver was busy with a batch, or reads no more at once.
        """
        silent = [each for each in self.inputs if self._heard[each.name] < since and self._is_read(each, arrivals)]
        return tuple(sorted(each.name for each in silent))

    def check_lease(self) -> None:
        """Raise FencedError if another driver has taken over."""
        assert self._lease is not None, "the checkpoint is not taken yet"
        self._lease.check()

    @property
    def has_lease(self) -> bool:
        """Whether the checkpoint was taken; another driver may have it since."""
        return self._lease is not None

    @property
    def epoch(self) -> int:
        """The number of this driver's lease."""
        assert self._lease is not None, "the checkpoint is not taken yet"
        return self._lease.epoch

    @property
    def is_over(self) -> bool:
        """Whether every source has ended and everything is reported."""
        return {each.name for each in self.inputs} <= {*self.batch.ended} and not self._leaves_more

    @property
    def _leaves_more(self) -> bool:
        """Whether more was due than the last batch has settled."""
        return any(member.record.decision.more for member in self.members.values())


def _needs(outcome: Outcome) -> tuple[Mapping[Partition, int], set[str]]:
    """Return the offsets and the static data that whoever goes on from an outcome needs."""
    needed = dict(outcome.batch.end)
    for record in outcome.records.values():
        for name, offset in record.oldest.items():
            needed[name] = min(needed.get(name, offset), offset)
    return needed, {each.graphs for each in outcome.batch.queries.values()}
