"""Batch after batch: from the sources through the step to the sinks, with a record ahead and one behind (A8, S38, S39).

The order of things makes it safe to stop anywhere: what is decided is written down first, then the units, then what
came of it. Whoever starts again reads the log from the oldest offset that matters, and works off what was decided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hydrograph.live.arrivals import Arrival, Partition, partition_of
from hydrograph.live.failpoints import reach
from hydrograph.live.files import Files
from hydrograph.live.journal import KEPT, Journal
from hydrograph.live.lease import Lease
from hydrograph.live.progress import Progress, Stopwatch
from hydrograph.live.record import Decision, Record
from hydrograph.live.sink import SegmentSink
from hydrograph.live.sources.source import Source
from hydrograph.live.state import State
from hydrograph.live.step import Stepper
from hydrograph.live.units import Unit
from hydrograph.rdf.terms import Iri

Out = Callable[[Unit], None]
"""Gets each unit; the last ones may come again after a crash, with the same key and the same text."""


@dataclass(frozen=True, slots=True)
class Input:
    """A source and the partition it fills."""

    stream: Iri
    source: Source
    number: int = 0

    @property
    def name(self) -> Partition:
        """The name of the partition."""
        return partition_of(self.stream, self.number)


@dataclass(slots=True)
class Runner:
    """A query that runs, on one checkpoint."""

    stepper: Stepper
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
    record: Record = field(init=False, default_factory=Record)
    state: State = field(init=False, default_factory=State)
    progress: Progress = field(init=False, default_factory=Progress)
    _lease: Lease = field(init=False)
    _journal: Journal = field(init=False)
    _sink: SegmentSink | None = field(init=False, default=None)
    _heard: dict[Partition, float] = field(init=False, default_factory=dict)
    _static: int | None = field(init=False, default=None)
    _needed: list[Mapping[Partition, int]] = field(init=False, default_factory=list)

    def open(self) -> None:
        """Take the checkpoint, find out where to go on, and finish what had been begun."""
        self._lease = Lease(self.checkpoint)
        self._journal = Journal(self.checkpoint, self.about)
        standing: dict[str, int] = {}
        if self.results is not None:
            self._sink = SegmentSink(self.results, self._lease.epoch)
            standing = self._sink.standing()
        found = self._journal.recover(standing)
        if self._sink is not None:
            self._sink.resume({} if found.record is None else found.record.segments)
        if found.record is not None:
            self.record = found.record
            behind = found.record.decision.end
            self.state = self.stepper.rebuilt(found.record, self._read(found.record.oldest, behind))
        for decision in found.decisions:
            watch = Stopwatch()
            arrivals = [*self._read(decision.start, decision.end)]
            watch.lap("read")
            self._work(arrivals, decision, watch)
        now = self.clock()
        self._heard = {each.name: now for each in self.inputs}
        self.progress.resumed(self.record)

    def _read(self, start: Mapping[Partition, int], end: Mapping[Partition, int]) -> Iterable[Arrival]:
        for each in self.inputs:
            yield from self.read(each, start.get(each.name, 0), end.get(each.name, 0))

    def replace_static(self, version: int) -> None:
        """Record with the batches that follow which version of the static data they see (S27)."""
        self._static = version

    def once(self) -> bool:
        """Work off what has come; return whether there was anything to do."""
        watch = Stopwatch()
        arrivals = self._new()
        watch.lap("read")
        return self.arrived(arrivals, watch)

    def arrived(self, arrivals: Sequence[Arrival], watch: Stopwatch) -> bool:
        """Work off arrivals, and what is to be done because a source has ended or is silent."""
        ended = tuple(each.name for each in self.inputs if self._is_over(each, arrivals))
        now = self.clock()
        for arrival in arrivals:
            self._heard[arrival.name] = now
        quiet = self.idle_after
        idle = () if quiet is None else tuple(name for name, at in self._heard.items() if now - at > quiet)
        before = self.record.decision
        unchanged = (*sorted(ended),) == before.ended and (*sorted({*idle}),) == before.idle
        if not arrivals and (unchanged or (before.batch == 0 and not ended)):
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
        decision = self.stepper.decide(self.state, arrivals, self.record, idle=idle, ended=ended, static=self._static)
        self._lease.check()
        self._journal.begin(decision)
        watch.lap("plan")
        reach("begun")
        self._work(arrivals, decision, watch)

    def _work(self, arrivals: Sequence[Arrival], decision: Decision, watch: Stopwatch) -> None:
        state, units, record = self.stepper.work(self.state, arrivals, self.record, decision)
        watch.lap("execute")
        self._lease.check()
        if self._sink is not None:
            self._sink.write(units)
            record = replace(record, segments=self._sink.lengths)
        for unit in units:
            for out in self.outs:
                out(unit)
        watch.lap("write")
        reach("written")
        self._journal.done(record)
        self.state, self.record = state, record
        watch.lap("commit")
        reach("done")
        self._needed.append(record.oldest)
        if len(self._needed) > KEPT:
            # The query may have to go back as far as records reach, and then needs what they need.
            needed = self._needed.pop(0)
            for each in self.inputs:
                if each.name in needed:
                    each.source.forget(needed[each.name])
        self.progress.worked(arrivals, units, record, state, watch)

    def _new(self) -> list[Arrival]:
        arrivals: list[Arrival] = []
        for each in self.inputs:
            first, last = self.record.decision.end.get(each.name, 0), each.source.end()
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
        if not each.source.finished():
            return False
        ends = [arrival.end for arrival in arrivals if arrival.name == each.name]
        return max(ends, default=self.record.decision.end.get(each.name, 0)) >= each.source.end()

    @property
    def epoch(self) -> int:
        """The number of this driver's lease."""
        return self._lease.epoch

    @property
    def is_over(self) -> bool:
        """Whether every source has ended and everything is reported."""
        return {each.name for each in self.inputs} <= {*self.record.decision.ended}
