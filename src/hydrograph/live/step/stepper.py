"""The step of a live query (S34): `(state, arrivals, record) -> (state, units, record)`.

First it is decided what the batch means (`decide`): whom to believe, how far time has come. That is written down before
anything is done, and then worked off (`work`). Both depend on nothing but their arguments; the clock, the log and files
are outside. The same decision worked off again over the same log gives the same units, byte for byte.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from hydrograph.compile.reporting import Counted
from hydrograph.live.evaluate.whole_windows import Before, Evaluator
from hydrograph.live.step import quarantine
from hydrograph.live.step.batch_limit import end_of_portion
from hydrograph.live.step.count_window_state import cut_table, next_cut
from hydrograph.live.step.input_batch import InputBatch, Partition, offsets_of
from hydrograph.live.step.late_elements import LatenessClassifier
from hydrograph.live.step.records import CountWindowStart, Decision, ElementCounts, QueryRecord
from hydrograph.live.step.report_timeline import BEGINNING, ReportTimeline
from hydrograph.live.step.retention import needed_behind, needed_from
from hydrograph.live.step.state import State, StateRun, elements_of, split_by_seq
from hydrograph.live.step.units import ResultUnit, make_units
from hydrograph.live.step.watermark import FOREVER, Lateness, Times, compute_watermark, latest_plausible_time
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import Plan
from hydrograph.runtime.reports import Report
from hydrograph.streams.static import StaticGraphs
from hydrograph.windows.report import Held

_BELIEVABLE = 2**60
"""Times beyond are no times: sums with widths of windows have to fit into 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySpec:
    """A query that runs: its name and version, which with the instant are the key of each unit."""

    name: str
    plan: Plan
    version: int = 1
    lateness: Lateness = field(default_factory=Lateness)
    partitions: tuple[Partition, ...]
    """The partitions of all its streams: time goes on only as far as in all of them."""


