"""Step of a live query (S34): `(state, input batches, record) -> (state, result units, record)`.

`Stepper.decide` makes the decision about a batch, which the driver records. `Stepper.classify` and `Stepper.evaluate`
then apply it, and `Stepper.work` is both:

    split      rows with implausible times wait in quarantine         quarantine
    classify   late elements are counted, and dropped if too late     late_elements
    evaluate   the reports that are due are made                      evaluation (implemented in live.evaluate)
    prune      rows that no future report can show are dropped        state_pruning
    record     the next record can rebuild this state                  records

Both depend on nothing but their arguments: the clock, the log and files are outside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from hydrograph.live.step import quarantine
from hydrograph.live.step.evaluation import (
    Evaluation,
    EvaluationFactory,
    EvaluationStatus,
    NotStarted,
    PreviousReport,
    ReportRequest,
)
from hydrograph.live.step.late_elements import LatenessClassifier
from hydrograph.live.step.quarantine import Admitted
from hydrograph.live.step.records import (
    Decision,
    ElementCounts,
    InputBatch,
    Partition,
    QueryRecord,
    QuerySpec,
    ResultUnit,
    make_units,
)
from hydrograph.live.step.report_timeline import ReportTimeline
from hydrograph.live.step.state import State, StateRun, split_by_seq
from hydrograph.live.step.state_pruning import WindowRows, needed_behind, needed_from
from hydrograph.live.step.watermark import decide
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement import Placement
from hydrograph.runtime.reports import Report
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.temporal import Instant
from hydrograph.windows.report import Held


@dataclass(frozen=True, slots=True)
class _Frontiers:
    """Frontiers of a batch; see `report_timeline`."""

    emitted: int
    """Reports before it were made."""
    settled: int
    """Reports before it are settled; they are made as soon as they are due."""
    now: int
    """Reports before it are settled once this batch is processed."""

    def __post_init__(self) -> None:
        """Check that no frontier goes back."""
        assert self.emitted <= self.settled <= self.now, "only settled reports are made, and none is unsettled again"


@dataclass(frozen=True, slots=True)
class UnplacedInput:
    """Input of a query whose windows wait for t0."""

    state: State
    admitted: Admitted
    record: QueryRecord
    decision: Decision


@dataclass(frozen=True, slots=True)
class ClassifiedInput:
    """Input of a query after late elements were counted and dropped; the evaluation of its reports comes next."""

    t0: Instant
    emitted: int
    settled: int
    """Frontiers before this batch."""
    runs: Mapping[Iri, Sequence[StateRun]]
    """New rows by stream."""
    before: WindowRows
    """Rows of the windows without this batch."""
    after: WindowRows
    """Rows of the windows with this batch."""
    held: Mapping[Iri, Held]
    """First and last time of an element in each window, with the new elements."""
    lost: Mapping[Partition, Mapping[int, int]]
    """Elements that recovery must leave out, by `seq`, with their offsets."""
    record: QueryRecord
    """The record before this batch, with the new elements counted."""
    decision: Decision


@dataclass(slots=True)
class Stepper:
    """Step function of one query; beside its arguments it holds the evaluation, which keeps rows for speed alone."""

    query: QuerySpec
    static: StaticGraphs
    evaluations: EvaluationFactory
    _timelines: dict[Instant, ReportTimeline] = field(init=False, default_factory=dict)
    _evaluations: dict[Instant, Evaluation] = field(init=False, default_factory=dict)
    """Timeline and evaluation by t0: none before t0 is known, one afterwards."""

    def decide(
        self,
        state: State,
        batches: Sequence[InputBatch],
        record: QueryRecord,
        *,
        idle: Collection[Partition] = (),
        ended: Collection[Partition] = (),
        static: int | None = None,
    ) -> Decision:
        """Return the decision about a batch, see `decision.decide`."""
        return decide(self.query, self._timeline_at, state, batches, record, idle=idle, ended=ended, static=static)

    def work(
        self, state: State, batches: Sequence[InputBatch], record: QueryRecord, decision: Decision
    ) -> tuple[State, list[ResultUnit], QueryRecord]:
        """Process a batch as it was decided; return the next state, the result units and the next record."""
        return self.evaluate(self.classify(state, batches, record, decision))

    def classify(
        self, state: State, batches: Sequence[InputBatch], record: QueryRecord, decision: Decision
    ) -> UnplacedInput | ClassifiedInput:
        """Split off rows in quarantine, count the elements, and drop those that are late for all reports."""
        batches = [batch.drop_invalid_times() for batch in batches]
        admitted = quarantine.split_quarantined(state, batches, record, decision)
        rejected = sum(batch.rejected for batch in batches) + sum(map(len, decision.refused.values()))
        record = replace(record, counts=record.counts.plus(ElementCounts(rejected=rejected)))
        state = State(state.runs, admitted.waiting)
        if decision.t0 is None:
            return UnplacedInput(state, admitted, record, decision)
        if record.emitted is None:  # the windows were placed just now: the rows that waited for t0 are new
            waited = {stream: (*runs, *admitted.runs.get(stream, ())) for stream, runs in state.runs.items()}
            admitted = replace(admitted, runs={**admitted.runs, **waited})
            state = State({}, state.held_back)
        return _classify(self._timeline_at(decision.t0), decision.t0, state, admitted, record, decision)

    def evaluate(self, batch: UnplacedInput | ClassifiedInput) -> tuple[State, list[ResultUnit], QueryRecord]:
        """Make the due reports of a classified batch; return the next state, the result units and the next record.

        May be called again for the same batch if it failed.
        """
        match batch:
            case UnplacedInput():
                return _wait_for_t0(batch)
            case ClassifiedInput():
                return self._advance(batch)

    def _advance(self, batch: ClassifiedInput) -> tuple[State, list[ResultUnit], QueryRecord]:
        """Evaluate a batch of a query whose windows are placed."""
        timeline, evaluation = self._timeline_at(batch.t0), self._evaluation_at(batch.t0)
        frontiers = _Frontiers(batch.emitted, batch.settled, _settle(timeline, batch))
        reports, previous = _evaluate(evaluation, frontiers, batch)
        emitted = frontier = timeline.emitted(batch.held, batch.emitted, frontiers.now)
        if timeline.rereads_previous and not timeline.by_rank and previous.last is not None:
            frontier = previous.last
        starts = batch.after.next_starts(min(frontier, frontiers.now))
        state = batch.after.state.prune(needed_from(timeline, frontier, starts))
        evaluation.release(state, min(frontier, frontiers.now))
        record = replace(
            batch.record,
            decision=batch.decision,
            emitted=emitted,
            settled=frontiers.now,
            held={name.value: span for name, span in batch.held.items() if span is not None},
            cuts=starts,
            snapshot=previous.snapshot,
            last=previous.last,
            reports=batch.record.reports + len(reports),
        )
        units = make_units(self.query.name, self.query.version, reports)
        return state, units, _with_recovery(record, state, batch.lost, batch.after.late)

    def rebuild(self, record: QueryRecord, batches: Iterable[InputBatch]) -> State:
        """Return the state that a record describes, from the log since its oldest offsets (S38)."""
        decision = record.decision
        state = State()
        for batch in batches:
            refused = (seq for seq, _ in record.refused.get(batch.name, ()))
            held_back = decision.held_back.get(batch.name, ())
            rows, _ = split_by_seq(batch.drop_invalid_times().events, (*held_back, *refused))
            if decision.t0 is not None:
                rows = _needed_rows(self._timeline_at(decision.t0), record, batch.stream, rows)
            if rows.num_rows:
                state = state.plus(batch.stream, [StateRun.of(rows, batch.name, batch.start)])
        return quarantine.restore_carried(state, record.carried)

    def replace_static(self, static: StaticGraphs) -> None:
        """Use other static data from the next batch on."""
        self.static = static
        for evaluation in self._evaluations.values():
            evaluation.replace_static(static)

    @property
    def evaluation(self) -> EvaluationStatus:
        """The status of the evaluation; `NotStarted` before the windows are placed."""
        return next(iter(self._evaluations.values()), NotStarted())

    @property
    def placement(self) -> Placement:
        """The placement in which reports are evaluated."""
        return self.evaluations.placement

    def _timeline_at(self, t0: Instant) -> ReportTimeline:
        if t0 not in self._timelines:
            self._timelines[t0] = ReportTimeline(self.query.place(t0))
        return self._timelines[t0]

    def _evaluation_at(self, t0: Instant) -> Evaluation:
        if t0 not in self._evaluations:
            self._evaluations[t0] = self.evaluations(self._timeline_at(t0).plan, self.static)
        return self._evaluations[t0]


def _wait_for_t0(batch: UnplacedInput) -> tuple[State, list[ResultUnit], QueryRecord]:
    """Keep all rows of a batch: no window is placed yet."""
    state = batch.state
    for stream, runs in batch.admitted.runs.items():
        state = state.plus(stream, runs)
    record = replace(batch.record, decision=batch.decision)
    return state, [], _with_recovery(record, state, batch.admitted.refused, {})


def _classify(
    timeline: ReportTimeline,
    t0: Instant,
    state: State,
    admitted: Admitted,
    record: QueryRecord,
    decision: Decision,
) -> ClassifiedInput:
    """Count the new elements and drop those that are late for all reports."""
    emitted = timeline.start if record.emitted is None else record.emitted
    settled = timeline.start if record.settled is None else record.settled
    classifier = LatenessClassifier(
        timeline,
        settled,
        needed_behind(timeline, settled, emitted),
        held={Iri(name): span for name, span in record.held.items()},
        late={name: dict(elements) for name, elements in record.late.items()},
        lost={name: dict(elements) for name, elements in admitted.refused.items()},
    )
    grown, kept = state, {}
    for stream, runs in admitted.runs.items():
        kept[stream] = classifier.keep(stream, runs)
        grown = grown.plus(stream, kept[stream])
    return ClassifiedInput(
        t0=t0,
        emitted=emitted,
        settled=settled,
        runs=kept,
        before=WindowRows(timeline, state, record.cuts, classifier.late),
        after=WindowRows(timeline, grown, record.cuts, classifier.late),
        held={name: classifier.held.get(name) for name in timeline.plan.visibilities},
        lost=classifier.lost,
        record=replace(record, counts=record.counts.plus(classifier.counts)),
        decision=decision,
    )


def _settle(timeline: ReportTimeline, batch: ClassifiedInput) -> int:
    """Return the settled frontier after a batch."""
    watermark, now = batch.decision.watermark, batch.settled
    if watermark is not None:
        now = max(now, timeline.settled(watermark))
    if batch.decision.flush and (last := timeline.last(batch.held)) is not None:
        now = max(now, timeline.settled(last))
    return now


def _evaluate(
    evaluation: Evaluation, frontiers: _Frontiers, batch: ClassifiedInput
) -> tuple[list[Report], PreviousReport]:
    """Return the reports of a batch; the order of calls is the contract of `evaluation`."""
    previous = PreviousReport(batch.record.snapshot, batch.record.last)
    overdue: list[Report] = []
    due: list[Report] = []
    evaluation.resume(batch.before.state)
    if frontiers.emitted < frontiers.settled:
        request = ReportRequest(frontiers.emitted, frontiers.settled, batch.held, batch.before, previous)
        overdue, previous = evaluation.overdue_reports(request)
    evaluation.take(batch.runs)
    if frontiers.settled < frontiers.now:
        request = ReportRequest(frontiers.settled, frontiers.now, batch.held, batch.after, previous)
        due, previous = evaluation.reports(request)
    return [*overdue, *due], previous


def _needed_rows(timeline: ReportTimeline, record: QueryRecord, stream: Iri, rows: pa.Table) -> pa.Table:
    """Return the rows of elements that future reports can show."""
    assert record.settled is not None, "a record with t0 has frontiers"
    assert record.emitted is not None, "a record with t0 has frontiers"
    frontier = needed_behind(timeline, record.settled, record.emitted)
    times = rows.column("t").to_numpy()
    needed = np.zeros(len(times), bool)
    for window in timeline.plan.query.windows:
        if window.stream == stream and window.name is not None:
            spans = timeline.spans(window.name, times)
            needed |= spans.inside & (spans.leave > frontier)
    return rows.filter(pa.array(needed))


def _with_recovery(
    record: QueryRecord,
    state: State,
    refused: Mapping[Partition, Mapping[int, int]],
    late: Mapping[Partition, Mapping[int, int]],
) -> QueryRecord:
    """Return the record with everything that rebuilds the state from the log (S38)."""
    oldest = state.oldest(record.decision.end)
    carried = quarantine.carried_rows(state)
    gone = {name: dict(elements) for name, elements in record.refused.items()}
    for name, elements in refused.items():
        gone[name] = {**gone.get(name, {}), **elements}
    return replace(
        record,
        oldest=oldest,
        carried=carried,
        late=quarantine.recoverable(late, oldest, carried),
        refused=quarantine.recoverable(gone, oldest),
    )
