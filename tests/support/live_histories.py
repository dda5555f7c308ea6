"""Random histories of live queries: cases of the oracle, cut into batches, and the reports of replay for comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from hydrograph.live.evaluate.choose import EvaluationChoice
from hydrograph.live.step.records import InputBatch, Lateness, QueryRecord, QuerySpec, partition_of
from hydrograph.live.step.step import Stepper
from hydrograph.rdf.terms import Iri
from hydrograph.runtime.placement.local import Local
from hydrograph.runtime.placement.spark import Spark
from hydrograph.runtime.plan import plan
from hydrograph.streams.static_graphs import StaticGraphs
from hydrograph.windows.profile import Origin
from hydrograph.windows.stream import Element
from tests.support.random_cases import BASIC, FULL, Case, random_case
from tests.support.random_reports import random_report_case
from tests.support.replay_adapter import encode_elements, encode_triples
from tests.support.reported import reports_any
from tests.support.step_harness import StepHarness

DISORDER = 3
"""Maximum lateness in random streams, see `Shape`."""


@dataclass(frozen=True, slots=True)
class History:
    """A case, and how the elements of its streams come: each batch takes some of each stream."""

    case: Case
    batches: tuple[dict[Iri, tuple[Element, ...]], ...]
    lateness: Lateness
    waits: bool = False
    """True if the first element places the windows, because no t0 is given."""

    @property
    def streams(self) -> tuple[Iri, ...]:
        return tuple(dict.fromkeys(window.stream for window in self.case.query.windows))

    def arrivals(self) -> list[list[InputBatch]]:
        """Return the batches; an offset is the number of an element in its stream."""
        at = dict.fromkeys(self.streams, 0)
        found = []
        for batch in self.batches:
            arrivals = []
            for stream, elements in batch.items():
                start = at[stream]
                at[stream] += len(elements)
                arrivals.append(InputBatch(stream, encode_elements(elements), start, at[stream]))
            found.append(arrivals)
        return found

    def registered(self) -> QuerySpec:
        planned = plan(self.case.query, self.case.profile, None if self.waits else self.case.t0)
        partitions = tuple(partition_of(stream) for stream in self.streams)
        return QuerySpec(name="query", plan=planned, lateness=self.lateness, partitions=partitions)

    def static(self) -> StaticGraphs:
        feeding = any(window.name is None for window in self.case.query.windows)
        has_static = bool(self.case.static.default) or not feeding
        return StaticGraphs(encode_triples(self.case.static.default) if has_static else None)

    def stepper(self, placed: Local | Spark) -> Stepper:
        return Stepper(self.registered(), self.static(), EvaluationChoice(placed))


def random_histories(seed: int, number: int) -> list[History]:
    """Return the case of a seed, cut in so many ways; the first way is one element after the other."""
    first = random_history(seed, one_by_one=True)
    rng = Random(f"live {seed}, cut again")
    return [first, *(replace(cut(first.case, rng), waits=first.waits) for _ in range(number - 1))]


def random_history(seed: int, *, one_by_one: bool = False) -> History:
    """Return the history of a seed: every third with any windows, reports and profile, every tenth all operators."""
    rng = Random(f"live {seed}")
    features = FULL if seed % 10 == 0 else BASIC
    case = random_report_case(seed, features) if seed % 3 == 0 else random_case(seed, features)
    case = replace(case, from_=None, until=None)
    waits = case.profile.origin is not Origin.EPOCH
    if waits:  # replay knows the first element, and so where windows begin
        streams = {window.stream for window in case.query.windows}
        first = min((element.t for stream in streams for element in case.elements[stream]), default=None)
        case = replace(case, t0=case.profile.start_at(first))
    return replace(cut(case, rng, one_by_one=one_by_one), waits=waits)


def cut(case: Case, rng: Random, *, one_by_one: bool = False, lateness: Lateness | None = None) -> History:
    """Cut the streams of a case into batches at random."""
    streams = tuple(dict.fromkeys(window.stream for window in case.query.windows))
    left = {stream: list(case.elements.get(stream, ())) for stream in streams}
    batches: list[dict[Iri, tuple[Element, ...]]] = []
    most = 1 if one_by_one else rng.choice((2, 5, 12))
    while any(left.values()):
        batch: dict[Iri, tuple[Element, ...]] = {}
        for stream in [rng.choice([s for s in streams if left[s]])] if one_by_one else streams:
            number = 1 if one_by_one else rng.randrange(most + 1)
            taken, left[stream] = left[stream][:number], left[stream][number:]
            if taken:
                batch[stream] = tuple(taken)
        batches.append(batch)
    return History(case, tuple(batches), lateness or Lateness(delay=rng.choice((DISORDER, DISORDER, DISORDER + 4))))


def replayed(case: Case, placed: Local | Spark, name: str = "query") -> list[str]:
    """Return what replay reports, line by line, under the name of the query."""
    if isinstance(placed, Local):
        placed.forget()
    return [report.json(name) for report in reports_any(case, placed)]


def lived(
    history: History,
    placed: Local | Spark,
    restarts: Random | None = None,
    watch: Callable[[QueryRecord], None] = lambda _: None,
) -> tuple[list[str], QueryRecord]:
    """Return the reports of a live run, line by line, and its last record.

    `restarts` draws the batches after which it restarts. `watch` gets the record of each batch.
    """
    query = history.registered()
    harness = StepHarness(query, placed, history.static())
    batches: Sequence[list[InputBatch]] = [*history.arrivals(), []]
    number = 0
    while number < len(batches) or harness.record.decision.more:
        inputs = batches[number] if number < len(batches) else []
        number += 1
        harness.step(inputs, ended=query.partitions if number >= len(batches) else ())
        watch(harness.record)
        if restarts is not None and restarts.random() < 0.4:
            harness.restart()
    return harness.lines, harness.record