@dataclass(slots=True)
class Stepper:
    """A registered query in its placement; it keeps the program that is made for it, and no other state."""

    query: QuerySpec
    static: StaticGraphs
    placed: Local | Spark
    _evaluator: Evaluator | None = field(init=False, default=None)

    def decide(
        self,
        state: State,
        arrivals: Sequence[InputBatch],
        record: QueryRecord,
        *,
        idle: Collection[Partition] = (),
        ended: Collection[Partition] = (),
        static: int | None = None,
    ) -> Decision:
        """Return what the batch means; `idle` and `ended` are what is known about partitions from outside."""
        before = record.decision
        arrivals = [_sane(arrival) for arrival in arrivals]
        held_back, newest, first = self._believe(state, arrivals, before)
        most = max(quarantine.MOST, self.query.lateness.agreeing)
        refused = {name: places[:-most] for name, places in held_back.items() if len(places) > most}
        quiet = tuple(sorted({*idle} - {arrival.name for arrival in arrivals if arrival.events.num_rows}))
        partitions, delay = self.query.partitions, self.query.lateness.delay
        known = compute_watermark(newest, partitions, quiet, ended, delay)
        flush = known is None and all(each in quiet or each in ended for each in partitions)
        if known is None or (before.watermark is not None and before.watermark > known):
            known = before.watermark
        t0 = before.t0
        if t0 is None and self.query.plan.is_placed:
            t0 = self.query.plan.t0
        elif t0 is None and first is not None and (flush or (known is not None and first <= known)):
            # With every element before the watermark known, this is the first, whatever order they came in (A2).
            t0 = self.query.plan.profile.start_at(first)
        stop = None
        if t0 is not None and first is not None and (flush or known is not None):
            span = (first, max(newest.values()))
            stop = end_of_portion(self._evaluator_at(t0).domain, record.settled, span, None if flush else known)
        starts = {**before.end, **offsets_of(arrivals, behind=False)}
        return Decision(
            batch=before.batch + 1,
            start=starts,
            end={**before.end, **offsets_of(arrivals, behind=True)},
            newest=newest,
            idle=quiet,
            ended=tuple(sorted(ended)),
            held_back={name: places[-most:] for name, places in held_back.items()},
            refused=refused,
            watermark=known if stop is None else stop,
            first=first,
            t0=t0,
            flush=flush and stop is None,
            more=stop is not None,
            static=before.static if static is None else static,
        )

    def _believe(
        self, state: State, arrivals: Sequence[InputBatch], before: Decision
    ) -> tuple[dict[Partition, tuple[int, ...]], dict[Partition, int], int | None]:
        """Return whom not to believe, in the order they came, and newest and earliest time of the others (S32, A8)."""
        times: dict[Partition, list[Times]] = {}
        places: dict[Partition, list[Times]] = {}
        tables = [(name, piece.events) for name, pieces in state.held_back.items() for piece in pieces]
        for name, events in (*tables, *((arrival.name, arrival.events) for arrival in arrivals)):
            if events.num_rows:
                t, seq = elements_of(events)
                times.setdefault(name, []).append(t)
                places.setdefault(name, []).append(seq)
        joined = {name: np.concatenate(parts) for name, parts in times.items()}
        held_back: dict[Partition, tuple[int, ...]] = {}
        newest, first = dict(before.newest), before.first
        for name, own in joined.items():
            elsewhere = [before.newest[other] for other in before.newest if other != name]
            others = [np.array(elsewhere, np.int64), *(found for other, found in joined.items() if other != name)]
            start = before.newest.get(name, before.watermark)
            limit = latest_plausible_time(own, start, np.concatenate(others), self.query.lateness)
            taken = own <= limit if limit is not None else np.zeros(len(own), bool)
            if not taken.all():
                held_back[name] = tuple(np.concatenate(places[name])[~taken].tolist())
            if taken.any():
                newest[name] = max(newest.get(name, BEGINNING), int(own[taken].max()))
                earliest = int(own[taken].min())
                first = earliest if first is None else min(first, earliest)
        return held_back, newest, first

    def work(
        self, state: State, arrivals: Sequence[InputBatch], record: QueryRecord, decision: Decision
    ) -> tuple[State, list[ResultUnit], QueryRecord]:
        """Work off a batch as it was decided; return what follows it."""
        rejected = sum(arrival.rejected for arrival in arrivals)
        cleaned = [_sane(arrival) for arrival in arrivals]
        rejected += sum(map(_elements, arrivals)) - sum(map(_elements, cleaned))
        rejected += sum(map(len, decision.refused.values()))
        counts = record.counts.plus(ElementCounts(rejected=rejected))
        state, fresh, refused = _taken(state, cleaned, record, decision)
        if decision.t0 is None:
            for stream, pieces in fresh.items():
                state = state.plus(stream, pieces)
            record = replace(record, decision=decision, counts=counts)
            return state, [], _standing(record, state, refused, {})
        evaluator = self._evaluator_at(decision.t0)
        if record.emitted is None:  # everything so far waited for t0
            waiting = {stream: (*pieces, *fresh.get(stream, ())) for stream, pieces in state.pieces.items()}
            fresh = {**fresh, **waiting}
            state = State({}, state.held_back)
        return self._placed(evaluator, state, fresh, replace(record, counts=counts), decision, refused)

    def _placed(
        self,
        evaluator: Evaluator,
        state: State,
        fresh: Mapping[Iri, Sequence[StateRun]],
        record: QueryRecord,
        decision: Decision,
        refused: dict[Partition, dict[int, int]],
    ) -> tuple[State, list[ResultUnit], QueryRecord]:
        domain = evaluator.domain
        start = BEGINNING if not domain.by_rank else 0
        settled = start if record.settled is None else record.settled
        emitted = start if record.emitted is None else record.emitted
        judged = LatenessClassifier(
            evaluator,
            settled,
            needed_behind(evaluator, settled, emitted),
            {Iri(name): known for name, known in record.held.items()},
            {name: dict(places) for name, places in record.late.items()},
            refused,
        )
        if evaluator.incremental is not None:
            evaluator.incremental.resume(state)
        after, taken = state, {}
        for stream, pieces in fresh.items():
            taken[stream] = judged.pieces(stream, pieces)
            after = after.plus(stream, taken[stream])
        held: dict[Iri, Held] = {name: judged.held.get(name) for name in evaluator.plan.sights}
        now = settled if decision.watermark is None else max(settled, domain.settled(decision.watermark))
        if decision.flush and (last := domain.last(held)) is not None:
            now = max(now, domain.settled(last))
        before = Before(record.snapshot, record.last)
        cuts = dict(record.cuts)
        reports: list[Report] = []
        if emitted < settled:
            evaluator.prepare((emitted, settled))
            rows, counted = _tables(evaluator, state, cuts, judged.late)
            found, before = evaluator.missed_closes(rows, counted, held, (emitted, settled), before)
            reports += found
        if evaluator.incremental is not None:
            evaluator.incremental.take(taken)
            if settled < now or evaluator.incremental.has_many:
                evaluator.prepare((settled, now))
        if settled < now:
            rows, counted = _tables(evaluator, after, cuts, judged.late)
            first = max(emitted, settled) if domain.by_rank else settled
            found, before = evaluator.reports(rows, counted, held, (first, now), before)
            reports += found
        emitted = domain.emitted(held, emitted, now)
        frontier = min(emitted, now) if before.last is None or not evaluator.whole or domain.by_rank else before.last
        cuts |= _next_cuts(evaluator, after, cuts, judged.late, min(frontier, now))
        after = after.pruned(needed_from(evaluator, frontier, cuts))
        if evaluator.incremental is not None:
            evaluator.incremental.leave(after, min(frontier, now))
        reached = QueryRecord(
            decision=decision,
            emitted=emitted,
            settled=now,
            held={name.value: known for name, known in held.items() if known is not None},
            counts=record.counts.plus(judged.counts),
            cuts=cuts,
            snapshot=before.snapshot,
            last=before.last,
            reports=record.reports + len(reports),
            refused=record.refused,
        )
        units = make_units(self.query.name, self.query.version, reports)
        return after, units, _standing(reached, after, judged.lost, judged.late)

    def rebuilt(self, record: QueryRecord, arrivals: Iterable[InputBatch]) -> State:
        """Return the state that a record stands for, from the log since its oldest offsets (S38)."""
        decision = record.decision
        state = State()
        for arrival in map(_sane, arrivals):
            refused = (seq for seq, _ in record.refused.get(arrival.name, ()))
            rows, _ = split_by_seq(arrival.events, (*decision.held_back.get(arrival.name, ()), *refused))
            if decision.t0 is not None:
                rows = self._live_rows(record, arrival.stream, rows, decision.t0)
            if rows.num_rows:
                state = state.plus(arrival.stream, [StateRun.of(rows, arrival.name, arrival.start)])
        return quarantine.with_carried(state, record.carried)

    def _live_rows(self, record: QueryRecord, stream: Iri, rows: pa.Table, t0: int) -> pa.Table:
        """Return the rows of elements that reports to come can show."""
        evaluator = self._evaluator_at(t0)
        assert record.settled is not None
        assert record.emitted is not None
        frontier = needed_behind(evaluator, record.settled, record.emitted)
        times = rows.column("t").to_numpy()
        wanted = np.zeros(len(times), bool)
        for window in evaluator.plan.query.windows:
            if window.stream == stream and window.name is not None:
                seen = evaluator.domain.seen(window.name, times)
                wanted |= seen.inside & (seen.leave > frontier)
        return rows.filter(pa.array(wanted))

    def replace_static(self, static: StaticGraphs) -> None:
        """Let the batches that follow see other static data."""
        self.static = static
        if self._evaluator is not None:
            self._evaluator.replace_static(static)

    @property
    def kept_rows(self) -> int:
        """How many rows are kept beside the state, for speed alone."""
        kept = None if self._evaluator is None else self._evaluator.incremental
        return 0 if kept is None else kept.rows

    @property
    def keeps_rows(self) -> bool:
        """Whether rows are kept from report to report; nobody knows before the first element."""
        return self._evaluator is None or self._evaluator.incremental is not None

    @property
    def evaluation(self) -> str:
        """How reports are evaluated, for people."""
        return "waits for its first element" if self._evaluator is None else self._evaluator.evaluation

    def _evaluator_at(self, t0: int) -> Evaluator:
        if self._evaluator is None:
            plan = self.query.plan
            # A plan that waits for its first element is laid where the record says, not where it would be now.
            placed = plan if plan.is_placed else replace(plan, is_placed=False).starting(t0)
            self._evaluator = Evaluator(placed, self.static, self.placed)
        return self._evaluator


def _sane(arrival: InputBatch) -> InputBatch:
    """Return the arrival without elements whose times are none."""
    t = arrival.events.column("t").to_numpy()
    if not len(t) or (t.min() > -_BELIEVABLE and t.max() < _BELIEVABLE):
        return arrival
    return replace(arrival, events=arrival.events.filter(pa.array((t > -_BELIEVABLE) & (t < _BELIEVABLE))))


def _elements(arrival: InputBatch) -> int:
    return len(elements_of(arrival.events)[1])


def _taken(
    state: State, arrivals: Sequence[InputBatch], record: QueryRecord, decision: Decision
) -> tuple[State, dict[Iri, tuple[StateRun, ...]], dict[Partition, dict[int, int]]]:
    """Return the state with those held back that are, what counts from now on, and where those stood that never do."""
    fresh: dict[Iri, tuple[StateRun, ...]] = {}
    waiting: dict[Partition, tuple[StateRun, ...]] = {}
    refused: dict[Partition, dict[int, int]] = {}

    def take(name: Partition, events: pa.Table, start: int, *, carried: bool) -> None:
        events, gone = split_by_seq(events, decision.refused.get(name, ()))
        if gone.num_rows:
            refused.setdefault(name, {}).update(dict.fromkeys(gone.column("seq").to_pylist(), start))
        rows, held = split_by_seq(events, decision.held_back.get(name, ()))
        if held.num_rows:
            waiting[name] = (*waiting.get(name, ()), StateRun.of(held, name, start, carried=True))
        if rows.num_rows:
            stream = quarantine.stream_of(name)
            fresh[stream] = (*fresh.get(stream, ()), StateRun.of(rows, name, start, carried=carried))

    for name, pieces in state.held_back.items():
        for piece in pieces:  # what the log still has anyway need not be carried on
            take(name, piece.events, piece.start, carried=piece.start < record.oldest.get(name, 0))
    for arrival in arrivals:
        take(arrival.name, arrival.events, arrival.start, carried=False)
    return State(state.pieces, waiting), fresh, refused


def _standing(
    record: QueryRecord,
    state: State,
    refused: Mapping[Partition, Mapping[int, int]],
    late: Mapping[Partition, Mapping[int, int]],
) -> QueryRecord:
    """Return the record with what it takes to make the state again (S38)."""
    oldest = state.oldest(record.decision.end)
    carried = quarantine.carried_of(state)
    gone = {name: dict(places) for name, places in record.refused.items()}
    for name, places in refused.items():
        gone[name] = {**gone.get(name, {}), **places}
    return replace(
        record,
        oldest=oldest,
        carried=carried,
        late=quarantine.still_there(late, oldest, carried),
        refused=quarantine.still_there(gone, oldest),
    )


def _places_in(late: Mapping[Partition, Mapping[int, int]], stream: Iri) -> list[int]:
    """Return the places of elements of one stream."""
    return [seq for name, places in late.items() if quarantine.stream_of(name) == stream for seq in places]


def _tables(
    evaluator: Evaluator,
    state: State,
    cuts: Mapping[str, CountWindowStart],
    late: Mapping[Partition, Mapping[int, int]],
) -> tuple[dict[str, pa.Table], dict[str, int]]:
    """Return what each window reads, and how many units have left those that count; nothing where rows are kept."""
    if evaluator.incremental is not None:
        return {}, {}
    streams = {window.name: window.stream for window in evaluator.plan.query.windows}
    tables, counted = {}, {}
    for table, window in evaluator.tables.items():
        rows = state.rows(streams[window])
        if isinstance(evaluator.plan.sights[window], Counted):
            cut = cuts.get(window.value)
            rows = cut_table(rows, cut, _places_in(late, streams[window]))
            counted[table] = 0 if cut is None else cut.units
        tables[table] = rows
    return tables, counted


def _next_cuts(
    evaluator: Evaluator,
    state: State,
    cuts: Mapping[str, CountWindowStart],
    late: Mapping[Partition, Mapping[int, int]],
    frontier: int,
) -> dict[str, CountWindowStart]:
    found = {}
    for window in evaluator.plan.query.windows:
        assert window.name is not None
        sight = evaluator.plan.sights[window.name]
        if isinstance(sight, Counted):
            cut = cuts.get(window.name.value)
            rows = cut_table(state.rows(window.stream), cut, _places_in(late, window.stream))
            later = next_cut(rows, sight, cut, evaluator.plan.t0, frontier)
            if later is not None:
                found[window.name.value] = later
    return found


__all__ = ["FOREVER", "QuerySpec", "ReportTimeline", "Stepper"]
